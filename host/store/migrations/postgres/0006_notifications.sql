-- The outbox of notifications (contract E5). Its root is the table of events.

-- The last event of which it is planned who is told; and how often was planned.
CREATE TABLE notify_cursor (
    id         BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    last_event BIGINT NOT NULL,
    revision   BIGINT NOT NULL
);

-- What happened before there were notifications is told to nobody.
INSERT INTO notify_cursor (id, last_event, revision)
SELECT 1, COALESCE(MAX(id), 0), 1 FROM events;

-- Problems that stand, one for each sink: told, or to be told.
CREATE TABLE problems (
    sink       TEXT COLLATE "C" NOT NULL,
    target_id  TEXT COLLATE "C" NOT NULL,  -- '': many targets together
    check_name TEXT COLLATE "C" NOT NULL,  -- '': the target as a whole
    data       TEXT NOT NULL,              -- JSON
    PRIMARY KEY (sink, target_id, check_name)
);

CREATE TABLE deliveries (
    id               BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sink             TEXT COLLATE "C" NOT NULL,
    target_id        TEXT COLLATE "C" NOT NULL,
    check_name       TEXT COLLATE "C" NOT NULL,
    kind             TEXT    NOT NULL,
    event_id         BIGINT,             -- NULL: no event asked for it
    message          TEXT    NOT NULL,   -- JSON, without anything of the sink
    state            TEXT    NOT NULL,
    attempts         BIGINT  NOT NULL,
    created_at       BIGINT  NOT NULL,
    first_attempt_at BIGINT,
    next_attempt_at  BIGINT  NOT NULL,
    finished_at      BIGINT,
    claimed_by       TEXT    NOT NULL,   -- the host that delivers it, '' for none
    claimed_until    BIGINT  NOT NULL,
    last_error       TEXT    NOT NULL
);

CREATE INDEX deliveries_due ON deliveries (sink, id) WHERE state = 'pending';
CREATE INDEX deliveries_in_order ON deliveries (sink, target_id, id) WHERE state = 'pending';
CREATE INDEX deliveries_finished ON deliveries (finished_at) WHERE state <> 'pending';
