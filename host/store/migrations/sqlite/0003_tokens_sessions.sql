-- Who may use the API (contract E4). Neither a token nor a session's cookie is kept, only its hash.

CREATE TABLE tokens (
    name       TEXT    NOT NULL PRIMARY KEY,  -- the principal
    role       TEXT    NOT NULL,
    hash       TEXT    NOT NULL UNIQUE,       -- SHA-256, hexadecimal
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER                        -- the row stays: a host with tokens asks for one
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
    hash       TEXT    NOT NULL PRIMARY KEY,  -- SHA-256, hexadecimal
    token_name TEXT    NOT NULL REFERENCES tokens (name),
    token_hash TEXT    NOT NULL,              -- the session ends with the token it was begun with
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
