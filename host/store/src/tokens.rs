//! Bearer tokens and the page's sessions (contract E4): hashes only.

use probehost_model::{AccessRole, Timestamp, Token};

use crate::conn::{Conn, Row, Value};
use crate::failure::Failure;
use crate::history::{self, NewAudit};
use crate::writer::Job;
use crate::{Store, StoreError, rows};

/// A session of the page, which stands for the token that it was begun with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// SHA-256 of the cookie, in hexadecimal digits.
    pub hash: String,
    /// The principal.
    pub token: String,
    /// When it began.
    pub created_at: Timestamp,
    /// From when on it is worth nothing.
    pub expires_at: Timestamp,
}

/// What can be done with tokens and sessions.
#[derive(Debug)]
pub(crate) enum TokenChange {
    Create {
        name: String,
        role: AccessRole,
        hash: String,
        expires_at: Option<Timestamp>,
    },
    Revoke {
        name: String,
    },
    Begin(Session),
    End {
        hash: String,
    },
    /// Sessions that have ended are dropped.
    Tidy,
}

/// A change with who does it and when.
#[derive(Debug)]
pub(crate) struct TokenWrite {
    pub(crate) change: TokenChange,
    pub(crate) now: Timestamp,
    pub(crate) principal: String,
}

/// Does all of it but begin and commit.
pub(crate) async fn apply(conn: &mut Conn, write: &TokenWrite) -> Result<(), Failure> {
    match &write.change {
        TokenChange::Create { name, role, hash, expires_at } => {
            create(conn, write, (name, *role, hash, *expires_at)).await
        }
        TokenChange::Revoke { name } => revoke(conn, write, name).await,
        TokenChange::Begin(session) => begin(conn, session).await,
        TokenChange::End { hash } => {
            let text = "DELETE FROM sessions WHERE hash = $1";
            Ok(conn.execute(text, &[Value::Text(hash)]).await?)
        }
        TokenChange::Tidy => {
            let text = "DELETE FROM sessions WHERE expires_at <= $1";
            Ok(conn.execute(text, &[Value::Whole(write.now.as_micros())]).await?)
        }
    }
}

/// A name whose token is worth nothing any more can be given another one.
async fn create(
    conn: &mut Conn,
    write: &TokenWrite,
    (name, role, hash, expires_at): (&str, AccessRole, &str, Option<Timestamp>),
) -> Result<(), Failure> {
    let now = write.now.as_micros();
    let text = "INSERT INTO tokens (name, role, hash, created_at, expires_at) \
                VALUES ($1, $2, $3, $4, $5) \
                ON CONFLICT (name) DO UPDATE SET role = excluded.role, hash = excluded.hash, \
                created_at = excluded.created_at, expires_at = excluded.expires_at, \
                revoked_at = NULL \
                WHERE tokens.revoked_at IS NOT NULL OR tokens.expires_at <= $4 \
                RETURNING name";
    let values = [
        Value::Text(name),
        Value::Text(role.as_str()),
        Value::Text(hash),
        Value::Whole(now),
        Value::MaybeWhole(expires_at.map(Timestamp::as_micros)),
    ];
    if conn.fetch_all(text, &values).await?.is_empty() {
        return Err(StoreError::TokenExists(name.to_owned()).into());
    }
    audit(conn, write, format!("created {name}, {role}")).await
}

async fn revoke(conn: &mut Conn, write: &TokenWrite, name: &str) -> Result<(), Failure> {
    let text = "UPDATE tokens SET revoked_at = $2 WHERE name = $1 AND revoked_at IS NULL \
                RETURNING name";
    let values = [Value::Text(name), Value::Whole(write.now.as_micros())];
    if conn.fetch_all(text, &values).await?.is_empty() {
        return Err(StoreError::NoSuchToken(name.to_owned()).into());
    }
    let text = "DELETE FROM sessions WHERE token_name = $1";
    conn.execute(text, &[Value::Text(name)]).await?;
    audit(conn, write, format!("revoked {name}")).await
}

async fn begin(conn: &mut Conn, session: &Session) -> Result<(), Failure> {
    let Session { hash, token, created_at, expires_at } = session;
    let text = "INSERT INTO sessions (hash, token_name, token_hash, created_at, expires_at) \
                SELECT $1, tokens.name, tokens.hash, CAST($3 AS BIGINT), CAST($4 AS BIGINT) \
                FROM tokens WHERE tokens.name = $2 AND tokens.revoked_at IS NULL";
    let values = [
        Value::Text(hash),
        Value::Text(token),
        Value::Whole(created_at.as_micros()),
        Value::Whole(expires_at.as_micros()),
    ];
    Ok(conn.execute(text, &values).await?)
}

async fn audit(conn: &mut Conn, write: &TokenWrite, outcome: String) -> Result<(), Failure> {
    let row = NewAudit::token_changed(write.now, &write.principal, outcome);
    history::tell(conn, &[row], &[]).await
}

impl Store {
    /// Every token there ever was, by name; the newest of each name.
    ///
    /// # Errors
    /// The database can't be read.
    pub async fn tokens(&self) -> Result<Vec<Token>, StoreError> {
        let text = "SELECT name, role, hash, created_at, expires_at, revoked_at FROM tokens \
                    ORDER BY name";
        self.read(text, &[]).await?.iter().map(token).collect()
    }

    /// Keeps a token: `hash` is the SHA-256 of it, in hexadecimal digits.
    ///
    /// # Errors
    /// A token of that name is in use, or the database can't be written.
    pub fn create_token(
        &self,
        (name, role): (&str, AccessRole),
        hash: String,
        expires_at: Option<Timestamp>,
        now: Timestamp,
        principal: &str,
    ) -> impl Future<Output = Result<(), StoreError>> + Send + 'static {
        let name = name.to_owned();
        self.change_token(
            TokenChange::Create { name, role, hash, expires_at },
            now,
            principal.to_owned(),
        )
    }

    /// Ends a token, and the sessions that were begun with it.
    ///
    /// # Errors
    /// No token of that name is in use, or the database can't be written.
    pub fn revoke_token(
        &self,
        name: &str,
        now: Timestamp,
        principal: &str,
    ) -> impl Future<Output = Result<(), StoreError>> + Send + 'static {
        self.change_token(TokenChange::Revoke { name: name.to_owned() }, now, principal.to_owned())
    }

    /// Begins a session, unless its token was revoked meanwhile.
    ///
    /// # Errors
    /// The database can't be written.
    pub fn begin_session(
        &self,
        session: Session,
    ) -> impl Future<Output = Result<(), StoreError>> + Send + 'static {
        let (now, principal) = (session.created_at, session.token.clone());
        self.change_token(TokenChange::Begin(session), now, principal)
    }

    /// Ends a session; nothing happens when there is none.
    ///
    /// # Errors
    /// The database can't be written.
    pub fn end_session(
        &self,
        hash: &str,
        now: Timestamp,
    ) -> impl Future<Output = Result<(), StoreError>> + Send + 'static {
        self.change_token(TokenChange::End { hash: hash.to_owned() }, now, String::new())
    }

    /// Drops sessions that are over.
    ///
    /// # Errors
    /// The database can't be written.
    pub fn tidy_sessions(
        &self,
        now: Timestamp,
    ) -> impl Future<Output = Result<(), StoreError>> + Send + 'static {
        self.change_token(TokenChange::Tidy, now, String::new())
    }

    /// The token that a session stands for; none when the session is over, or its token is not
    /// the one any more that it was begun with. Whether the token is active, is for who asks.
    ///
    /// # Errors
    /// The database can't be read.
    pub async fn session_token(
        &self,
        hash: &str,
        now: Timestamp,
    ) -> Result<Option<Token>, StoreError> {
        let text = "SELECT tokens.name, tokens.role, tokens.hash, tokens.created_at, \
                    tokens.expires_at, tokens.revoked_at FROM sessions \
                    JOIN tokens ON tokens.name = sessions.token_name \
                    AND tokens.hash = sessions.token_hash \
                    WHERE sessions.hash = $1 AND sessions.expires_at > $2";
        let values = [Value::Text(hash), Value::Whole(now.as_micros())];
        self.read(text, &values).await?.first().map(token).transpose()
    }

    fn change_token(
        &self,
        change: TokenChange,
        now: Timestamp,
        principal: String,
    ) -> impl Future<Output = Result<(), StoreError>> + Send + 'static {
        let write = TokenWrite { change, now, principal };
        self.ask(|answer| Job::Token(Box::new(write), answer))
    }
}

fn token(row: &Row) -> Result<Token, StoreError> {
    Ok(Token {
        name: rows::get(row, 0)?,
        role: rows::word(rows::get(row, 1)?, "role")?,
        hash: rows::get(row, 2)?,
        created_at: Timestamp::from_micros(rows::get(row, 3)?),
        expires_at: rows::time(rows::get(row, 4)?),
        revoked_at: rows::time(rows::get(row, 5)?),
    })
}
