//! Asks a running host over its API.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use reqwest::{Method, RequestBuilder, Response};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use serde::de::DeserializeOwned;
use serde_json::Value;

const LIMIT: Duration = Duration::from_secs(10);
/// Where a token is looked for when no file is named.
const VARIABLE: &str = "PROBEHOST_TOKEN";

/// Which host, and who asks.
#[derive(Debug, Clone, Args)]
pub(crate) struct ApiArgs {
    /// Where the host serves its API.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:9640")]
    pub(crate) url: String,
    /// A file with the token to ask with. Without it, the variable PROBEHOST_TOKEN.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// A PEM file of certificates to trust, besides the system's.
    #[arg(long, value_name = "FILE")]
    api_ca_file: Option<PathBuf>,
}

/// A client of one host.
#[derive(Debug)]
pub(crate) struct Client {
    base: String,
    token: Option<String>,
    http: reqwest::Client,
}

impl Client {
    pub(crate) fn new(args: &ApiArgs) -> Result<Self, String> {
        let http = reqwest::Client::builder().no_proxy().tls_backend_preconfigured(tls(args)?);
        let started = |error| format!("the HTTP client could not start: {error}");
        Ok(Self {
            base: args.url.trim_end_matches('/').to_owned(),
            token: token(args.token_file.as_ref())?,
            http: http.build().map_err(started)?,
        })
    }

    /// Asks for something below `/api/v1`.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, String> {
        let request = self.request(Method::GET, path).timeout(LIMIT);
        read(&self.base, self.send(request).await?).await
    }

    /// Asks for something to be done.
    pub(crate) async fn post(&self, path: &str) -> Result<(), String> {
        let request = self.request(Method::POST, path).timeout(LIMIT);
        self.send(request).await.map(drop)
    }

    /// Asks whether the host can do its work: what it says of itself, and whether that is yes.
    pub(crate) async fn healthz(&self) -> Result<(Value, bool), String> {
        let request = self.http.get(format!("{}/healthz", self.base)).timeout(LIMIT);
        let answer = request.send().await.map_err(|error| no_host(&self.base, &error))?;
        let works = answer.status().is_success();
        Ok((read(&self.base, answer).await?, works))
    }

    /// The answer to a GET while it comes.
    pub(crate) async fn stream(&self, path: &str) -> Result<Response, String> {
        self.send(self.request(Method::GET, path)).await
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}/api/v1{path}", self.base));
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, String> {
        let base = &self.base;
        let answer = request.send().await.map_err(|error| no_host(base, &error))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        let text = answer.text().await.unwrap_or_default();
        let error: Option<Value> = serde_json::from_str(&text).ok();
        let message = error.as_ref().and_then(|error| error.pointer("/error/message")?.as_str());
        let message = message.unwrap_or(&text);
        let help = match status.as_u16() {
            401 => format!("; give a token by --token-file or the variable {VARIABLE}"),
            _ => String::new(),
        };
        Err(format!("{base} answered {status}: {message}{help}"))
    }
}

fn no_host(base: &str, error: &reqwest::Error) -> String {
    // The innermost one is what the system said; those around it name layers of the client.
    let first = std::error::Error::source(error);
    let cause = std::iter::successors(first, |error| error.source()).last();
    let cause = cause.map(ToString::to_string).unwrap_or_default();
    format!(
        "no host answers at {base} ({cause}); is `probehost serve` running there? Give its address \
         with --url"
    )
}

async fn read<T: DeserializeOwned>(base: &str, answer: Response) -> Result<T, String> {
    let text = answer.text().await.map_err(|error| format!("{base}: {error}"))?;
    serde_json::from_str(&text)
        .map_err(|error| format!("{base} does not answer as this version's API does: {error}"))
}

fn token(file: Option<&PathBuf>) -> Result<Option<String>, String> {
    let token = match file {
        Some(path) => std::fs::read_to_string(path)
            .map(Some)
            .map_err(|error| format!("--token-file {}: {error}", path.display()))?,
        None => std::env::var(VARIABLE).ok(),
    };
    Ok(token.map(|token| token.trim().to_owned()).filter(|token| !token.is_empty()))
}

/// The system's certificates, and those of the file; none where no TLS is spoken.
fn tls(args: &ApiArgs) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    if args.url.starts_with("https:") {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    if let Some(path) = &args.api_ca_file {
        let bad = |error: String| format!("--api-ca-file {}: {error}", path.display());
        let certificates =
            CertificateDer::pem_file_iter(path).map_err(|error| bad(error.to_string()))?;
        for certificate in certificates {
            let certificate = certificate.map_err(|error| bad(error.to_string()))?;
            roots.add(certificate).map_err(|error| bad(error.to_string()))?;
        }
    }
    let provider = rustls::crypto::ring::default_provider().into();
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS could not start: {error}"))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
