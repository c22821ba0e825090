-- Targets and their checks, the one record per check, and the append-only history.
-- Every time is a count of microseconds since the Unix epoch, UTC (contract R5).
-- Names sort by their bytes, whatever the database's own order is.

CREATE TABLE targets (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    labels     TEXT    NOT NULL,              -- JSON object of texts
    enabled    BOOLEAN NOT NULL,
    source     TEXT    NOT NULL,
    updated_at BIGINT  NOT NULL,              -- later with every change of the target
    deleted_at BIGINT                         -- the row stays: an id is never given to another
);

CREATE TABLE checks (
    target_id              TEXT COLLATE "C" NOT NULL REFERENCES targets (id),
    name                   TEXT COLLATE "C" NOT NULL,
    kind                   TEXT    NOT NULL,
    role                   TEXT    NOT NULL,
    config                 TEXT    NOT NULL,  -- JSON object
    interval_us            BIGINT,            -- NULL: scheduled probing is off
    timeout_us             BIGINT  NOT NULL CHECK (timeout_us > 0),
    failure_threshold      BIGINT  NOT NULL CHECK (failure_threshold > 0),
    inconclusive_threshold BIGINT  NOT NULL CHECK (inconclusive_threshold > 0),
    PRIMARY KEY (target_id, name)
);

-- No cascade: a record goes only where the store says so (contract R9).
CREATE TABLE records (
    target_id              TEXT COLLATE "C" NOT NULL,
    check_name             TEXT COLLATE "C" NOT NULL,
    status                 TEXT    NOT NULL CHECK (status IN ('unknown', 'healthy', 'unhealthy')),
    reason                 TEXT    NOT NULL,  -- '' after a pass
    message                TEXT    NOT NULL,
    subject                TEXT    NOT NULL,
    streak                 BIGINT  NOT NULL,
    inconclusive_streak    BIGINT  NOT NULL,
    checked_at             BIGINT,
    last_success_at        BIGINT,
    last_attempt_at        BIGINT,
    last_error             TEXT    NOT NULL,
    last_outcome           TEXT    NOT NULL,  -- pass, fail, inconclusive; '' after a reset
    failure_threshold      BIGINT  NOT NULL,  -- the thresholds that the last write judged by
    inconclusive_threshold BIGINT  NOT NULL,
    replaced_status        TEXT    NOT NULL,  -- what the last write replaced
    replaced_reason        TEXT    NOT NULL,
    updated_at             BIGINT  NOT NULL,
    PRIMARY KEY (target_id, check_name),
    FOREIGN KEY (target_id, check_name) REFERENCES checks (target_id, name)
);

CREATE TABLE transitions (
    id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at         BIGINT  NOT NULL,
    target_id  TEXT COLLATE "C" NOT NULL,
    check_name TEXT COLLATE "C" NOT NULL,
    "from"     TEXT    NOT NULL,
    "to"       TEXT    NOT NULL CHECK ("to" <> "from"),
    reason     TEXT    NOT NULL,
    message    TEXT    NOT NULL,
    streak     BIGINT  NOT NULL,
    "trigger"  TEXT    NOT NULL
);

CREATE INDEX transitions_by_target ON transitions (target_id, id);

CREATE TABLE audit (
    id            BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at            BIGINT  NOT NULL,
    principal     TEXT    NOT NULL,
    action        TEXT    NOT NULL,
    "trigger"     TEXT,
    target_id     TEXT COLLATE "C" NOT NULL,
    check_name    TEXT COLLATE "C",
    "from"        TEXT,
    "to"          TEXT,
    outcome       TEXT    NOT NULL,
    transition_id BIGINT  REFERENCES transitions (id)
);

CREATE INDEX audit_by_target ON audit (target_id, id);
CREATE UNIQUE INDEX audit_by_transition ON audit (transition_id) WHERE transition_id IS NOT NULL;

-- Append-only (contract A3): whoever opens the database meets these.
CREATE FUNCTION keep_history() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION '% is append-only', TG_TABLE_NAME; END $$;
CREATE TRIGGER transitions_keep BEFORE UPDATE OR DELETE OR TRUNCATE ON transitions
    FOR EACH STATEMENT EXECUTE FUNCTION keep_history();
CREATE TRIGGER audit_keep BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION keep_history();
