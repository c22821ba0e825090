//! A small JSON client for the host's API.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

/// Longer than any call of a test may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Why a call gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The client could not be set up.
    #[error("could not set up an HTTP client: {0}")]
    Setup(#[source] reqwest::Error),
    /// No answer, or one that broke off.
    #[error("{method} {url}: {source}")]
    Call {
        /// The method.
        method: &'static str,
        /// The full URL.
        url: String,
        /// What went wrong.
        source: reqwest::Error,
    },
    /// The answer's body was not JSON.
    #[error("{url} answered {status} with what is no JSON ({source}): {text:?}")]
    Json {
        /// The full URL.
        url: String,
        /// The answer's status.
        status: u16,
        /// The whole body.
        text: String,
        /// Where it is broken.
        source: serde_json::Error,
    },
}

/// An answer with its body as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The URL that was called.
    pub url: String,
    /// The status code.
    pub status: u16,
    /// The content type, empty where there was none.
    pub content_type: String,
    /// The headers, by lower-case name; of several of one name the last.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub text: String,
}

impl Answer {
    /// The body as JSON.
    pub fn json(&self) -> Result<Value, ClientError> {
        serde_json::from_str(&self.text).map_err(|source| ClientError::Json {
            url: self.url.clone(),
            status: self.status,
            text: self.text.clone(),
            source,
        })
    }
}

fn with_json(request: reqwest::RequestBuilder, body: &Value) -> reqwest::RequestBuilder {
    request.header("content-type", "application/json").body(body.to_string())
}

/// Begins a client. In a build where another part brings TLS to the library, a client of plain HTTP
/// too has to know who does the cryptography.
pub(crate) fn builder() -> reqwest::ClientBuilder {
    // Fails when it is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
}

/// Calls one server, past any proxy and without following redirects.
#[derive(Debug, Clone)]
pub struct JsonClient {
    base_url: String,
    headers: Vec<(String, String)>,
    client: reqwest::Client,
}

impl JsonClient {
    /// For the server at this base URL, such as `http://127.0.0.1:9640`.
    pub fn new(base_url: &str) -> Result<Self, ClientError> {
        let client = builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(TIMEOUT)
            .build()
            .map_err(ClientError::Setup)?;
        let base_url = base_url.trim_end_matches('/').to_owned();
        Ok(Self { base_url, headers: Vec::new(), client })
    }

    /// With one more header in each request.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends a request without a body by any method.
    pub async fn send(&self, method: &'static str, path: &str) -> Result<Answer, ClientError> {
        let url = self.url(path);
        let known = reqwest::Method::from_bytes(method.as_bytes()).unwrap_or_default();
        self.call(method, self.client.request(known, &url), url).await
    }

    /// GETs a path, such as `/api/v1/targets`.
    pub async fn get(&self, path: &str) -> Result<Answer, ClientError> {
        let url = self.url(path);
        self.call("GET", self.client.get(&url), url).await
    }

    /// POSTs a JSON body to a path.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Answer, ClientError> {
        let url = self.url(path);
        self.call("POST", with_json(self.client.post(&url), body), url).await
    }

    /// PUTs a JSON body to a path.
    pub async fn put(&self, path: &str, body: &Value) -> Result<Answer, ClientError> {
        let url = self.url(path);
        self.call("PUT", with_json(self.client.put(&url), body), url).await
    }

    /// DELETEs a path.
    pub async fn delete(&self, path: &str) -> Result<Answer, ClientError> {
        let url = self.url(path);
        self.call("DELETE", self.client.delete(&url), url).await
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base_url)
    }

    async fn call(
        &self,
        method: &'static str,
        mut request: reqwest::RequestBuilder,
        url: String,
    ) -> Result<Answer, ClientError> {
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let failed = |source: reqwest::Error| ClientError::Call {
            method,
            url: url.clone(),
            source: source.without_url(),
        };
        let response = request.send().await.map_err(failed)?;
        let status = response.status().as_u16();
        let content_type =
            response.headers().get("content-type").and_then(|value| value.to_str().ok());
        let content_type = content_type.unwrap_or_default().to_owned();
        let pair =
            |(name, value): (&reqwest::header::HeaderName, &reqwest::header::HeaderValue)| {
                (name.to_string(), value.to_str().unwrap_or_default().to_owned())
            };
        let headers = response.headers().iter().map(pair).collect();
        let text = response.text().await.map_err(failed)?;
        Ok(Answer { url: url.clone(), status, content_type, headers, text })
    }
}
