-- Who may use the API (contract E4). Neither a token nor a session's cookie is kept, only its hash.

CREATE TABLE tokens (
    name       TEXT COLLATE "C" NOT NULL PRIMARY KEY,  -- the principal
    role       TEXT             NOT NULL,
    hash       TEXT COLLATE "C" NOT NULL UNIQUE,       -- SHA-256, hexadecimal
    created_at BIGINT           NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT           -- the row stays: a host with tokens asks for one
);

CREATE TABLE sessions (
    hash       TEXT COLLATE "C" NOT NULL PRIMARY KEY,  -- SHA-256, hexadecimal
    token_name TEXT COLLATE "C" NOT NULL REFERENCES tokens (name),
    token_hash TEXT             NOT NULL,              -- the session ends with the token it was begun with
    created_at BIGINT           NOT NULL,
    expires_at BIGINT           NOT NULL
);
