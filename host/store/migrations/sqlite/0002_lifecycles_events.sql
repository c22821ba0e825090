-- Managed targets and their lifecycles (contract L), and what the event stream tells (E1, E2).

ALTER TABLE targets ADD COLUMN managed TEXT;  -- JSON: runtime and policy. NULL: only watched

-- All that a host needs to go on with a managed target after a crash (contract L8).
CREATE TABLE lifecycles (
    target_id TEXT    NOT NULL PRIMARY KEY REFERENCES targets (id),
    revision  INTEGER NOT NULL CHECK (revision > 0),  -- one more with every write
    state     TEXT    NOT NULL,
    record    TEXT    NOT NULL                        -- JSON
) STRICT, WITHOUT ROWID;

CREATE TABLE lifecycle_transitions (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    at        INTEGER NOT NULL,
    target_id TEXT    NOT NULL,
    "from"    TEXT    NOT NULL,
    "to"      TEXT    NOT NULL,
    reason    TEXT    NOT NULL,  -- '' where no probe gave one
    message   TEXT    NOT NULL,
    failures  INTEGER NOT NULL,
    attempt   INTEGER,
    principal TEXT    NOT NULL
) STRICT;

CREATE INDEX lifecycle_transitions_by_target ON lifecycle_transitions (target_id, id);

CREATE TRIGGER lifecycle_transitions_keep BEFORE UPDATE ON lifecycle_transitions
BEGIN SELECT RAISE(ABORT, 'transitions are append-only'); END;
CREATE TRIGGER lifecycle_transitions_stay BEFORE DELETE ON lifecycle_transitions
BEGIN SELECT RAISE(ABORT, 'transitions are append-only'); END;

-- Old rows go. Ids are never used again, so that who resumes from one misses nothing.
CREATE TABLE events (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    at        INTEGER NOT NULL,
    target_id TEXT    NOT NULL,
    change    TEXT    NOT NULL   -- JSON
) STRICT;
