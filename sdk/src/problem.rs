//! Why a check did not pass, and how the errors of capabilities become that.

use crate::bindings::probehost::plugin::types::{Failure, Outcome, Reason};
use crate::{ConfigError, UrlError, container, dns, http, process, ssh, tcp, udp};

/// Why a check did not pass.
#[derive(Debug, Clone, PartialEq)]
pub enum Problem {
    /// The target is unwell.
    Failure(Failure),
    /// Nothing can be said about the target; why.
    Inconclusive(String),
}

impl Problem {
    /// The target is unwell. The message is for people: it names host and port, and never
    /// holds a secret or a response body. The host cuts it at 512 bytes.
    #[must_use]
    pub fn failure(reason: Reason, message: impl Into<String>) -> Self {
        Self::Failure(Failure { reason, message: message.into() })
    }

    /// Nothing can be said about the target; why, for people.
    #[must_use]
    pub fn inconclusive(message: impl Into<String>) -> Self {
        Self::Inconclusive(message.into())
    }

    /// The reason of a failure; none when nothing can be said.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        match self {
            Self::Failure(failure) => Some(failure.reason),
            Self::Inconclusive(_) => None,
        }
    }
}

impl From<Problem> for Outcome {
    fn from(problem: Problem) -> Self {
        match problem {
            Problem::Failure(failure) => Self::Fail(failure),
            Problem::Inconclusive(message) => Self::Inconclusive(message),
        }
    }
}

impl From<ConfigError> for Problem {
    fn from(error: ConfigError) -> Self {
        Self::failure(Reason::Config, error.to_string())
    }
}

impl From<UrlError> for Problem {
    fn from(error: UrlError) -> Self {
        Self::failure(Reason::Config, error.to_string())
    }
}

impl From<http::Error> for Problem {
    fn from(error: http::Error) -> Self {
        use http::ErrorKind as Kind;
        let reason = match error.kind {
            Kind::Denied | Kind::Invalid => Reason::Config,
            Kind::Timeout => Reason::Timeout,
            Kind::Tls => Reason::Tls,
            Kind::NameNotFound
            | Kind::Resolver
            | Kind::Refused
            | Kind::Unreachable
            | Kind::Closed => Reason::Network,
            // It was reached and it answered, only not as it should.
            Kind::Protocol | Kind::TooLarge | Kind::Redirect => Reason::Answer,
            Kind::Host => return Self::Inconclusive(error.message),
        };
        Self::failure(reason, error.message)
    }
}

impl From<ssh::Error> for Problem {
    /// By the cause, of the jump host as of the target (contract K3, K4, P7).
    fn from(error: ssh::Error) -> Self {
        use ssh::ErrorKind as Kind;
        let reason = match error.kind {
            Kind::Denied | Kind::Invalid | Kind::Identity => Reason::Config,
            Kind::Timeout => Reason::Timeout,
            Kind::HostKey => Reason::HostKey,
            Kind::Auth => Reason::Auth,
            Kind::NameNotFound
            | Kind::Resolver
            | Kind::Refused
            | Kind::Unreachable
            | Kind::Forwarding
            | Kind::Closed => Reason::Network,
            // It was reached and it answered, only not as it should.
            Kind::Algorithms | Kind::Protocol => Reason::Answer,
            Kind::Host => return Self::Inconclusive(error.message),
        };
        Self::failure(reason, error.message)
    }
}

impl From<container::Error> for Problem {
    /// What is wrong with the engine says nothing about the container (contract C3).
    fn from(error: container::Error) -> Self {
        use container::ErrorKind as Kind;
        let reason = match error.kind {
            Kind::Denied | Kind::Invalid => Reason::Config,
            Kind::NotFound => Reason::Stopped,
            Kind::Timeout | Kind::Unreachable | Kind::Forbidden | Kind::Engine | Kind::Protocol => {
                return Self::Inconclusive(error.message);
            }
        };
        Self::failure(reason, error.message)
    }
}

impl From<process::Error> for Problem {
    fn from(error: process::Error) -> Self {
        use process::ErrorKind as Kind;
        let reason = match error.kind {
            Kind::Denied | Kind::Unknown | Kind::Start => Reason::Config,
            Kind::Timeout => Reason::Timeout,
            Kind::Ended => Reason::Stopped,
            Kind::TooLarge => Reason::Answer,
            Kind::Host => return Self::Inconclusive(error.message),
        };
        Self::failure(reason, error.message)
    }
}

impl From<tcp::Error> for Problem {
    fn from(error: tcp::Error) -> Self {
        use tcp::ErrorKind as Kind;
        let reason = match error.kind {
            Kind::Denied | Kind::Invalid => Reason::Config,
            Kind::Timeout => Reason::Timeout,
            Kind::Tls => Reason::Tls,
            Kind::NameNotFound
            | Kind::Resolver
            | Kind::Refused
            | Kind::Unreachable
            | Kind::Closed => Reason::Network,
            Kind::TooLarge => Reason::Answer,
            Kind::Host => return Self::Inconclusive(error.message),
        };
        Self::failure(reason, error.message)
    }
}

impl From<udp::Error> for Problem {
    fn from(error: udp::Error) -> Self {
        use udp::ErrorKind as Kind;
        let reason = match error.kind {
            Kind::Denied | Kind::Invalid => Reason::Config,
            Kind::Timeout => Reason::Timeout,
            Kind::NameNotFound | Kind::Resolver | Kind::Refused | Kind::Unreachable => {
                Reason::Network
            }
            Kind::TooLarge => Reason::Answer,
            Kind::Host => return Self::Inconclusive(error.message),
        };
        Self::failure(reason, error.message)
    }
}

impl From<dns::Error> for Problem {
    fn from(error: dns::Error) -> Self {
        use dns::ErrorKind as Kind;
        let reason = match error.kind {
            Kind::Denied | Kind::Invalid => Reason::Config,
            Kind::Timeout => Reason::Timeout,
            Kind::NameNotFound | Kind::Resolver | Kind::Refused | Kind::Unreachable => {
                Reason::Network
            }
            Kind::Protocol => Reason::Answer,
            Kind::Host => return Self::Inconclusive(error.message),
        };
        Self::failure(reason, error.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::{Error, ErrorKind, Phase};

    /// P6, P7: each error of the http capability classifies by its cause.
    #[test]
    fn http_errors_classify() {
        let rows = [
            (ErrorKind::Denied, Some(Reason::Config)),
            (ErrorKind::Invalid, Some(Reason::Config)),
            (ErrorKind::Timeout, Some(Reason::Timeout)),
            (ErrorKind::NameNotFound, Some(Reason::Network)),
            (ErrorKind::Resolver, Some(Reason::Network)),
            (ErrorKind::Refused, Some(Reason::Network)),
            (ErrorKind::Unreachable, Some(Reason::Network)),
            (ErrorKind::Closed, Some(Reason::Network)),
            (ErrorKind::Tls, Some(Reason::Tls)),
            (ErrorKind::Protocol, Some(Reason::Answer)),
            (ErrorKind::TooLarge, Some(Reason::Answer)),
            (ErrorKind::Redirect, Some(Reason::Answer)),
            (ErrorKind::Host, None),
        ];
        for (kind, reason) in rows {
            let problem = Problem::from(Error::new(kind, Phase::Connect, "example.com:80 …"));
            assert_eq!(problem.reason(), reason, "{kind:?}");
        }
    }

    /// K2, K3, K4, P7: each error of the ssh capability classifies by its cause, whichever host
    /// it is about.
    #[test]
    fn ssh_errors_classify() {
        use ssh::{ErrorKind as Kind, Hop};
        let rows = [
            (Kind::Denied, Some(Reason::Config)),
            (Kind::Invalid, Some(Reason::Config)),
            (Kind::Identity, Some(Reason::Config)),
            (Kind::Timeout, Some(Reason::Timeout)),
            (Kind::HostKey, Some(Reason::HostKey)),
            (Kind::Auth, Some(Reason::Auth)),
            (Kind::NameNotFound, Some(Reason::Network)),
            (Kind::Resolver, Some(Reason::Network)),
            (Kind::Refused, Some(Reason::Network)),
            (Kind::Unreachable, Some(Reason::Network)),
            (Kind::Forwarding, Some(Reason::Network)),
            (Kind::Closed, Some(Reason::Network)),
            (Kind::Algorithms, Some(Reason::Answer)),
            (Kind::Protocol, Some(Reason::Answer)),
            (Kind::Host, None),
        ];
        for (kind, reason) in rows {
            for hop in [Hop::Target, Hop::Jump] {
                let error =
                    ssh::Error { hop, ..ssh::Error::new(kind, ssh::Phase::Login, "db:22 …") };
                assert_eq!(Problem::from(error).reason(), reason, "{kind:?} {hop:?}");
            }
        }
    }

    /// C3, C4: a container that is not there is stopped; an engine that is not says nothing.
    #[test]
    fn container_errors_classify() {
        use container::ErrorKind as Kind;
        let rows = [
            (Kind::Denied, Some(Reason::Config)),
            (Kind::Invalid, Some(Reason::Config)),
            (Kind::NotFound, Some(Reason::Stopped)),
            (Kind::Timeout, None),
            (Kind::Unreachable, None),
            (Kind::Forbidden, None),
            (Kind::Engine, None),
            (Kind::Protocol, None),
        ];
        for (kind, reason) in rows {
            let problem = Problem::from(container::Error::new(kind, "web …"));
            assert_eq!(problem.reason(), reason, "{kind:?}");
        }
    }

    /// P6, P7: each error of the process capability classifies by its cause.
    #[test]
    fn process_errors_classify() {
        use process::ErrorKind as Kind;
        let rows = [
            (Kind::Denied, Some(Reason::Config)),
            (Kind::Unknown, Some(Reason::Config)),
            (Kind::Start, Some(Reason::Config)),
            (Kind::Timeout, Some(Reason::Timeout)),
            (Kind::Ended, Some(Reason::Stopped)),
            (Kind::TooLarge, Some(Reason::Answer)),
            (Kind::Host, None),
        ];
        for (kind, reason) in rows {
            let problem = Problem::from(process::Error::new(kind, "the command …"));
            assert_eq!(problem.reason(), reason, "{kind:?}");
        }
    }

    /// P6, P7: each error of the tcp capability classifies by its cause.
    #[test]
    fn tcp_errors_classify() {
        use tcp::ErrorKind as Kind;
        let rows = [
            (Kind::Denied, Some(Reason::Config)),
            (Kind::Invalid, Some(Reason::Config)),
            (Kind::Timeout, Some(Reason::Timeout)),
            (Kind::NameNotFound, Some(Reason::Network)),
            (Kind::Resolver, Some(Reason::Network)),
            (Kind::Refused, Some(Reason::Network)),
            (Kind::Unreachable, Some(Reason::Network)),
            (Kind::Closed, Some(Reason::Network)),
            (Kind::Tls, Some(Reason::Tls)),
            (Kind::TooLarge, Some(Reason::Answer)),
            (Kind::Host, None),
        ];
        for (kind, reason) in rows {
            let problem = Problem::from(tcp::Error::new(kind, tcp::Phase::Read, "db:5432 …"));
            assert_eq!(problem.reason(), reason, "{kind:?}");
        }
    }

    /// P6, P7: each error of the udp capability classifies by its cause.
    #[test]
    fn udp_errors_classify() {
        use udp::ErrorKind as Kind;
        let rows = [
            (Kind::Denied, Some(Reason::Config)),
            (Kind::Invalid, Some(Reason::Config)),
            (Kind::Timeout, Some(Reason::Timeout)),
            (Kind::NameNotFound, Some(Reason::Network)),
            (Kind::Resolver, Some(Reason::Network)),
            (Kind::Refused, Some(Reason::Network)),
            (Kind::Unreachable, Some(Reason::Network)),
            (Kind::TooLarge, Some(Reason::Answer)),
            (Kind::Host, None),
        ];
        for (kind, reason) in rows {
            let problem = Problem::from(udp::Error::new(kind, udp::Phase::Reply, "ntp:123 …"));
            assert_eq!(problem.reason(), reason, "{kind:?}");
        }
    }

    /// P6, P7: each error of the dns capability classifies by its cause.
    #[test]
    fn dns_errors_classify() {
        use dns::ErrorKind as Kind;
        let rows = [
            (Kind::Denied, Some(Reason::Config)),
            (Kind::Invalid, Some(Reason::Config)),
            (Kind::Timeout, Some(Reason::Timeout)),
            (Kind::NameNotFound, Some(Reason::Network)),
            (Kind::Resolver, Some(Reason::Network)),
            (Kind::Refused, Some(Reason::Network)),
            (Kind::Unreachable, Some(Reason::Network)),
            (Kind::Protocol, Some(Reason::Answer)),
            (Kind::Host, None),
        ];
        for (kind, reason) in rows {
            let problem = Problem::from(dns::Error::new(kind, dns::Phase::Reply, "ns1:53 …"));
            assert_eq!(problem.reason(), reason, "{kind:?}");
        }
    }

    #[test]
    fn a_config_error_keeps_its_path() {
        let problem = Problem::from(ConfigError::at("headers.0", "is not a header"));
        assert_eq!(problem, Problem::failure(Reason::Config, "headers.0: is not a header"));
    }
}
