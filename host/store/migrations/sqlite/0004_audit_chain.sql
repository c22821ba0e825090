-- The audit as a chain of hashes (contract A3): each row's hash is of the row before and of
-- every column. Rows that are there already get theirs when the host has brought up the schema.

ALTER TABLE audit ADD COLUMN hash TEXT;  -- 64 hexadecimal digits

-- The newest row, so that one notices when it is gone.
CREATE TABLE audit_head (
    one  INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    id   INTEGER NOT NULL,
    hash TEXT    NOT NULL,
    rows INTEGER NOT NULL               -- how many were ever chained
) STRICT;
INSERT INTO audit_head (one, id, hash, rows)
VALUES (1, 0, '0000000000000000000000000000000000000000000000000000000000000000', 0);

-- The last row that retention has removed: the chain begins after it.
CREATE TABLE audit_anchor (
    one  INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    id   INTEGER NOT NULL,
    hash TEXT    NOT NULL,
    rows INTEGER NOT NULL,              -- how many were removed
    at   INTEGER NOT NULL               -- history from before then may go
) STRICT;
INSERT INTO audit_anchor (one, id, hash, rows, at)
VALUES (1, 0, '0000000000000000000000000000000000000000000000000000000000000000', 0,
        -9223372036854775807);

-- Still append-only, but for what retention has declared to be cut.
DROP TRIGGER audit_keep;
DROP TRIGGER audit_stay;
DROP TRIGGER transitions_stay;
DROP TRIGGER lifecycle_transitions_stay;
CREATE TRIGGER audit_keep BEFORE UPDATE ON audit WHEN OLD.hash IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
CREATE TRIGGER audit_stay BEFORE DELETE ON audit
WHEN OLD.id > COALESCE((SELECT id FROM audit_anchor), 0)
BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
CREATE TRIGGER transitions_stay BEFORE DELETE ON transitions
WHEN OLD.at >= COALESCE((SELECT at FROM audit_anchor), OLD.at)
     OR EXISTS (SELECT 1 FROM audit WHERE audit.transition_id = OLD.id)
BEGIN SELECT RAISE(ABORT, 'transitions are append-only'); END;
CREATE TRIGGER lifecycle_transitions_stay BEFORE DELETE ON lifecycle_transitions
WHEN OLD.at >= COALESCE((SELECT at FROM audit_anchor), OLD.at)
BEGIN SELECT RAISE(ABORT, 'transitions are append-only'); END;
CREATE TRIGGER audit_head_stay BEFORE DELETE ON audit_head
BEGIN SELECT RAISE(ABORT, 'the head of the append-only audit stays'); END;
CREATE TRIGGER audit_anchor_stay BEFORE DELETE ON audit_anchor
BEGIN SELECT RAISE(ABORT, 'the anchor of the append-only audit stays'); END;
