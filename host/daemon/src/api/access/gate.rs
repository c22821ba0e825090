//! Finds out who asks: by a bearer token, by the page's session, or nobody while there are no
//! tokens.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::{HeaderMap, header};
use probehost_model::Token;
use probehost_monitor::Clock;
use probehost_store::{Session, Store, StoreError};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;
use tokio::time::Instant;

use super::super::error::ApiError;
use super::Identity;
use super::secret::{csrf_token, equal, fresh, hash};

/// How long a list of tokens is gone by; so long a revoked one may still work.
const FRESH: Duration = Duration::from_secs(1);
/// How long a session of the page lasts.
pub(super) const SESSION: Duration = Duration::from_hours(7 * 24);
/// What the cookie of a session is called, before the port: a browser sends a cookie to every port
/// of a name, and a login at one host must not end that at another.
const COOKIE: &str = "probehost_session";

/// Who may use the API. Cheap to clone; every clone is the same.
#[derive(Debug, Clone)]
pub(crate) struct Gate(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Store,
    clock: Clock,
    /// Only this machine can reach the API.
    loopback: bool,
    /// What the cookie of a session is called.
    cookie: String,
    /// As they were last read, and when.
    tokens: Mutex<(Instant, Arc<[Token]>)>,
    refused: Counter,
}

impl Gate {
    /// Reads the tokens; the API listens there.
    ///
    /// # Errors
    /// The store can't be read.
    pub(crate) async fn open(
        store: Store,
        clock: Clock,
        address: SocketAddr,
    ) -> Result<Self, StoreError> {
        let loopback = address.ip().is_loopback();
        let cookie = format!("{COOKIE}_{}", address.port());
        let tokens = store.tokens().await?.into();
        let tokens = Mutex::new((Instant::now(), tokens));
        let refused = Counter::default();
        Ok(Self(Arc::new(Inner { store, clock, loopback, cookie, tokens, refused })))
    }

    /// What the cookie of a session is called.
    pub(in crate::api) fn cookie(&self) -> &str {
        &self.0.cookie
    }

    /// Adds its counter to the metrics.
    pub(crate) fn register(&self, registry: &mut Registry) {
        let help = "Calls of the API without a token or session that lets anybody in";
        registry.register("api_unauthorized", help, self.0.refused.clone());
    }

    /// Whether a token would let anybody in now.
    pub(crate) fn has_active_token(&self) -> bool {
        let now = self.0.clock.now();
        self.known().1.iter().any(|token| token.is_active(now))
    }

    /// Whether everybody on this machine may do everything: there never was a token, and nobody
    /// else can reach the API.
    pub(super) async fn is_open(&self) -> bool {
        self.0.loopback && self.tokens().await.is_empty()
    }

    /// Who asks.
    pub(super) async fn identify(&self, headers: &HeaderMap) -> Result<Identity, ApiError> {
        let found = self.find(headers).await;
        if matches!(found, Err(ApiError::Unauthorized(_))) {
            self.0.refused.inc();
        }
        found
    }

    /// Whether it is somebody who may read.
    pub(in crate::api) async fn knows(&self, headers: &HeaderMap) -> bool {
        self.find(headers).await.is_ok()
    }

    async fn find(&self, headers: &HeaderMap) -> Result<Identity, ApiError> {
        if self.is_open().await {
            return Ok(Identity::local());
        }
        match (bearer(headers), cookie(headers, self.cookie())) {
            (Some(token), _) => self.by_token(token?).await,
            (None, Some(cookie)) => self.by_cookie(cookie).await,
            (None, None) => Err(ApiError::Unauthorized(
                "send a token, Authorization: Bearer TOKEN; `probehost token new` makes one",
            )),
        }
    }

    /// Whose token it is.
    pub(super) async fn by_token(&self, token: &str) -> Result<Identity, ApiError> {
        let hash = hash(token);
        let now = self.0.clock.now();
        let tokens = self.tokens().await;
        // All of them, whichever it is.
        let found = tokens
            .iter()
            .fold(None, |found, token| if equal(&token.hash, &hash) { Some(token) } else { found });
        match found {
            Some(token) if token.is_active(now) => Ok(Identity::new(&token.name, token.role, None)),
            Some(_) => Err(ApiError::Unauthorized("this token has expired or was revoked")),
            None => Err(ApiError::Unauthorized("this token is not one of this host's")),
        }
    }

    async fn by_cookie(&self, cookie: &str) -> Result<Identity, ApiError> {
        let now = self.0.clock.now();
        match self.0.store.session_token(&hash(cookie), now).await? {
            Some(token) if token.is_active(now) => {
                Ok(Identity::new(&token.name, token.role, Some(csrf_token(cookie))))
            }
            _ => Err(ApiError::Unauthorized("this session is over; log in again")),
        }
    }

    /// Begins a session. Gives its cookie.
    pub(super) async fn begin(&self, who: &Identity) -> Result<(String, Identity), ApiError> {
        let cookie = fresh().map_err(|_| {
            ApiError::Internal("this system gives no random numbers for a session".to_owned())
        })?;
        let now = self.0.clock.now();
        let session = Session {
            hash: hash(&cookie),
            token: who.principal.to_string(),
            created_at: now,
            expires_at: now.plus(SESSION),
        };
        self.0.store.begin_session(session).await?;
        let identity = Identity::new(&who.principal, who.role, Some(csrf_token(&cookie)));
        Ok((cookie, identity))
    }

    /// Ends the session of this cookie.
    pub(super) async fn end(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        if let Some(cookie) = cookie(headers, self.cookie()) {
            self.0.store.end_session(&hash(cookie), self.0.clock.now()).await?;
        }
        Ok(())
    }

    /// The tokens, at most a moment old; older while the store can't be reached.
    async fn tokens(&self) -> Arc<[Token]> {
        let (read_at, known) = self.known();
        if read_at.elapsed() < FRESH {
            return known;
        }
        match self.0.store.tokens().await {
            Ok(tokens) => {
                let tokens: Arc<[Token]> = tokens.into();
                *self.lock() = (Instant::now(), Arc::clone(&tokens));
                tokens
            }
            Err(error) => {
                tracing::debug!(%error, "the tokens are those of before");
                known
            }
        }
    }

    fn known(&self) -> (Instant, Arc<[Token]>) {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, (Instant, Arc<[Token]>)> {
        self.0.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The token of the header, if there is one.
fn bearer(headers: &HeaderMap) -> Option<Result<&str, ApiError>> {
    let value = headers.get(header::AUTHORIZATION)?;
    let token = value.to_str().ok().and_then(|text| {
        let (scheme, token) = text.trim().split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
    });
    Some(token.ok_or(ApiError::Unauthorized("write the header as Authorization: Bearer TOKEN")))
}

/// The cookie of that name, if there is one.
fn cookie<'a>(headers: &'a HeaderMap, wanted: &str) -> Option<&'a str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    all.flat_map(|text| text.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find_map(|(name, value)| (name == wanted).then_some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (header::HeaderName::from_static(name), value.parse().unwrap())
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn a_token_is_read_from_its_header_alone() {
        let read =
            |text| bearer(&headers(&[("authorization", text)])).unwrap().ok().map(str::to_owned);
        assert_eq!(read("Bearer abc").as_deref(), Some("abc"));
        assert_eq!(read("bearer  abc ").as_deref(), Some("abc"));
        assert_eq!(read("Basic abc"), None);
        assert_eq!(read("abc"), None);
        assert!(bearer(&headers(&[])).is_none());
    }

    #[test]
    fn the_cookie_is_found_among_others() {
        let read = |text| {
            cookie(&headers(&[("cookie", text)]), "probehost_session_9640").map(str::to_owned)
        };
        let several = "a=b; probehost_session_80=y; probehost_session_9640=x; c=d";
        assert_eq!(read(several).as_deref(), Some("x"));
        assert_eq!(read("probehost_session=x"), None);
        assert_eq!(read(""), None);
    }
}
