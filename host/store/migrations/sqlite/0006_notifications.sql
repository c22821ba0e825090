-- The outbox of notifications (contract E5). Its root is the table of events.

-- The last event of which it is planned who is told; and how often was planned.
CREATE TABLE notify_cursor (
    id         INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    last_event INTEGER NOT NULL,
    revision   INTEGER NOT NULL
) STRICT;

-- What happened before there were notifications is told to nobody.
INSERT INTO notify_cursor (id, last_event, revision)
SELECT 1, COALESCE(MAX(id), 0), 1 FROM events;

-- Problems that stand, one for each sink: told, or to be told.
CREATE TABLE problems (
    sink       TEXT NOT NULL,
    target_id  TEXT NOT NULL,  -- '': many targets together
    check_name TEXT NOT NULL,  -- '': the target as a whole
    data       TEXT NOT NULL,  -- JSON
    PRIMARY KEY (sink, target_id, check_name)
) STRICT, WITHOUT ROWID;

CREATE TABLE deliveries (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    sink             TEXT    NOT NULL,
    target_id        TEXT    NOT NULL,
    check_name       TEXT    NOT NULL,
    kind             TEXT    NOT NULL,
    event_id         INTEGER,            -- NULL: no event asked for it
    message          TEXT    NOT NULL,   -- JSON, without anything of the sink
    state            TEXT    NOT NULL,
    attempts         INTEGER NOT NULL,
    created_at       INTEGER NOT NULL,
    first_attempt_at INTEGER,
    next_attempt_at  INTEGER NOT NULL,
    finished_at      INTEGER,
    claimed_by       TEXT    NOT NULL,   -- the host that delivers it, '' for none
    claimed_until    INTEGER NOT NULL,
    last_error       TEXT    NOT NULL
) STRICT;

CREATE INDEX deliveries_due ON deliveries (sink, id) WHERE state = 'pending';
CREATE INDEX deliveries_in_order ON deliveries (sink, target_id, id) WHERE state = 'pending';
CREATE INDEX deliveries_finished ON deliveries (finished_at) WHERE state <> 'pending';
