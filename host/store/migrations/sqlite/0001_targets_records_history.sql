-- Targets and their checks, the one record per check, and the append-only history.
-- Every time is a count of microseconds since the Unix epoch, UTC (contract R5).

CREATE TABLE targets (
    id         TEXT    NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    labels     TEXT    NOT NULL,              -- JSON object of texts
    enabled    INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    source     TEXT    NOT NULL,
    updated_at INTEGER NOT NULL,              -- later with every change of the target
    deleted_at INTEGER                        -- the row stays: an id is never given to another
) STRICT, WITHOUT ROWID;

CREATE TABLE checks (
    target_id              TEXT    NOT NULL REFERENCES targets (id),
    name                   TEXT    NOT NULL,
    kind                   TEXT    NOT NULL,
    role                   TEXT    NOT NULL,
    config                 TEXT    NOT NULL,  -- JSON object
    interval_us            INTEGER,           -- NULL: scheduled probing is off
    timeout_us             INTEGER NOT NULL CHECK (timeout_us > 0),
    failure_threshold      INTEGER NOT NULL CHECK (failure_threshold > 0),
    inconclusive_threshold INTEGER NOT NULL CHECK (inconclusive_threshold > 0),
    PRIMARY KEY (target_id, name)
) STRICT, WITHOUT ROWID;

-- No cascade: a record goes only where the store says so (contract R9).
CREATE TABLE records (
    target_id              TEXT    NOT NULL,
    check_name             TEXT    NOT NULL,
    status                 TEXT    NOT NULL CHECK (status IN ('unknown', 'healthy', 'unhealthy')),
    reason                 TEXT    NOT NULL,  -- '' after a pass
    message                TEXT    NOT NULL,
    subject                TEXT    NOT NULL,
    streak                 INTEGER NOT NULL,
    inconclusive_streak    INTEGER NOT NULL,
    checked_at             INTEGER,
    last_success_at        INTEGER,
    last_attempt_at        INTEGER,
    last_error             TEXT    NOT NULL,
    last_outcome           TEXT    NOT NULL,  -- pass, fail, inconclusive; '' after a reset
    failure_threshold      INTEGER NOT NULL,  -- the thresholds that the last write judged by
    inconclusive_threshold INTEGER NOT NULL,
    replaced_status        TEXT    NOT NULL,  -- what the last write replaced
    replaced_reason        TEXT    NOT NULL,
    updated_at             INTEGER NOT NULL,
    PRIMARY KEY (target_id, check_name),
    FOREIGN KEY (target_id, check_name) REFERENCES checks (target_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE transitions (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    at         INTEGER NOT NULL,
    target_id  TEXT    NOT NULL,
    check_name TEXT    NOT NULL,
    "from"     TEXT    NOT NULL,
    "to"       TEXT    NOT NULL CHECK ("to" <> "from"),
    reason     TEXT    NOT NULL,
    message    TEXT    NOT NULL,
    streak     INTEGER NOT NULL,
    "trigger"  TEXT    NOT NULL
) STRICT;

CREATE INDEX transitions_by_target ON transitions (target_id, id);

CREATE TABLE audit (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    at            INTEGER NOT NULL,
    principal     TEXT    NOT NULL,
    action        TEXT    NOT NULL,
    "trigger"     TEXT,
    target_id     TEXT    NOT NULL,
    check_name    TEXT,
    "from"        TEXT,
    "to"          TEXT,
    outcome       TEXT    NOT NULL,
    transition_id INTEGER REFERENCES transitions (id)
) STRICT;

CREATE INDEX audit_by_target ON audit (target_id, id);
CREATE UNIQUE INDEX audit_by_transition ON audit (transition_id) WHERE transition_id IS NOT NULL;

-- Append-only (contract A3): whoever opens the database meets these.
CREATE TRIGGER transitions_keep BEFORE UPDATE ON transitions
BEGIN SELECT RAISE(ABORT, 'transitions are append-only'); END;
CREATE TRIGGER transitions_stay BEFORE DELETE ON transitions
BEGIN SELECT RAISE(ABORT, 'transitions are append-only'); END;
CREATE TRIGGER audit_keep BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
CREATE TRIGGER audit_stay BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
