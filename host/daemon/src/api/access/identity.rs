//! Who asks.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use probehost_model::AccessRole;

use super::super::error::ApiError;

/// Who acts over the API while it serves loopback without tokens.
const LOCAL: &str = "local";

/// The principal of a request, as handlers take it.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    /// Its name in the audit.
    pub(crate) principal: Arc<str>,
    pub(crate) role: AccessRole,
    /// What a change has to be sent with; of a session only.
    pub(super) csrf_token: Option<Arc<str>>,
}

impl Identity {
    /// Whoever is on this machine, while there are no tokens.
    pub(super) fn local() -> Self {
        Self { principal: LOCAL.into(), role: AccessRole::Admin, csrf_token: None }
    }

    pub(super) fn new(principal: &str, role: AccessRole, csrf_token: Option<String>) -> Self {
        Self { principal: principal.into(), role, csrf_token: csrf_token.map(Into::into) }
    }

    /// Whether it may do what this role may.
    pub(super) fn require(&self, role: AccessRole) -> Result<(), ApiError> {
        if self.role >= role {
            return Ok(());
        }
        Err(ApiError::Forbidden {
            principal: self.principal.to_string(),
            has: self.role,
            needs: role,
        })
    }
}

impl<S: Sync> FromRequestParts<S> for Identity {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        let none = || ApiError::Internal("nobody looked who asks".to_owned());
        parts.extensions.get::<Self>().cloned().ok_or_else(none)
    }
}
