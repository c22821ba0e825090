-- Managed targets and their lifecycles (contract L), and what the event stream tells (E1, E2).

ALTER TABLE targets ADD COLUMN managed TEXT;  -- JSON: runtime and policy. NULL: only watched

-- All that a host needs to go on with a managed target after a crash (contract L8).
CREATE TABLE lifecycles (
    target_id TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES targets (id),
    revision  BIGINT  NOT NULL CHECK (revision > 0),  -- one more with every write
    state     TEXT    NOT NULL,
    record    TEXT    NOT NULL                        -- JSON
);

CREATE TABLE lifecycle_transitions (
    id        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at        BIGINT  NOT NULL,
    target_id TEXT COLLATE "C" NOT NULL,
    "from"    TEXT    NOT NULL,
    "to"      TEXT    NOT NULL,
    reason    TEXT    NOT NULL,  -- '' where no probe gave one
    message   TEXT    NOT NULL,
    failures  BIGINT  NOT NULL,
    attempt   BIGINT,
    principal TEXT    NOT NULL
);

CREATE INDEX lifecycle_transitions_by_target ON lifecycle_transitions (target_id, id);

CREATE TRIGGER lifecycle_transitions_keep BEFORE UPDATE OR DELETE OR TRUNCATE
    ON lifecycle_transitions FOR EACH STATEMENT EXECUTE FUNCTION keep_history();

-- Old rows go. Ids are never used again, so that who resumes from one misses nothing.
CREATE TABLE events (
    id        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at        BIGINT  NOT NULL,
    target_id TEXT COLLATE "C" NOT NULL,
    change    TEXT    NOT NULL   -- JSON
);
