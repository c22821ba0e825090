//! The one error shape of the API.

use axum::Json;
use axum::extract::rejection::{BytesRejection, PathRejection};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use probehost_config::FieldError;
use probehost_healer::AskError;
use probehost_model::AccessRole;
use probehost_model::lifecycle::Refused;
use probehost_model::notify::DeliveryState;
use probehost_monitor::ProbeError;
use probehost_store::StoreError;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::ChangeError;

/// What an API call can answer instead of its result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApiError {
    /// No target of that id.
    #[error("there is no target {0:?}; GET /api/v1/targets lists them")]
    NoTarget(String),
    /// The target is only watched.
    #[error("the target {0:?} is not managed; give it a runtime, [targets.runtime]")]
    NotManaged(String),
    /// What was asked of a managed target is not done.
    #[error(transparent)]
    Ask(AskError),
    /// No room for another event stream.
    #[error("{0} event streams are open, and that is all there can be; close some")]
    TooManyStreams(usize),
    /// The target has no check of that name.
    #[error("the target {target:?} has no check {check:?}; it has {known}")]
    NoCheck {
        /// Id of the target.
        target: String,
        /// The name that was asked for.
        check: String,
        /// The names that it has.
        known: String,
    },
    /// No sink of that name.
    #[error("there is no sink {name:?}; the config has {known}")]
    NoSink {
        /// The name that was asked for.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// A sink that did not take a test message.
    #[error("the sink {name:?} did not take the message: {error}")]
    SinkFailed {
        /// Its name.
        name: String,
        /// What it said.
        error: String,
    },
    /// No notification of that id.
    #[error("there is no notification {0}; GET /api/v1/notifications lists them")]
    NoNotification(i64),
    /// A notification that needs no replay.
    #[error("the notification {id} is {state}; only a dead one can be replayed")]
    NotDead {
        /// Its id.
        id: i64,
        /// What has become of it.
        state: DeliveryState,
    },
    /// A parameter or body that can't be used.
    #[error("{0}")]
    Bad(String),
    /// A body over the limit.
    #[error("the body is larger than {} KiB; send none, or what the API's description says", super::BODY_LIMIT / 1024)]
    TooLarge,
    /// Nobody whom the host knows asks (contract E4).
    #[error("{0}")]
    Unauthorized(&'static str),
    /// Whoever asks may not do that.
    #[error("{principal:?} has the role {has}, and this needs {needs}")]
    Forbidden {
        /// Who asks.
        principal: String,
        /// What its token lets it do.
        has: AccessRole,
        /// What it would have to.
        needs: AccessRole,
    },
    /// A token in a URL: it would end up in logs and histories.
    #[error(
        "the URL has a parameter {0:?}: a token goes into the header Authorization only; take a new one if this was one"
    )]
    TokenInUrl(String),
    /// A body that does not come.
    #[error("the body did not come within {} s", super::BODY_TIME.as_secs())]
    TooSlow,
    /// No such path.
    #[error("there is nothing at {0}; the API is under /api/v1")]
    NoRoute(String),
    /// The path is there, the method is not.
    #[error("{0} is not answered here")]
    Method(String),
    /// A request from another site's page, or under another host's name.
    #[error("{0}")]
    Foreign(String),
    /// What was sent can't be a target, or what it asks for can't be done to this one.
    #[error(transparent)]
    Change(ChangeError),
    /// The store can't be reached: what is known of the checks can't be told now.
    #[error("the store can't be reached, so nothing is known right now: {0}")]
    Store(StoreError),
    /// A probe without a result.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// The host's own fault.
    #[error("{0}")]
    Internal(String),
}

/// What every call answers that does not do what was asked.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErrorBody {
    error: Detail,
}

#[derive(Debug, Serialize, ToSchema)]
struct Detail {
    /// For programs: stable.
    code: &'static str,
    /// For people.
    message: String,
    /// What is wrong with the body, field by field.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fields: Vec<Field>,
}

#[derive(Debug, Serialize, ToSchema)]
struct Field {
    /// A JSON pointer into the body: `/checks/0/config/url`; empty for the whole.
    pointer: String,
    /// What is wrong.
    message: String,
    /// What to do; empty when the message says it all.
    help: String,
}

impl ApiError {
    const fn status(&self) -> (StatusCode, &'static str) {
        match self {
            Self::NoTarget(_) => (StatusCode::NOT_FOUND, "no-such-target"),
            Self::NoCheck { .. } => (StatusCode::NOT_FOUND, "no-such-check"),
            Self::NotManaged(_) => (StatusCode::NOT_FOUND, "not-managed"),
            Self::NoSink { .. } => (StatusCode::NOT_FOUND, "no-such-sink"),
            Self::SinkFailed { .. } => (StatusCode::BAD_GATEWAY, "sink-failed"),
            Self::NoNotification(_) => (StatusCode::NOT_FOUND, "no-such-notification"),
            Self::NotDead { .. } => (StatusCode::CONFLICT, "not-dead"),
            Self::Ask(error) => (StatusCode::CONFLICT, ask_code(error)),
            Self::TooManyStreams(_) => (StatusCode::SERVICE_UNAVAILABLE, "too-many-streams"),
            Self::Change(ChangeError::Broken(_)) => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
            Self::NoRoute(_) => (StatusCode::NOT_FOUND, "no-such-path"),
            Self::Method(_) => (StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed"),
            Self::Bad(_) => (StatusCode::BAD_REQUEST, "bad-request"),
            Self::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "too-large"),
            Self::TooSlow => (StatusCode::REQUEST_TIMEOUT, "too-slow"),
            Self::Unauthorized(_) => (StatusCode::UNAUTHORIZED, "unauthorized"),
            Self::Forbidden { .. } => (StatusCode::FORBIDDEN, "forbidden"),
            Self::TokenInUrl(_) => (StatusCode::BAD_REQUEST, "token-in-url"),
            Self::Foreign(_) => (StatusCode::FORBIDDEN, "foreign-request"),
            Self::Change(ChangeError::Fields(_)) => {
                (StatusCode::UNPROCESSABLE_ENTITY, "invalid-target")
            }
            Self::Change(ChangeError::Store(StoreError::TargetExists(_))) => {
                (StatusCode::CONFLICT, "target-exists")
            }
            Self::Change(ChangeError::Store(StoreError::WasDeleted(_))) => {
                (StatusCode::CONFLICT, "target-was-deleted")
            }
            Self::Change(ChangeError::Store(_)) => (StatusCode::CONFLICT, "file-target"),
            Self::Store(_) => (StatusCode::SERVICE_UNAVAILABLE, "store-unavailable"),
            Self::Probe(ProbeError::NotImplemented { .. }) => {
                (StatusCode::NOT_IMPLEMENTED, "not-implemented")
            }
            Self::Probe(ProbeError::Abandoned { .. }) => {
                (StatusCode::SERVICE_UNAVAILABLE, "abandoned")
            }
            Self::Internal(_) => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NoSuchTarget(id) => Self::NoTarget(id),
            StoreError::TargetExists(_) | StoreError::WasDeleted(_) | StoreError::OfTheFile(_) => {
                Self::Change(ChangeError::Store(error))
            }
            other => Self::Store(other),
        }
    }
}

impl From<ChangeError> for ApiError {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::Store(error) => error.into(),
            other => Self::Change(other),
        }
    }
}

impl From<AskError> for ApiError {
    fn from(error: AskError) -> Self {
        match error {
            AskError::Store(error) => error.into(),
            AskError::NotManaged(id) => Self::NotManaged(id),
            other => Self::Ask(other),
        }
    }
}

const fn ask_code(error: &AskError) -> &'static str {
    match error {
        AskError::Disabled(_) => "target-disabled",
        AskError::Refused(Refused::Restarting { .. }) => "restarting",
        AskError::Refused(Refused::Quarantined) => "quarantined",
        AskError::Refused(Refused::NotQuarantined(_)) => "not-quarantined",
        AskError::Refused(Refused::Updating) => "updating",
        AskError::Refused(Refused::NotUpdating(_)) => "not-updating",
        AskError::NotManaged(_) | AskError::Store(_) | AskError::Gone(_) => "gone",
    }
}

impl From<PathRejection> for ApiError {
    fn from(rejection: PathRejection) -> Self {
        Self::Bad(rejection.body_text())
    }
}

impl From<BytesRejection> for ApiError {
    fn from(rejection: BytesRejection) -> Self {
        if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
            Self::TooLarge
        } else {
            Self::Bad(rejection.body_text())
        }
    }
}

impl From<FieldError> for Field {
    fn from(error: FieldError) -> Self {
        let FieldError { pointer, message, help } = error;
        Self { pointer, message, help }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (status, code) = self.status();
        if status.is_server_error() {
            tracing::warn!(code, error = %self, "an API call failed");
        }
        let message = self.to_string();
        let fields = match self {
            Self::Change(ChangeError::Fields(fields)) => {
                fields.into_iter().map(Field::from).collect()
            }
            _ => Vec::new(),
        };
        let unauthorized = status == StatusCode::UNAUTHORIZED;
        let mut answer =
            (status, Json(ErrorBody { error: Detail { code, message, fields } })).into_response();
        if unauthorized {
            let scheme = HeaderValue::from_static("Bearer realm=\"probehost\"");
            answer.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        }
        answer
    }
}
