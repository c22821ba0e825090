//! The writer's connection, which comes back by itself when it was lost.

use std::time::Duration;

use tokio::time::Instant;

use crate::conn::Conn;
use crate::{Options, StoreError, open};

/// After a connection was idle for this long, it is looked at before it is used: a server that
/// was restarted meanwhile then costs no write.
const IDLE: Duration = Duration::from_secs(1);
/// The pause after the first attempt that failed. It doubles with each.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

pub(crate) struct Link {
    options: Options,
    state: State,
}

enum State {
    Up { conn: Conn, used: Instant },
    Down { error: StoreError, next: Instant, pause: Duration },
}

impl Link {
    pub(crate) fn new(conn: Conn, options: Options) -> Self {
        Self { options, state: State::Up { conn, used: Instant::now() } }
    }

    /// The connection, or why there is none. Does not wait for the next attempt: while the
    /// database is away each write is told so at once.
    pub(crate) async fn get(&mut self) -> Result<&mut Conn, StoreError> {
        self.look().await;
        match &mut self.state {
            State::Up { conn, used } => {
                *used = Instant::now();
                Ok(conn)
            }
            State::Down { error, .. } => Err(error.clone()),
        }
    }

    async fn look(&mut self) {
        if let State::Up { conn, used } = &mut self.state
            && used.elapsed() > IDLE
            && !conn.is_alive().await
        {
            let detail = "the connection was lost while nobody used it".to_owned();
            let database = self.options.location.to_string();
            self.lose(StoreError::Unreachable { database, detail });
        }
        self.reconnect().await;
    }

    /// Makes the next attempt, when it is due.
    pub(crate) async fn reconnect(&mut self) {
        let State::Down { next, pause, .. } = &self.state else { return };
        if *next > Instant::now() {
            return;
        }
        let longer = pause.saturating_mul(2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
        self.state = match open::again(&self.options).await {
            Ok(conn) => {
                tracing::info!(database = %self.options.location, "the database is back");
                State::Up { conn, used: Instant::now() }
            }
            Err(error) => {
                tracing::debug!(%error, "still no connection to the database");
                State::Down { error, next: Instant::now() + *pause, pause: longer }
            }
        };
    }

    /// When the next attempt is due; none while there is a connection.
    pub(crate) const fn next_attempt(&self) -> Option<Instant> {
        match &self.state {
            State::Up { .. } => None,
            State::Down { next, .. } => Some(*next),
        }
    }

    /// Takes note of what went wrong with the connection. One that is lost is dropped, and with
    /// it the server undoes what was not committed.
    pub(crate) fn note(&mut self, error: &StoreError) {
        if matches!(error, StoreError::Unreachable { .. }) && self.next_attempt().is_none() {
            self.lose(error.clone());
        }
    }

    fn lose(&mut self, error: StoreError) {
        tracing::warn!(%error, "the connection to the database is lost");
        self.state = State::Down { error, next: Instant::now(), pause: FIRST_PAUSE };
    }

    pub(crate) async fn close(self) {
        if let State::Up { conn, .. } = self.state
            && let Err(error) = conn.close().await
        {
            let database = &self.options.location;
            tracing::warn!(%database, %error, "closing the database failed");
        }
    }

    pub(crate) const fn options(&self) -> &Options {
        &self.options
    }
}
