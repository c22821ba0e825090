//! What a check is about, and what it will reach.

use std::fmt;

use crate::url::default_port;
use crate::{Endpoint, Origin, Plan, Scheme, Url};

impl Plan {
    /// A check of one URL: its subject is `host:port`, and it reaches the URL's origin.
    #[must_use]
    pub fn http(url: &Url) -> Self {
        let origin = url.origin().clone();
        Self { subject: origin.authority(), endpoints: vec![Endpoint::Http(origin)] }
    }
}

impl Origin {
    /// `host:port`, with brackets around an IPv6 address. The port is always there.
    #[must_use]
    pub fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

/// As URLs begin: without the port when it is the scheme's own.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.scheme {
            Scheme::Http => "http://",
            Scheme::Https => "https://",
        })?;
        match self.host.contains(':') {
            true => write!(f, "[{}]", self.host)?,
            false => f.write_str(&self.host)?,
        }
        match self.port == default_port(self.scheme) {
            true => Ok(()),
            false => write!(f, ":{}", self.port),
        }
    }
}
