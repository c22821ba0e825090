-- The audit as a chain of hashes (contract A3): each row's hash is of the row before and of
-- every column. Rows that are there already get theirs when the host has brought up the schema.

ALTER TABLE audit ADD COLUMN hash TEXT;  -- 64 hexadecimal digits
-- The id is part of what is hashed, so the host gives it out, under the lock of the history.
ALTER TABLE audit ALTER COLUMN id DROP IDENTITY;

-- The newest row, so that one notices when it is gone.
CREATE TABLE audit_head (
    one  BIGINT NOT NULL PRIMARY KEY CHECK (one = 1),
    id   BIGINT NOT NULL,
    hash TEXT   NOT NULL,
    rows BIGINT NOT NULL                -- how many were ever chained
);
INSERT INTO audit_head (one, id, hash, rows)
VALUES (1, 0, '0000000000000000000000000000000000000000000000000000000000000000', 0);

-- The last row that retention has removed: the chain begins after it.
CREATE TABLE audit_anchor (
    one  BIGINT NOT NULL PRIMARY KEY CHECK (one = 1),
    id   BIGINT NOT NULL,
    hash TEXT   NOT NULL,
    rows BIGINT NOT NULL,               -- how many were removed
    at   BIGINT NOT NULL                -- history from before then may go
);
INSERT INTO audit_anchor (one, id, hash, rows, at)
VALUES (1, 0, '0000000000000000000000000000000000000000000000000000000000000000', 0,
        -9223372036854775807);

-- Still append-only, but for what retention has declared to be cut.
CREATE FUNCTION keep_audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND OLD.hash IS NULL THEN
        RETURN NEW;
    END IF;
    IF TG_OP = 'DELETE' AND OLD.id <= (SELECT id FROM audit_anchor) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'the audit is append-only';
END $$;
CREATE FUNCTION keep_transitions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND OLD.at < (SELECT at FROM audit_anchor) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'transitions are append-only';
END $$;

DROP TRIGGER audit_keep ON audit;
DROP TRIGGER transitions_keep ON transitions;
DROP TRIGGER lifecycle_transitions_keep ON lifecycle_transitions;
CREATE TRIGGER audit_keep BEFORE UPDATE OR DELETE ON audit
    FOR EACH ROW EXECUTE FUNCTION keep_audit();
CREATE TRIGGER audit_whole BEFORE TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION keep_history();
-- That no audit row tells of one that goes, its foreign key sees to.
CREATE TRIGGER transitions_keep BEFORE UPDATE OR DELETE ON transitions
    FOR EACH ROW EXECUTE FUNCTION keep_transitions();
CREATE TRIGGER transitions_whole BEFORE TRUNCATE ON transitions
    FOR EACH STATEMENT EXECUTE FUNCTION keep_history();
CREATE TRIGGER lifecycle_transitions_keep BEFORE UPDATE OR DELETE ON lifecycle_transitions
    FOR EACH ROW EXECUTE FUNCTION keep_transitions();
CREATE TRIGGER lifecycle_transitions_whole BEFORE TRUNCATE ON lifecycle_transitions
    FOR EACH STATEMENT EXECUTE FUNCTION keep_history();
CREATE TRIGGER audit_head_stay BEFORE DELETE OR TRUNCATE ON audit_head
    FOR EACH STATEMENT EXECUTE FUNCTION keep_history();
CREATE TRIGGER audit_anchor_stay BEFORE DELETE OR TRUNCATE ON audit_anchor
    FOR EACH STATEMENT EXECUTE FUNCTION keep_history();
