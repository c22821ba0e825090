//! How a database on a PostgreSQL server is opened.

use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::migrate::Migrator;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPoolOptions};

use crate::StoreError;
use crate::conn::{Conn, Readers, within};
use crate::options::{Options, Synchronous};
use crate::schema::{Step, migrations};

const SCHEMA: [Step; 6] = [
    (
        1,
        "targets records history",
        include_str!("../migrations/postgres/0001_targets_records_history.sql"),
    ),
    (2, "lifecycles events", include_str!("../migrations/postgres/0002_lifecycles_events.sql")),
    (3, "tokens sessions", include_str!("../migrations/postgres/0003_tokens_sessions.sql")),
    (4, "audit chain", include_str!("../migrations/postgres/0004_audit_chain.sql")),
    (5, "rollups", include_str!("../migrations/postgres/0005_rollups.sql")),
    (6, "notifications", include_str!("../migrations/postgres/0006_notifications.sql")),
];

/// The first version that can materialize a common table expression.
const OLDEST: u32 = 120_000;

/// A lock is waited for as long as on SQLite. The isolation is the one that `dialect` counts
/// on, whatever the server's own default is.
fn connect_options(options: &Options, server: &PgConnectOptions) -> PgConnectOptions {
    let wait = options.busy_timeout.as_millis().max(1).to_string();
    server.clone().options([
        ("lock_timeout", wait.as_str()),
        ("default_transaction_isolation", "read committed"),
    ])
}

/// How long a statement may take: longer than the wait for a lock, which the server ends.
fn limit(options: &Options) -> Duration {
    options.busy_timeout.max(Duration::from_millis(1)) * 2
}

/// The connection that writes, with the schema in place.
pub(crate) async fn writer(
    options: &Options,
    server: &PgConnectOptions,
) -> Result<Conn, StoreError> {
    let mut conn = establish(options, server).await?;
    let version = conn.server_version_num().unwrap_or(OLDEST);
    if version < OLDEST {
        let detail = format!("it is version {}; 12 or newer is needed", version / 10_000);
        return Err(StoreError::Refused { database: options.location.to_string(), detail });
    }
    // Under a lock of the database, so that two hosts that start together don't both do it.
    Migrator::with_migrations(migrations(&SCHEMA))
        .run_direct(None, &mut conn, false)
        .await
        .map_err(|error| StoreError::from_migrate(&options.location, &error))?;
    Ok(Conn::Postgres(Box::new(conn), limit(options)))
}

/// A connection that writes, to a database that has its schema.
pub(crate) async fn connect(
    options: &Options,
    server: &PgConnectOptions,
) -> Result<Conn, StoreError> {
    let conn = establish(options, server).await?;
    Ok(Conn::Postgres(Box::new(conn), limit(options)))
}

async fn establish(
    options: &Options,
    server: &PgConnectOptions,
) -> Result<PgConnection, StoreError> {
    let mut settings = connect_options(options, server)
        // A host that stands still with a transaction open does not keep the others from writing.
        .options([("idle_in_transaction_session_timeout", limit(options).as_millis())]);
    if options.synchronous == Synchronous::Full {
        settings = settings.options([("synchronous_commit", "on")]);
    }
    within(options.busy_timeout, settings.connect())
        .await
        .map_err(|error| StoreError::from_sqlx(&options.location, &error))
}

/// Connections that only read.
pub(crate) fn readers(options: &Options, server: &PgConnectOptions) -> Readers {
    let settings =
        connect_options(options, server).options([("default_transaction_read_only", "on")]);
    let pool = PgPoolOptions::new()
        .max_connections(options.readers.max(1))
        .acquire_timeout(options.acquire_timeout())
        // A connection may have been lost while nobody used it.
        .test_before_acquire(true)
        // Else the pool starts a task that closes old connections, and nobody awaits it.
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_lazy_with(settings);
    Readers::Postgres(pool, options.acquire_timeout() + limit(options))
}
