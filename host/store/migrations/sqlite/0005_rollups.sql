-- What each check did per hour and per day (contract A4). Each host writes rows of its own, so
-- that none has to read before it writes; finished hours are merged into days.

CREATE TABLE rollups (
    target_id    TEXT    NOT NULL,
    check_name   TEXT    NOT NULL,
    step         INTEGER NOT NULL CHECK (step IN (3600, 86400)),  -- seconds
    start        INTEGER NOT NULL,
    writer       TEXT    NOT NULL,  -- the host's run that counted; '' when merged
    runs         INTEGER NOT NULL,
    passes       INTEGER NOT NULL,
    inconclusive INTEGER NOT NULL,
    failures     TEXT    NOT NULL,  -- JSON: count by reason
    healthy_us   INTEGER NOT NULL,
    unhealthy_us INTEGER NOT NULL,
    latency      BLOB    NOT NULL,  -- a sketch; empty without a pass
    PRIMARY KEY (target_id, check_name, step, start, writer)
) STRICT, WITHOUT ROWID;

CREATE INDEX rollups_by_start ON rollups (step, start, target_id, check_name);

-- Up to where hours are in days: all before this one, and of this one the checks up to that.
-- Nobody writes an hour that is not after it.
CREATE TABLE rollup_mark (
    one        INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    hour       INTEGER NOT NULL,
    target_id  TEXT    NOT NULL,
    check_name TEXT    NOT NULL
) STRICT;
INSERT INTO rollup_mark (one, hour, target_id, check_name) VALUES (1, 0, '', '');
