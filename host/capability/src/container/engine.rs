//! Where the container engine is.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use bollard::{API_DEFAULT_VERSION, Docker};

use super::engine_error::EngineError;
use super::tls::Tls;

/// The library's own limit, in seconds, for each request. Every call has its run's deadline, which
/// is at most an hour, so this never comes first.
const LIBRARY_TIMEOUT: u64 = 2 * 60 * 60;

/// Docker's usual socket.
const DEFAULT_SOCKET: &str = "/var/run/docker.sock";

/// The container engine of this host.
#[derive(Debug, Clone)]
pub enum Engine {
    /// On a Unix socket.
    Unix(PathBuf),
    /// On a TCP port, in the clear: `host:port`.
    Tcp(String),
    /// On a TCP port, with TLS.
    Tls(Tls),
}

impl Default for Engine {
    fn default() -> Self {
        Self::Unix(PathBuf::from(DEFAULT_SOCKET))
    }
}

impl FromStr for Engine {
    type Err = EngineError;

    /// Reads `unix:///path` or `tcp://host:port`.
    fn from_str(text: &str) -> Result<Self, EngineError> {
        let bad = || EngineError::Address(text.chars().take(200).collect());
        if let Some(path) = text.strip_prefix("unix://") {
            return if path.starts_with('/') { Ok(Self::Unix(path.into())) } else { Err(bad()) };
        }
        let address = text.strip_prefix("tcp://").ok_or_else(bad)?;
        let url = url::Url::parse(&format!("http://{address}")).map_err(|_| bad())?;
        let bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        let anonymous = url.username().is_empty() && url.password().is_none();
        match (url.host_str(), address.rsplit_once(':')) {
            (Some(host), Some((_, port))) if bare && anonymous => {
                let port: u16 = port.parse().ok().filter(|port| *port > 0).ok_or_else(bad)?;
                Ok(Self::Tcp(format!("{host}:{port}")))
            }
            _ => Err(bad()),
        }
    }
}

/// As it is written in a config.
impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix://{}", path.display()),
            Self::Tcp(address) => write!(f, "tcp://{address}"),
            Self::Tls(tls) => write!(f, "tcp://{}", tls.address()),
        }
    }
}

impl Engine {
    /// The same with TLS, by the `ca.pem`, `cert.pem` and `key.pem` of this folder, as Docker's own
    /// client does it: only what `ca.pem` has signed is trusted, and `cert.pem` says who this is.
    /// They are read now.
    ///
    /// # Errors
    ///
    /// [`EngineError`]: it is not on a TCP port, or a file is not what it should be.
    pub fn with_tls(self, folder: &Path) -> Result<Self, EngineError> {
        match self {
            Self::Tcp(address) => Ok(Self::Tls(Tls::new(address, folder)?)),
            other => Err(EngineError::NotTcp(other.to_string())),
        }
    }

    /// A client for one call. It connects with the first request and keeps no connection.
    pub(crate) fn client(&self) -> Result<Docker, bollard::errors::Error> {
        let address = self.to_string();
        match self {
            Self::Unix(_) => {
                Docker::connect_with_unix(&address, LIBRARY_TIMEOUT, API_DEFAULT_VERSION)
            }
            Self::Tcp(_) => {
                Docker::connect_with_http(&address, LIBRARY_TIMEOUT, API_DEFAULT_VERSION)
            }
            Self::Tls(tls) => {
                let (tls, place) = (tls.clone(), format!("http://{}", tls.address()));
                let transport = move |request| tls.clone().request(request);
                let place = Some(place);
                Docker::connect_with_custom_transport(
                    transport,
                    place,
                    LIBRARY_TIMEOUT,
                    API_DEFAULT_VERSION,
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written() {
        for text in [
            "unix:///var/run/docker.sock",
            "unix:///run/user/1000/podman/podman.sock",
            "tcp://127.0.0.1:2375",
            "tcp://[::1]:2375",
            "tcp://engine.internal:80",
        ] {
            assert_eq!(text.parse::<Engine>().unwrap().to_string(), text);
        }
        assert_eq!(Engine::default().to_string(), "unix:///var/run/docker.sock");
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            "/var/run/docker.sock",
            "unix://docker.sock",
            "tcp://127.0.0.1",
            "tcp://127.0.0.1:0",
            "tcp://user@127.0.0.1:1",
            "tcp://127.0.0.1:1/path",
            "tcp://[::1]",
            "http://127.0.0.1:2375",
        ] {
            let error = text.parse::<Engine>().unwrap_err().to_string();
            assert!(error.contains("write for example"), "{text}: {error}");
        }
    }
}
