//! Sends one request by `wasi:http`, as client libraries for WASI do, and reports the status as
//! `status` and the size of the body as `body`.

use std::io::{Read as _, Write as _};

use probehost_sdk::{ConfigError, Plan, Probe, Problem, Reason, Run, Unit, Url, log};
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{
    ErrorCode, Fields, IncomingBody, IncomingResponse, Method, OutgoingBody, OutgoingRequest,
    Scheme,
};

#[probehost_sdk::config]
struct Config {
    /// `http://127.0.0.1:80`, without a path.
    origin: Url,
    /// The path and what follows it.
    #[serde(default = "root")]
    path: String,
    /// Sent with POST.
    body: Option<String>,
    /// How many further answers to ask for before, and to hold unread; `hoarded` says how many came.
    #[serde(default)]
    hoard: u32,
}

fn root() -> String {
    "/".to_owned()
}

struct Fixture;

impl Probe for Fixture {
    type Config = Config;
    const DESCRIPTION: &'static str = "Sends one request by wasi:http.";

    fn plan(config: &Config) -> Result<Plan, ConfigError> {
        Ok(Plan::http(&config.origin))
    }

    fn check(config: &Config, run: &mut Run) -> Result<(), Problem> {
        let hoarded: Vec<_> = (0..config.hoard).map(|_| exchange(config)).collect();
        run.measure("hoarded", Unit::Number, hoarded.iter().flatten().count() as f64);
        drop(hoarded);
        let answer = exchange(config).map_err(|code| {
            log::info(&format!("{code:?}"));
            Problem::failure(Reason::Network, format!("no answer: {code:?}"))
        })?;
        run.measure("status", Unit::Number, answer.status().into());
        let body = answer.consume().map_err(|()| Problem::inconclusive("no body"))?;
        let mut bytes = Vec::new();
        {
            let mut stream = body.stream().map_err(|()| Problem::inconclusive("no stream"))?;
            stream
                .read_to_end(&mut bytes)
                .map_err(|error| Problem::failure(Reason::Network, format!("cut: {error}")))?;
        }
        IncomingBody::finish(body);
        run.measure("body", Unit::Bytes, bytes.len() as f64);
        Ok(())
    }
}

fn exchange(config: &Config) -> Result<IncomingResponse, ErrorCode> {
    let bad = |()| ErrorCode::ConfigurationError;
    let headers = Fields::new();
    headers.set("x-probe", &[b"yes".to_vec()]).map_err(|_| bad(()))?;
    let request = OutgoingRequest::new(headers);
    let (scheme, authority) =
        config.origin.as_str().split_once("://").ok_or(ErrorCode::ConfigurationError)?;
    let scheme = if scheme == "https" { Scheme::Https } else { Scheme::Http };
    request.set_scheme(Some(&scheme)).map_err(bad)?;
    request.set_authority(Some(authority.trim_end_matches('/'))).map_err(bad)?;
    request.set_path_with_query(Some(&config.path)).map_err(bad)?;
    if config.body.is_some() {
        request.set_method(&Method::Post).map_err(bad)?;
    }
    let outgoing = request.body().map_err(bad)?;
    let future = handle(request, None)?;
    if let Some(text) = &config.body {
        let mut stream = outgoing.write().map_err(bad)?;
        stream.write_all(text.as_bytes()).map_err(|_| bad(()))?;
    }
    OutgoingBody::finish(outgoing, None)?;
    future.subscribe().block();
    future.get().ok_or(bad(()))?.map_err(bad)?
}

probehost_sdk::plugin!(Fixture);
