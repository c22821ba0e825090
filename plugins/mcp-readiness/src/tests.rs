//! The plugin against scripted capabilities.

use probehost_sdk::http::{Error, ErrorKind, Header, Phase, Request, Response};
use probehost_sdk::native::process::Program;
use probehost_sdk::process::Exit;
use probehost_sdk::{Endpoint, Outcome, Reason, Report, native, process};
use serde_json::json;

use super::*;

const CONFIG: &str = r#"{"url": "http://mcp:3000/mcp"}"#;

fn answer(status: u16, kind: &str, body: &str, session: Option<&str>) -> Response {
    let header = |name: &str, value: &str| Header { name: name.into(), value: value.into() };
    let mut headers = vec![header("content-type", kind)];
    headers.extend(session.map(|session| header("mcp-session-id", session)));
    Response { headers, body: body.as_bytes().to_vec(), ..Response::new(status) }
}

fn with_json(body: &Value) -> Response {
    answer(200, "application/json", &body.to_string(), None)
}

fn result(id: u64, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

fn initialized(session: Option<&str>) -> Response {
    let body = result(1, json!({ "protocolVersion": "2025-06-18", "capabilities": {} }));
    answer(200, "application/json", &body.to_string(), session)
}

fn tools(id: u64, names: &[&str], next: Option<&str>) -> Value {
    let tools: Vec<_> = names.iter().map(|name| json!({ "name": name })).collect();
    let mut page = json!({ "tools": tools });
    if let Some(next) = next {
        page["nextCursor"] = next.into();
    }
    result(id, page)
}

/// Probes with these answers, in their order.
fn probe(config: &str, answers: impl IntoIterator<Item = Response>) -> Report {
    for answer in answers {
        native::http::answer_with(Ok(answer));
    }
    native::check::<McpReadiness>(config)
}

fn failure(report: &Report) -> (Reason, &str) {
    match &report.outcome {
        Outcome::Fail(failure) => (failure.reason, &failure.message),
        other => panic!("{other:?}"),
    }
}

fn asked() -> Vec<Request> {
    native::http::requests()
}

fn body(request: &Request) -> Value {
    serde_json::from_slice(request.body().unwrap_or_default()).unwrap_or_default()
}

/// M2, G2: the plan names the origin, or the command.
#[test]
fn the_plan_names_what_is_reached() {
    let plan = native::plan::<McpReadiness>(CONFIG).unwrap();
    assert_eq!(plan.subject, "mcp:3000");
    assert!(matches!(&plan.endpoints[..], [Endpoint::Http(origin)] if origin.host == "mcp"));
    let plan = native::plan::<McpReadiness>(r#"{"command": "files"}"#).unwrap();
    assert_eq!(plan.subject, "files");
    assert_eq!(plan.endpoints, [Endpoint::Process("files".to_owned())]);
    for (config, words) in [
        ("{}", "url: is missing; give it, or a `command`"),
        (r#"{"url": "http://a", "command": "b"}"#, "command: stands beside `url`"),
        (r#"{"command": ""}"#, "command: is empty"),
        (r#"{"command": "b", "headers": {"a": "b"}}"#, "headers: are of HTTP"),
        (r#"{"url": "http://a", "call": {"tool": ""}}"#, "call.tool: is empty"),
        (r#"{"url": "http://a", "tool": []}"#, "tool: is not a key here; did you mean `tools`?"),
    ] {
        let error = native::plan::<McpReadiness>(config).unwrap_err().to_string();
        assert!(error.starts_with(words), "{config}: {error}");
    }
}

/// M1, M2: what is said, in which order, with which headers; and the session is ended.
#[test]
fn a_whole_conversation() {
    let report = probe(
        CONFIG,
        [
            initialized(Some("s-1")),
            answer(202, "", "", None),
            with_json(&tools(2, &["a"], Some("p2"))),
            with_json(&tools(3, &["b"], None)),
            Response::new(200),
        ],
    );
    assert_eq!(report.outcome, Outcome::Pass);
    let asked = asked();
    let methods: Vec<_> = asked.iter().map(Request::method).collect();
    assert_eq!(methods, ["POST", "POST", "POST", "POST", "DELETE"]);
    let said: Vec<_> = asked.iter().map(body).collect();
    assert_eq!(said[0]["method"], "initialize");
    assert_eq!(said[0]["params"]["protocolVersion"], "2025-11-25");
    assert_eq!(said[1], json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    assert_eq!((&said[2]["method"], &said[2]["params"]), (&json!("tools/list"), &json!({})));
    assert_eq!(said[3]["params"]["cursor"], "p2");
    assert_eq!(asked[0].header_value("accept"), Some("application/json, text/event-stream"));
    assert_eq!(asked[0].header_value("mcp-session-id"), None);
    assert_eq!(asked[0].header_value("mcp-protocol-version"), None);
    for request in &asked[1..] {
        assert_eq!(request.header_value("mcp-session-id"), Some("s-1"));
        assert_eq!(request.header_value("mcp-protocol-version"), Some("2025-06-18"));
    }
    let measured: Vec<_> = report.measurements.iter().map(|m| m.name.as_str()).collect();
    let expected = ["initialize", "transport", "list_tools", "application", "tools", "total"];
    assert_eq!(measured, expected);
    assert_eq!(report.measurements[4].value, 2.0);
}

/// M2: answers framed as events, after a priming event and a notification.
#[test]
fn answers_can_be_events() {
    let first = "id: 0\ndata: \n\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\
                 {\"protocolVersion\":\"2025-11-25\"}}\n\n";
    let list = format!(
        ": ping\n\ndata: {}\n\ndata: {}\n\n",
        json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": {} }),
        tools(2, &["a"], None),
    );
    let kind = "text/event-stream; charset=utf-8";
    let answers =
        [answer(200, kind, first, None), answer(202, "", "", None), answer(200, kind, &list, None)];
    assert_eq!(probe(CONFIG, answers).outcome, Outcome::Pass);
    // No session was opened, so there is none to end.
    assert_eq!(asked().len(), 3);
}

const EVENTS: &str = "text/event-stream";

/// What a server sends besides answers: a priming event, a notification, a request of its own.
const NOISE: [&str; 3] = [
    "id: 0\nretry: 100\ndata: \n\n",
    "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n",
    "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\n: still here\n\n",
];

fn event(message: &Value) -> String {
    format!("event: message\ndata: {message}\n\n")
}

/// Scripts a stream of these events that stays open: who reads on gets a timeout.
fn stays_open(events: impl IntoIterator<Item = String>) {
    let events: Vec<_> = events.into_iter().collect();
    let timeout = Error::new(ErrorKind::Timeout, Phase::Body, "timeout …");
    native::http::stream_with(answer(200, EVENTS, "", None), events, Some(timeout));
}

fn noise() -> impl Iterator<Item = String> {
    NOISE.into_iter().map(str::to_owned)
}

/// M2: a stream that stays open is read until the answer is there, and then closed.
#[test]
fn streams_can_stay_open() {
    let initialize = result(1, json!({ "protocolVersion": "2025-11-25" }));
    stays_open(noise().chain([event(&initialize)]));
    native::http::answer_with(Ok(answer(202, "", "", None)));
    // In pieces of no particular size.
    let list = noise().chain([event(&tools(2, &["a"], None))]).collect::<String>();
    stays_open(list.as_bytes().chunks(7).map(|piece| String::from_utf8(piece.to_vec()).unwrap()));
    let report = native::check::<McpReadiness>(r#"{"url": "http://mcp:3000/mcp", "tools": ["a"]}"#);
    assert_eq!(report.outcome, Outcome::Pass);
    assert_eq!((asked().len(), native::http::open_bodies()), (3, 0));
}

/// M2, P3: a stream without the answer is a timeout at the deadline, or too much at the limit.
#[test]
fn a_stream_without_the_answer() {
    stays_open(noise());
    let report = native::check::<McpReadiness>(CONFIG);
    assert_eq!(failure(&report), (Reason::Timeout, "timeout …"));

    let endless = NOISE.into_iter().cycle();
    native::http::stream_with(answer(200, EVENTS, "", None), endless, None);
    let report = native::check::<McpReadiness>(CONFIG);
    assert_eq!(failure(&report).0, Reason::Answer);

    // One that is closed without it; one whose answer no empty line follows.
    native::http::stream_with(answer(200, EVENTS, "", None), NOISE, None);
    let report = native::check::<McpReadiness>(CONFIG);
    assert_eq!(failure(&report).1, "mcp:3000 sent no answer to initialize");
    let refused = json!({ "id": 1, "error": { "code": -32603, "message": "no" } });
    let last = format!("data: {refused}");
    native::http::stream_with(answer(200, EVENTS, "", None), [last], None);
    let report = native::check::<McpReadiness>(CONFIG);
    assert!(failure(&report).1.contains("the JSON-RPC error -32603: no"), "{report:?}");

    // A bad status says more than that its stream has no end.
    let timeout = Error::new(ErrorKind::Timeout, Phase::Body, "timeout …");
    native::http::stream_with(answer(503, EVENTS, "", None), NOISE, Some(timeout));
    let report = native::check::<McpReadiness>(CONFIG);
    assert!(failure(&report).1.contains("503 Service Unavailable"), "{report:?}");
    assert_eq!(native::http::open_bodies(), 0);
}

/// M5: what a server refuses, and how that is told. The session is ended all the same.
#[test]
fn refusals_have_their_reasons() {
    let rpc =
        json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32700, "message": "bad" } });
    let rows = [
        (answer(401, "application/json", "{}", None), Reason::Auth, "401 Unauthorized to init"),
        (
            answer(401, "application/json", &rpc.to_string(), None),
            Reason::Auth,
            "mcp:3000 answered 401 Unauthorized to initialize",
        ),
        (Response::new(403), Reason::Auth, "403 Forbidden"),
        (
            answer(404, "text/html", "<html>", None),
            Reason::Answer,
            "404 Not Found to initialize; is",
        ),
        (Response::new(406), Reason::Answer, "406"),
        (Response::new(421), Reason::Answer, "421"),
        (Response::new(503), Reason::Answer, "503 Service Unavailable"),
        (
            answer(400, "application/json", &rpc.to_string(), None),
            Reason::Answer,
            "mcp:3000 answered initialize with the JSON-RPC error -32700: bad",
        ),
        (answer(200, "text/html", "<html>", None), Reason::Answer, "with what is not JSON"),
        (answer(200, "text/event-stream", "data: \n\n", None), Reason::Answer, "sent no answer"),
        (
            with_json(&result(1, json!({ "protocolVersion": "1999-01-01" }))),
            Reason::Answer,
            "the revision \"1999-01-01\"",
        ),
        (with_json(&result(1, json!({}))), Reason::Answer, "the revision \"\""),
    ];
    for (response, reason, words) in rows {
        let report = probe(CONFIG, [response]);
        let (found, message) = failure(&report);
        assert_eq!(found, reason, "{message}");
        assert!(message.contains(words) && message.contains("mcp:3000"), "{message}");
        assert_eq!(asked().len(), 1);
    }
    let report = probe(
        CONFIG,
        [initialized(Some("s")), answer(202, "", "", None), Response::new(404), Response::new(405)],
    );
    assert_eq!(
        failure(&report).1,
        "mcp:3000 answered 404 Not Found to tools/list; it has forgotten the session"
    );
    assert_eq!(asked().last().map(|last| last.method().to_owned()).as_deref(), Some("DELETE"));
    assert_eq!(native::log::lines(), []);
}

/// P7: what the transport says is the failure.
#[test]
fn errors_of_transport_classify() {
    native::http::answer_with(Err(Error::new(ErrorKind::Timeout, Phase::FirstByte, "timeout …")));
    let report = native::check::<McpReadiness>(CONFIG);
    assert_eq!(failure(&report), (Reason::Timeout, "timeout …"));
}

/// M1: pages that do not end are cut, and so is a cursor that repeats.
#[test]
fn endless_pages_are_cut() {
    let begin = || [initialized(None), answer(202, "", "", None)];
    let same = (2..4).map(|id| with_json(&tools(id, &["a"], Some("again"))));
    let report = probe(CONFIG, begin().into_iter().chain(same));
    assert_eq!(failure(&report).1, "mcp:3000 answered twice with the same cursor to tools/list");
    let other = (2..200).map(|id| with_json(&tools(id, &["a"], Some(&format!("p{id}")))));
    let _earlier = asked();
    let report = probe(CONFIG, begin().into_iter().chain(other));
    assert_eq!(failure(&report).1, "mcp:3000 answered with more than 100 pages to tools/list");
    assert_eq!(asked().len(), 102);
}

/// M4: expected tools that are missing are named.
#[test]
fn missing_tools_are_named() {
    let config = r#"{"url": "http://mcp:3000/mcp", "tools": ["a", "b", "c"]}"#;
    let answers =
        || [initialized(None), answer(202, "", "", None), with_json(&tools(2, &["b"], None))];
    let report = probe(config, answers());
    let expected = "mcp:3000 lacks expected tools: a, c (it has 1 tools)";
    assert_eq!(failure(&report), (Reason::Answer, expected));
    let config = r#"{"url": "http://mcp:3000/mcp", "tools": ["b"]}"#;
    assert_eq!(probe(config, answers()).outcome, Outcome::Pass);
}

/// M3: one tool is called and measured; its error, of either kind, is `answer`.
#[test]
fn a_tool_is_called() {
    let config =
        r#"{"url": "http://mcp:3000/mcp", "call": {"tool": "add", "arguments": {"a": 1}}}"#;
    let with = |last: Value| {
        let begin = [initialized(None), answer(202, "", "", None)];
        begin.into_iter().chain([with_json(&tools(2, &["add"], None)), with_json(&last)])
    };
    let report = probe(config, with(result(3, json!({ "content": [] }))));
    assert_eq!(report.outcome, Outcome::Pass);
    assert!(report.measurements.iter().any(|m| m.name == "call"));
    let said = body(asked().last().unwrap());
    assert_eq!(said["params"], json!({ "name": "add", "arguments": { "a": 1 } }));

    let report = probe(config, with(result(3, json!({ "isError": true, "content": [] }))));
    let words = "mcp:3000 answered with an error of the tool to tools/call of add";
    assert_eq!(failure(&report), (Reason::Answer, words));
    let error = json!({ "id": 3, "error": { "code": -32602, "message": "no such tool" } });
    let report = probe(config, with(error));
    let words = "mcp:3000 answered tools/call of add with the JSON-RPC error -32602: no such tool";
    assert_eq!(failure(&report), (Reason::Answer, words));
}

/// M6: credentials are named, and never seen here.
#[test]
fn credentials_are_named() {
    let config = r#"{"url": "http://mcp:3000/mcp",
        "headers": {"Authorization": {"secret": "mcp-token", "prefix": "Bearer "}}}"#;
    let answers = [
        initialized(Some("s")),
        answer(202, "", "", None),
        with_json(&tools(2, &[], None)),
        Response::new(204),
    ];
    assert_eq!(probe(config, answers).outcome, Outcome::Pass);
    let asked = asked();
    assert_eq!(asked.len(), 4);
    for request in &asked {
        assert_eq!(request.header_secret("authorization"), Some("mcp-token"));
    }
}

/// M2: a server that only speaks the stateless revision is spoken to in that one.
#[test]
fn the_stateless_revision() {
    let refused = json!({ "jsonrpc": "2.0", "id": 1, "error": {
        "code": -32022, "message": "unsupported", "data": { "supported": ["2026-07-28"] },
    }});
    let config = r#"{"url": "http://mcp:3000/mcp", "call": {"tool": "add"}}"#;
    let answers = [
        answer(400, "application/json", &refused.to_string(), None),
        with_json(&result(2, json!({ "supportedVersions": ["2026-07-28"] }))),
        with_json(&tools(3, &["add"], None)),
        with_json(&result(4, json!({}))),
    ];
    assert_eq!(probe(config, answers).outcome, Outcome::Pass);
    let asked = asked();
    let methods = ["server/discover", "tools/list", "tools/call"];
    for (request, method) in asked[1..].iter().zip(methods) {
        assert_eq!(body(request)["method"], method);
        assert_eq!(request.header_value("mcp-method"), Some(method));
        assert_eq!(request.header_value("mcp-protocol-version"), Some("2026-07-28"));
        let meta = &body(request)["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    }
    assert_eq!(asked[3].header_value("mcp-name"), Some("add"));
    // One that speaks neither is unwell.
    let refused = json!({ "id": 1, "error": { "code": -32022, "message": "no", "data": {} } });
    let report = probe(CONFIG, [with_json(&refused)]);
    assert_eq!(failure(&report).0, Reason::Answer);
}

/// A server on standard input and output that answers as it should, after this for every request.
fn server(noise: &'static str) -> Program {
    Program::new(move |line| {
        let asked: Value = serde_json::from_str(line).unwrap();
        let Some(id) = asked.get("id").and_then(Value::as_u64) else { return Vec::new() };
        let answer = match asked["method"].as_str().unwrap() {
            "initialize" => result(id, json!({ "protocolVersion": "2024-11-05" })),
            _ => tools(id, &["a"], None),
        };
        [noise.to_owned(), answer.to_string()].into_iter().filter(|line| line != "-").collect()
    })
}

/// M1, M2: a program; what it writes before its answer does not matter.
#[test]
fn a_program_is_spoken_to() {
    let config = r#"{"command": "files", "tools": ["a"]}"#;
    for noise in ["-", "", r#"{"method": "notifications/message"}"#, r#"{"id": 99, "result": {}}"#]
    {
        native::process::answer_with(Ok(server(noise)));
        let report = native::check::<McpReadiness>(config);
        assert_eq!(report.outcome, Outcome::Pass, "{noise}");
        assert_eq!(native::process::started(), ["files"]);
        let said = native::process::input();
        let methods: Vec<_> = said
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["method"].clone())
            .collect();
        assert_eq!(methods, ["initialize", "notifications/initialized", "tools/list"]);
    }
}

/// M1, P6: a program that ends, that chatters, that says nothing.
#[test]
fn a_program_that_does_not_answer() {
    let config = r#"{"command": "files"}"#;
    let crashed = Program::new(|_| Vec::new()).ending(Exit { code: Some(1), signal: None });
    let timeout = process::Error::new(process::ErrorKind::Timeout, "timeout after 10 s …");
    let missing = process::Error::new(process::ErrorKind::Unknown, "there is no command files");
    let rows = [
        (
            Ok(crashed),
            Reason::Stopped,
            "the command files ended with exit code 1 before it answered",
        ),
        (
            Ok(Program::new(|_| vec!["Server is ready!".to_owned()])),
            Reason::Answer,
            "the command files wrote a line that is not JSON where it should have answered to initialize",
        ),
        (
            Ok(Program::new(|_| Vec::new()).then_failing(timeout)),
            Reason::Timeout,
            "timeout after 10 s …",
        ),
        (Err(missing), Reason::Config, "there is no command files"),
    ];
    for (program, reason, message) in rows {
        native::process::answer_with(program);
        let report = native::check::<McpReadiness>(config);
        assert_eq!(failure(&report), (reason, message));
    }
}
