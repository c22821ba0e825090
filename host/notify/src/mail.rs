//! Mail by SMTP. Nothing of a sink's URL but scheme, host and port is told to anybody.

use std::path::PathBuf;
use std::time::Duration;

use lettre::message::Mailbox;
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::transport::smtp::client::{Certificate, Tls, TlsParameters};
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor};
use probehost_model::notify::Sink;
use probehost_model::sanitize;
use url::Url;

use crate::ports::{Outgoing, SendError};
use crate::render::email;

const AUTHORITY: &str =
    "; if the server is yours, name the file of its certificate's authority in [tls] ca_files";

/// How a mail server is reached.
#[derive(Debug)]
pub(crate) struct Way<'a> {
    /// With the login.
    pub(crate) url: &'a str,
    /// As much of it as anybody may see.
    pub(crate) shown: &'a str,
    /// Files of certificates that it is trusted by, besides the system's. They are read for each
    /// mail.
    pub(crate) ca_files: &'a [PathBuf],
}

impl Way<'_> {
    /// What the library would do by the URL, with these certificates too. None: that is enough.
    fn tls(&self) -> Result<Option<Tls>, SendError> {
        let Some(url) = Url::parse(self.url).ok().filter(|_| !self.ca_files.is_empty()) else {
            return Ok(None);
        };
        let asked = url.query_pairs().find_map(|(key, value)| (key == "tls").then_some(value));
        let wrap: fn(TlsParameters) -> Tls = match (url.scheme(), asked.as_deref()) {
            ("smtps", _) => Tls::Wrapper,
            (_, Some("required")) => Tls::Required,
            (_, Some("opportunistic")) => Tls::Opportunistic,
            _ => return Ok(None),
        };
        let host = url.host_str().unwrap_or_default().to_owned();
        let mut parameters = TlsParameters::builder(host);
        for file in self.ca_files {
            let unusable = |why: String| {
                SendError::later(format!("{}, of [tls] ca_files: {why}", file.display()))
            };
            let bytes = std::fs::read(file).map_err(|error| unusable(error.to_string()))?;
            let certificates = Certificate::from_pem(&bytes)
                .map_err(|_| unusable("it is no PEM file of certificates".to_owned()))?;
            parameters = parameters.add_root_certificate(certificates);
        }
        let parameters = parameters.build();
        let parameters = parameters
            .map_err(|_| SendError::later(format!("{}: TLS could not be set up", self.shown)))?;
        Ok(Some(wrap(parameters)))
    }
}

/// Sends it, within `limit`.
///
/// # Errors
/// The server was not reached, or did not take it.
pub(crate) async fn send(
    sink: &Sink,
    message: &Outgoing,
    way: &Way<'_>,
    limit: Duration,
) -> Result<(), SendError> {
    let Way { url, shown: peer, .. } = way;
    let unusable = || SendError::later("its URL is not one of smtp or smtps; mend `url`");
    let mailer = AsyncSmtpTransport::<Tokio1Executor>::from_url(url).map_err(|_| unusable())?;
    let mailer = match way.tls()? {
        Some(tls) => mailer.tls(tls),
        None => mailer,
    };
    let mailer = mailer.timeout(Some(limit)).build();
    let mail = composed(sink, message).map_err(SendError::Refused)?;
    match mailer.send(mail).await {
        Ok(_) => Ok(()),
        Err(error) if error.is_permanent() => {
            // The login's refusal is the operator's to mend, as a wrong URL is.
            let code = error.status().map(|code| code.to_string()).unwrap_or_default();
            let text = format!("{peer} refused the mail with {code}");
            match code.as_str() {
                "530" | "534" | "535" | "538" => Err(SendError::later(text)),
                _ => Err(SendError::Refused(text)),
            }
        }
        Err(error) if error.is_transient() => {
            let code = error.status().map(|code| code.to_string()).unwrap_or_default();
            Err(SendError::later(format!("{peer} does not take the mail now ({code})")))
        }
        Err(error) if error.is_timeout() => {
            Err(SendError::later(format!("{peer} did not answer in time")))
        }
        Err(error) if error.is_tls() => {
            Err(SendError::later(format!("{peer}: TLS could not be established")))
        }
        Err(error) => {
            // The innermost one is what the system said; those around it name the client's layers.
            let first = std::error::Error::source(&error);
            let cause = std::iter::successors(first, |error| error.source()).last();
            let io = cause.and_then(|cause| cause.downcast_ref::<std::io::Error>());
            let why = io.map_or_else(|| "the connection failed".to_owned(), ToString::to_string);
            // That library has no kind of error for it; only the TLS library's text says so.
            let help = if why.contains("UnknownIssuer") { AUTHORITY } else { "" };
            Err(SendError::later(sanitize(&format!("{peer}: {why}{help}"))))
        }
    }
}

fn composed(sink: &Sink, message: &Outgoing) -> Result<Message, String> {
    let (subject, text) = email::mail(&message.notification);
    let address =
        |text: &str| text.parse::<Mailbox>().map_err(|_| format!("{text:?} is not a mail address"));
    let mut mail = Message::builder().from(address(&sink.from)?).subject(subject);
    for to in &sink.to {
        mail = mail.to(address(to)?);
    }
    // Who gets it twice can see that it is one.
    let host = sink.from.rsplit_once('@').map_or("probehost", |(_, host)| host);
    let host = host.trim_end_matches('>');
    let mut mail = mail
        .message_id(Some(format!("<{}@{host}>", message.id)))
        .header(ContentType::TEXT_PLAIN)
        .body(text)
        .map_err(|_| "the mail can't be written".to_owned())?;
    // No answers by machines.
    let automatic = HeaderName::new_from_ascii_str("Auto-Submitted");
    mail.headers_mut().insert_raw(HeaderValue::new(automatic, "auto-generated".to_owned()));
    Ok(mail)
}
