//! What is said to a server: initialize, list the tools, maybe call one, farewell.

use std::time::Instant;

use probehost_sdk::{Problem, Reason, Run, Unit};
use serde_json::{Map, Value, json};

use crate::rpc::{Message, UNSUPPORTED_VERSION};
use crate::transport::{Transport, Trouble, odd};
use crate::{Call, Config};

/// The revisions that begin with `initialize`, the newest first. It is the one that is offered.
const REVISIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The revision without `initialize`: every request says which revision it speaks.
pub(crate) const STATELESS: &str = "2026-07-28";

/// Most pages of tools that are read.
const MAX_PAGES: usize = 100;

/// Most names of missing tools in a message.
const MAX_NAMED: usize = 5;

/// A conversation with a server.
#[derive(Debug)]
pub(crate) struct Session<'t, T> {
    transport: &'t mut T,
    next: u64,
    stateless: bool,
}

impl<'t, T: Transport> Session<'t, T> {
    pub(crate) fn new(transport: &'t mut T) -> Self {
        Self { transport, next: 1, stateless: false }
    }

    /// All of it (contract M1). The farewell is said whatever came before it.
    pub(crate) fn run(mut self, config: &Config, run: &mut Run) -> Result<(), Problem> {
        let verdict = self.talk(config, run);
        self.transport.end();
        verdict
    }

    fn talk(&mut self, config: &Config, run: &mut Run) -> Result<(), Problem> {
        timed(run, &["initialize", "transport"], |_| self.begin())?;
        // Without a call, this is what the server's own work is seen by.
        let names: &[&str] = match &config.call {
            Some(_) => &["list_tools"],
            None => &["list_tools", "application"],
        };
        let tools = timed(run, names, |_| self.tools())?;
        #[expect(clippy::cast_precision_loss, reason = "far from so many tools")]
        run.measure("tools", Unit::Number, tools.len() as f64);
        self.all_there(&config.tools, &tools)?;
        match &config.call {
            Some(call) => timed(run, &["call", "application"], |_| self.call(call)),
            None => Ok(()),
        }
    }

    /// `initialize` and `notifications/initialized`, or what stands in their place.
    fn begin(&mut self) -> Result<(), Problem> {
        let Value::Object(params) = json!({
            "protocolVersion": REVISIONS[0], "capabilities": {}, "clientInfo": client(),
        }) else {
            return Ok(());
        };
        let result = match self.ask("initialize", params) {
            Err(Trouble::Rpc(error))
                if error.code == UNSUPPORTED_VERSION && error.supported().contains(&STATELESS) =>
            {
                return self.discover();
            }
            answer => self.plain("initialize", answer)?,
        };
        let spoken = result.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
        if !REVISIONS.contains(&spoken) {
            let spoken: String = spoken.chars().take(32).collect();
            let what = format!(
                "answered with the revision {spoken:?} of the protocol, which is not known here,"
            );
            return Err(odd(self.transport.who(), "initialize", &what));
        }
        self.transport.speaks(spoken);
        self.transport.tell("notifications/initialized")
    }

    /// The way in of the stateless revision.
    fn discover(&mut self) -> Result<(), Problem> {
        self.stateless = true;
        self.transport.speaks(STATELESS);
        let answer = self.ask("server/discover", Map::new());
        self.plain("server/discover", answer).map(drop)
    }

    /// The names of all tools, page by page.
    fn tools(&mut self) -> Result<Vec<String>, Problem> {
        const METHOD: &str = "tools/list";
        let mut names = Vec::new();
        let mut cursor: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let mut params = Map::new();
            if let Some(cursor) = &cursor {
                params.insert("cursor".to_owned(), cursor.clone().into());
            }
            let answer = self.ask(METHOD, params);
            let page = self.plain(METHOD, answer)?;
            let Some(tools) = page.get("tools").and_then(Value::as_array) else {
                return Err(odd(self.transport.who(), METHOD, "answered without a list of tools"));
            };
            let named = tools.iter().filter_map(|tool| tool.get("name")?.as_str());
            names.extend(named.map(str::to_owned));
            let next = page.get("nextCursor").and_then(Value::as_str);
            match next {
                None => return Ok(names),
                Some(next) if cursor.as_deref() == Some(next) => {
                    let what = "answered twice with the same cursor";
                    return Err(odd(self.transport.who(), METHOD, what));
                }
                Some(next) => cursor = Some(next.to_owned()),
            }
        }
        let what = format!("answered with more than {MAX_PAGES} pages");
        Err(odd(self.transport.who(), METHOD, &what))
    }

    /// Whether the expected tools are among those that there are (contract M4).
    fn all_there(&self, expected: &[String], tools: &[String]) -> Result<(), Problem> {
        let missing: Vec<&str> =
            expected.iter().filter(|name| !tools.contains(name)).map(String::as_str).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let mut shown = missing.iter().take(MAX_NAMED).copied().collect::<Vec<_>>().join(", ");
        if missing.len() > MAX_NAMED {
            shown.push_str(&format!(" and {} more", missing.len() - MAX_NAMED));
        }
        let (who, count) = (self.transport.who(), tools.len());
        let text = format!("{who} lacks expected tools: {shown} (it has {count} tools)");
        Err(Problem::failure(Reason::Answer, text))
    }

    /// Calls one tool (contract M3).
    fn call(&mut self, call: &Call) -> Result<(), Problem> {
        let mut params = Map::new();
        params.insert("name".to_owned(), call.tool.clone().into());
        params.insert("arguments".to_owned(), call.arguments.clone().into());
        let answer = self.ask("tools/call", params);
        let method = format!("tools/call of {}", call.tool);
        let result = self.plain(&method, answer)?;
        if result.get("isError").and_then(Value::as_bool) == Some(true) {
            return Err(odd(self.transport.who(), &method, "answered with an error of the tool"));
        }
        Ok(())
    }

    fn ask(&mut self, method: &str, mut params: Map<String, Value>) -> Result<Value, Trouble> {
        let id = self.next;
        self.next += 1;
        if self.stateless {
            params.insert(
                "_meta".to_owned(),
                json!({
                    "io.modelcontextprotocol/protocolVersion": STATELESS,
                    "io.modelcontextprotocol/clientInfo": client(),
                    "io.modelcontextprotocol/clientCapabilities": {},
                }),
            );
        }
        match self.transport.ask(id, method, params)? {
            Message::Result(result) => Ok(result),
            Message::Error(error) => Err(Trouble::Rpc(error)),
            Message::Other => Err(odd(self.transport.who(), method, "sent no answer").into()),
        }
    }

    /// Where an error of the server is nothing but an error.
    fn plain(&self, method: &str, answer: Result<Value, Trouble>) -> Result<Value, Problem> {
        answer.map_err(|trouble| match trouble {
            Trouble::Problem(problem) => problem,
            Trouble::Rpc(error) => error.problem(self.transport.who(), method),
        })
    }
}

fn client() -> Value {
    json!({ "name": "probehost", "version": env!("CARGO_PKG_VERSION") })
}

/// Measures how long something takes, also when it fails. `transport` and `application` are the
/// names by which the host tells the layers of a target apart.
fn timed<R>(
    run: &mut Run,
    names: &[&str],
    work: impl FnOnce(&mut Run) -> Result<R, Problem>,
) -> Result<R, Problem> {
    let started = Instant::now();
    let done = work(run);
    let seconds = started.elapsed().as_secs_f64();
    for name in names {
        run.measure(*name, Unit::Seconds, seconds);
    }
    done
}
