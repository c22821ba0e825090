//! Who is in the fleet: one list that the upstreams, the configuration and the table are made from.

/// The first port, unless told otherwise.
pub(crate) const DEFAULT_BASE_PORT: u16 = 9701;

/// The highest first port that leaves room for the whole fleet, and the managed server after it.
pub(crate) const LAST_BASE_PORT: u16 = u16::MAX - MEMBERS.len() as u16;

/// How long the recovering upstream is down in each round, in seconds.
pub(crate) const DOWN_SECONDS: u64 = 40;

/// How long it is up after that, in seconds.
pub(crate) const UP_SECONDS: u64 = 60;

/// How long the slow upstream waits before it takes up the TLS handshake, in seconds.
pub(crate) const HANDSHAKE_SECONDS: u64 = 2;

/// Where the redirect points: an origin that no grant names. `.test` never resolves.
pub(crate) const ELSEWHERE: &str = "http://elsewhere.test/";

/// What a member of the fleet does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behaviour {
    /// Answers 200.
    Healthy,
    /// Answers 405 to HEAD and 200 to GET.
    NoHead,
    /// Answers 404.
    Missing,
    /// Answers 503 for a while, then 200 for a while, and so on.
    Recovering,
    /// Refuses connections.
    Refused,
    /// Accepts, and says nothing.
    Hanging,
    /// Takes its time before the TLS handshake; its certificate is good.
    SlowTls,
    /// Shows a certificate that has expired.
    Expired,
    /// Redirects to an origin that the check may not reach.
    Astray,
}

/// One member of the fleet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member {
    /// The target's id.
    pub(crate) id: &'static str,
    /// The target's name.
    pub(crate) name: &'static str,
    /// What it does.
    pub(crate) behaviour: Behaviour,
    /// What it does, for people.
    pub(crate) does: &'static str,
    /// What probehost says of it.
    pub(crate) expected: &'static str,
    /// Why probehost says so; the comment in the configuration.
    pub(crate) why: &'static str,
    /// Lines of the check besides its config.
    pub(crate) settings: &'static str,
    /// Keys of the check's config besides the URL.
    pub(crate) config: &'static str,
}

/// The fleet, in the order of its ports.
pub(crate) const MEMBERS: [Member; 9] = [
    Member {
        id: "healthy",
        name: "Healthy",
        behaviour: Behaviour::Healthy,
        does: "answers 200",
        expected: "healthy",
        why: "Answers 200 to HEAD: healthy.",
        settings: "",
        config: "",
    },
    Member {
        id: "no-head",
        name: "Refuses HEAD",
        behaviour: Behaviour::NoHead,
        does: "answers 405 to HEAD",
        expected: "healthy",
        why: "Knows no HEAD and answers 405. Whoever answers below 500 is up: healthy.",
        settings: "",
        config: "",
    },
    Member {
        id: "missing",
        name: "Page not found",
        behaviour: Behaviour::Missing,
        does: "answers 404",
        expected: "healthy",
        why: "Answers 404 on its health path; it answers, so it is up: healthy.",
        settings: "",
        config: ", path = \"/health\"",
    },
    Member {
        id: "recovering",
        name: "Falls over and recovers",
        behaviour: Behaviour::Recovering,
        does: "answers 503 for 40 s, 200 for 60 s, again and again",
        expected: "unhealthy (answer), then healthy",
        why: "Answers 503 for 40 s and 200 for 60 s, again and again. The second failure in a row makes it unhealthy\n\
              # with the reason `answer`; the first pass makes it healthy again.",
        settings: "",
        config: "",
    },
    Member {
        id: "refused",
        name: "Nobody listens",
        behaviour: Behaviour::Refused,
        does: "refuses connections",
        expected: "unhealthy (network)",
        why: "Nothing listens on its port: unhealthy with the reason `network`.",
        settings: "",
        config: "",
    },
    Member {
        id: "hanging",
        name: "Accepts and hangs",
        behaviour: Behaviour::Hanging,
        does: "accepts, then says nothing",
        expected: "unhealthy (timeout)",
        why: "Accepts the connection and then says nothing. The deadline cuts it: unhealthy with the reason `timeout`.",
        settings: "",
        config: "",
    },
    Member {
        id: "slow-tls",
        name: "Slow TLS",
        behaviour: Behaviour::SlowTls,
        does: "waits 2 s before the TLS handshake",
        expected: "healthy, with about 2 s of TLS time",
        why: "Waits 2 s before the TLS handshake. Its own timeout leaves room for that: healthy, and the measurements\n\
              # show where the time went. Its certificate is signed by the demo's own authority, see [tls].",
        settings: "timeout = 6\n",
        config: "",
    },
    Member {
        id: "expired",
        name: "Expired certificate",
        behaviour: Behaviour::Expired,
        does: "shows a certificate that ran out yesterday",
        expected: "unhealthy (tls)",
        why: "Its certificate ran out yesterday: unhealthy with the reason `tls`.",
        settings: "",
        config: "",
    },
    Member {
        id: "astray",
        name: "Redirects elsewhere",
        behaviour: Behaviour::Astray,
        does: "redirects to an origin that is not granted",
        expected: "unhealthy (config), at once",
        why: "Redirects to another origin, and this check follows redirects. Each hop has to be granted, and that one\n\
              # is not: unhealthy with the reason `config` at the first probe, and the message holds the grant that is\n\
              # missing. With `redirects = 0`, the default, the redirect itself is an answer and the target healthy.",
        settings: "",
        config: ", redirects = 3",
    },
];

impl Member {
    /// The scheme of its URL.
    pub(crate) fn scheme(&self) -> &'static str {
        match self.behaviour {
            Behaviour::SlowTls | Behaviour::Expired => "https",
            _ => "http",
        }
    }
}

/// The members with their ports.
pub(crate) fn placed(base_port: u16) -> impl Iterator<Item = (Member, u16)> {
    MEMBERS.into_iter().zip(base_port..=u16::MAX)
}

/// The port of the managed server: the next one after the members'.
pub(crate) fn managed_port(base_port: u16) -> u16 {
    base_port.saturating_add(MEMBERS.len() as u16)
}
