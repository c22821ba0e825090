//! The way to the sinks: HTTP by the host's own egress, and mail by SMTP. Nothing of a sink's URL
//! but scheme, host and port is told to anybody.

use std::path::PathBuf;
use std::time::Duration;

use probehost_capability::http::{ErrorKind, Request, RequestHeader, Response};
use probehost_capability::secrets::Secrets;
use probehost_capability::{Capabilities, Run};
use probehost_model::grant::Grants;
use probehost_model::notify::{Sink, SinkKind, SinkText};
use probehost_model::{Endpoint, Origin, Scheme, Timestamp, sanitize};
use tokio::time::Instant;
use url::Url;

use crate::mail::{self, Way};
use crate::ports::{Outgoing, SendError, Wire};
use crate::render::{discord, slack, webhook};
use crate::sign::{SIGNATURE, TIMESTAMP, sign};

/// Sends by the network.
#[derive(Debug, Clone)]
pub struct HttpWire {
    capabilities: Capabilities,
    secrets: Secrets,
    ca_files: Vec<PathBuf>,
}

impl HttpWire {
    /// With these means, the secrets that sinks name, and files of certificates that mail servers
    /// are trusted by besides the system's; HTTP has its own from `capabilities`.
    #[must_use]
    pub const fn new(capabilities: Capabilities, secrets: Secrets, ca_files: Vec<PathBuf>) -> Self {
        Self { capabilities, secrets, ca_files }
    }

    fn text(&self, text: &SinkText, what: &str) -> Result<String, SendError> {
        match text {
            SinkText::Text(text) => Ok(text.clone()),
            // It may be put there while the host runs.
            SinkText::Secret(name) => match self.secrets.get(name) {
                Ok(secret) => Ok(secret.expose().trim().to_owned()),
                Err(error) => Err(SendError::later(format!("{what}: {error}"))),
            },
        }
    }

    async fn post(
        &self,
        sink: &Sink,
        message: &Outgoing,
        url: &str,
        limit: Duration,
    ) -> Result<(), SendError> {
        let origin = origin(url).ok_or_else(|| {
            SendError::later("its URL is not one of http or https without a user part; mend `url`")
        })?;
        let Outgoing { id, notification, now } = message;
        let body = match sink.kind {
            SinkKind::Discord => discord::body(notification),
            SinkKind::Slack => slack::body(notification),
            SinkKind::Webhook | SinkKind::Email => webhook::body(id, notification),
        };
        let body = body.to_string().into_bytes();
        let mut headers = vec![RequestHeader::text("content-type", "application/json")];
        if sink.kind == SinkKind::Webhook {
            headers.push(RequestHeader::text("idempotency-key", id));
        }
        if let Some(key) = &sink.signing_key {
            let key = self.text(key, "the signing key")?;
            let (timestamp, signature) = sign(&key, *now, &body);
            headers.push(RequestHeader::text(TIMESTAMP, timestamp));
            headers.push(RequestHeader::text(SIGNATURE, signature));
        }
        let request = Request {
            method: "POST".to_owned(),
            url: url.to_owned(),
            headers,
            body: Some(body),
            redirects: 0,
            // Only the status counts.
            body_limit: 0,
        };
        let peer = origin.to_string();
        let grants = Grants::new([Endpoint::Http(origin)], Vec::new());
        let run = Run::new("notify", grants, Instant::now() + limit);
        match self.capabilities.http().send(&run, request).await {
            Ok(answer) => judged(&peer, &answer, *now),
            // Those messages can repeat the URL.
            Err(error) if matches!(error.kind, ErrorKind::Invalid | ErrorKind::Denied) => {
                Err(SendError::later(format!("{peer}: the request could not be made")))
            }
            Err(error) => Err(SendError::later(sanitize(&error.message))),
        }
    }
}

impl Wire for HttpWire {
    async fn send(
        &self,
        sink: &Sink,
        message: &Outgoing,
        limit: Duration,
    ) -> Result<(), SendError> {
        let url = self.text(&sink.url, "the URL")?;
        match sink.kind {
            SinkKind::Email => {
                let way = Way { url: &url, shown: &shown(&url), ca_files: &self.ca_files };
                mail::send(sink, message, &way, limit).await
            }
            SinkKind::Discord | SinkKind::Slack | SinkKind::Webhook => {
                self.post(sink, message, &url, limit).await
            }
        }
    }
}

/// Where a sink is, as far as anybody may see it: scheme and host. None: a secret says it.
#[must_use]
pub fn describe(sink: &Sink) -> Option<String> {
    match &sink.url {
        SinkText::Text(url) => Some(shown(url)),
        SinkText::Secret(_) => None,
    }
}

fn shown(url: &str) -> String {
    let parsed = Url::parse(url).ok();
    let shown = parsed.and_then(|url| {
        let host = url.host_str()?;
        let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        Some(format!("{}://{host}{port}", url.scheme()))
    });
    shown.unwrap_or_else(|| "its URL".to_owned())
}

fn origin(url: &str) -> Option<Origin> {
    let url = Url::parse(url).ok()?;
    let scheme = match url.scheme() {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        _ => return None,
    };
    if !url.username().is_empty() || url.password().is_some() {
        return None;
    }
    let host = match url.host()? {
        url::Host::Domain(name) => name.strip_suffix('.').unwrap_or(name).to_owned(),
        url::Host::Ipv4(address) => address.to_string(),
        url::Host::Ipv6(address) => address.to_string(),
    };
    Some(Origin { scheme, host, port: url.port().unwrap_or(scheme.default_port()) })
}

/// What an answer means: taken, later, or never.
fn judged(peer: &str, answer: &Response, now: Timestamp) -> Result<(), SendError> {
    let status = answer.status;
    let text = format!("{peer} answered {status}");
    match status {
        200..=299 => Ok(()),
        408 | 425 | 429 | 500.. => Err(SendError::Later { error: text, after: wish(answer, now) }),
        300..=399 => Err(SendError::Refused(format!("{text}; redirects are not followed"))),
        _ => Err(SendError::Refused(text)),
    }
}

/// How long the sink wants to be left alone: seconds, with a fraction as Discord writes them, or a
/// date.
fn wish(answer: &Response, now: Timestamp) -> Option<Duration> {
    let header = answer.headers.iter().find(|header| header.name == "retry-after")?;
    if let Ok(seconds) = header.value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = jiff::fmt::rfc2822::parse(&header.value).ok()?;
    Some(Timestamp::from_micros(date.timestamp().as_microsecond()).since(now))
}

#[cfg(test)]
mod tests {
    use super::*;
    use probehost_capability::http::Header;

    fn answer(status: u16, retry_after: &str) -> Response {
        let value = retry_after.to_owned();
        let headers = vec![Header { name: "retry-after".into(), value }];
        Response {
            status,
            headers,
            body: Vec::new(),
            url: String::new(),
            timings: probehost_capability::Timings::default(),
            certificate: None,
        }
    }

    /// E5: 429 and 503 say how long to wait; other refusals of ours are final.
    #[test]
    fn what_an_answer_means() {
        let now = Timestamp::from_micros(1_764_500_000_000_000);
        let judge = |status, after: &str| judged("http://x:80", &answer(status, after), now);
        let later = |status, after: Option<u64>| {
            let after = after.map(Duration::from_secs);
            Err(SendError::Later { error: format!("http://x:80 answered {status}"), after })
        };
        for status in [200, 202, 204] {
            assert_eq!(judge(status, "3"), Ok(()));
        }
        assert_eq!(judge(429, "3"), later(429, Some(3)));
        assert_eq!(judge(503, "Sun, 30 Nov 2025 10:54:20 GMT"), later(503, Some(60)));
        assert_eq!(judge(503, "soon"), later(503, None));
        for status in [408, 425, 500, 502, 599] {
            assert_eq!(judge(status, ""), later(status, None));
        }
        for status in [302, 400, 401, 403, 404, 410] {
            assert!(matches!(judge(status, ""), Err(SendError::Refused(_))), "{status}");
        }
    }

    /// E5: nothing of a URL but scheme and host is shown.
    #[test]
    fn a_url_does_not_show_itself() {
        assert_eq!(shown("https://discord.com/api/webhooks/1/tok?x=y"), "https://discord.com");
        assert_eq!(shown("smtp://me:hunter2@mail.example:587/x"), "smtp://mail.example:587");
        assert_eq!(shown("hunter2"), "its URL");
    }
}
