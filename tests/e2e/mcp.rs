//! The probe kind `mcp-readiness` through the real binary: servers that play a part, and real ones.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use probehost_test_support::http::JsonClient;
use probehost_test_support::mcp;
use probehost_test_support::wait::eventually;
use serde_json::{Value, json};

use crate::host::{Config, LIMIT, Ran, run, soak};

/// A server that answers each message by a rule; it notes the methods of HTTP that it saw.
struct Played {
    url: String,
    seen: Arc<Mutex<Vec<String>>>,
}

/// What a rule makes of a message: all that is sent, and whether the connection stays open then.
type Rule = fn(&str, &Value) -> (String, bool);

impl Played {
    fn start(rule: Rule) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&seen);
        thread::spawn(move || {
            let mut held = Vec::new();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let (head, body) = read(&mut stream);
                noted.lock().unwrap().push(head.clone());
                let (answer, stays) = rule(&head, &body);
                let _sent = stream.write_all(answer.as_bytes());
                if stays {
                    held.push(stream);
                }
            }
        });
        Self { url, seen }
    }

    fn probe(&self, more: &[&str]) -> Ran {
        let url = format!("url={}", self.url);
        run(&[&["probe", "mcp-readiness", &url], more].concat())
    }
}

/// The head and the body of a request.
fn read(stream: &mut TcpStream) -> (String, Value) {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) > 0 {
        bytes.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).unwrap();
    (head, serde_json::from_slice(&body).unwrap_or_default())
}

fn answer(status: &str, headers: &str, body: &str) -> (String, bool) {
    let length = body.len();
    let text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         {headers}\r\n{body}"
    );
    (text, false)
}

fn result(message: &Value, result: &Value) -> (String, bool) {
    let body = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
    answer("200 OK", "Mcp-Session-Id: s-1\r\n", &body.to_string())
}

/// A server that does all as it should.
fn good(_: &str, message: &Value) -> (String, bool) {
    match message["method"].as_str() {
        Some("initialize") => result(message, &json!({ "protocolVersion": "2025-11-25" })),
        Some("tools/list") => result(message, &json!({ "tools": [{ "name": "echo" }] })),
        _ => answer("202 Accepted", "", ""),
    }
}

/// Its pages have no end.
fn endless(head: &str, message: &Value) -> (String, bool) {
    if message["method"] == "tools/list" {
        let cursor = format!("after-{}", message["id"]);
        return result(message, &json!({ "tools": [], "nextCursor": cursor }));
    }
    good(head, message)
}

/// It answers with a stream of events that has no end, and no answer in it.
fn never_ends(_: &str, _: &Value) -> (String, bool) {
    let text = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: waiting\n\n";
    (text.to_owned(), true)
}

/// It answers with streams of events, and keeps them open after its answers.
fn stays_open(_: &str, message: &Value) -> (String, bool) {
    let result = match message["method"].as_str() {
        Some("initialize") => json!({ "protocolVersion": "2025-11-25" }),
        Some("tools/list") => json!({ "tools": [{ "name": "echo" }] }),
        _ => return answer("202 Accepted", "", ""),
    };
    let body = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
    let text = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nid: 0\ndata: \n\n\
         data: {{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}}\n\ndata: {body}\n\n"
    );
    (text, true)
}

/// It wants a credential.
fn guarded(head: &str, message: &Value) -> (String, bool) {
    if head.contains("authorization: bearer hunter2\r\n") {
        return good(head, message);
    }
    answer("401 Unauthorized", "WWW-Authenticate: Bearer\r\n", "{}")
}

fn expect(ran: &Ran, code: i32, words: &str) {
    assert_eq!(ran.code, code, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains(words), "{}", ran.stdout);
}

/// M1, M2, M4: ready, or not, each with its reason; a session that was opened is ended.
#[test]
fn each_outcome_has_its_reason() {
    let server = Played::start(good);
    expect(&server.probe(&[]), 0, "PASS\n");
    let seen = server.seen.lock().unwrap().clone();
    assert_eq!(seen.len(), 4);
    assert!(seen[3].starts_with("delete /mcp ") && seen[3].contains("mcp-session-id: s-1\r\n"));
    expect(&server.probe(&["tools=[\"echo\"]"]), 0, "PASS\n");
    expect(&server.probe(&["tools=[\"sum\"]"]), 2, "lacks expected tools: sum (it has 1 tools)");

    expect(&Played::start(endless).probe(&[]), 2, "FAIL answer: 127.0.0.1:");
    expect(&Played::start(stays_open).probe(&["tools=[\"echo\"]"]), 0, "PASS\n");
    let stream = Played::start(never_ends).probe(&["--timeout=0.5"]);
    expect(&stream, 2, "reading the answer of 127.0.0.1:");
    let wrong = Played::start(|_, _| answer("404 Not Found", "", "not here"));
    expect(&wrong.probe(&[]), 2, "answered 404 Not Found to initialize; is the path right?");
}

/// M5, M6: refused without a credential; with one it is the host that shows it.
#[test]
fn a_secret_is_put_on_the_wire_by_the_host() {
    let server = Played::start(guarded);
    expect(&server.probe(&[]), 2, "FAIL auth: 127.0.0.1:");
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("token"), "hunter2\n").unwrap();
    let secrets = format!("--secrets={}", dir.path().display());
    let header =
        ["headers.Authorization.secret=token", "headers.Authorization.prefix=Bearer ", &secrets];
    let ran = server.probe(&header);
    expect(&ran, 0, "PASS\n");
    assert!(!ran.stdout.contains("hunter2"));
}

/// Whether a process runs with these words.
fn any_runs(words: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().any(|entry| {
        let file = entry.unwrap().path().join("cmdline");
        std::fs::read_to_string(file).is_ok_and(|line| line.trim_end_matches('\0') == words)
    })
}

/// M2: a program that ends at once, one that is not there, one that says nothing.
#[test]
fn programs_that_are_no_servers() {
    for (program, code, words) in [
        (r#"["false"]"#, 2, "FAIL stopped: the command tool ended with exit code 1"),
        (r#"["/no/such/program"]"#, 2, "FAIL config: the command tool can't be started"),
        (r#"["sh", "-c", "sleep 98765 & wait"]"#, 2, "waiting for output of the command tool"),
        (r#"["yes"]"#, 2, "FAIL answer: the command tool wrote a line that is not JSON"),
    ] {
        let command = format!("--command=tool={program}");
        let args = ["probe", "mcp-readiness", "command=tool", "--timeout=0.5", &command];
        expect(&run(&args), code, words);
    }
    assert!(!any_runs("sleep\u{0}98765"), "a child of a program outlived its probe");
    let unknown = run(&["probe", "mcp-readiness", "command=tool"]);
    expect(&unknown, 2, "FAIL config: there is no command tool under [commands]");
}

/// M1 to M4: npm's server-everything, over both transports. It is left without a session.
#[test]
fn server_everything() {
    if mcp::skip() {
        return;
    }
    let words = serde_json::to_string(&mcp::everything_words("stdio")).unwrap();
    let command = format!("--command=everything={words}");
    let call = "call={\"tool\": \"echo\", \"arguments\": {\"message\": \"hello\"}}";
    let stdio = ["probe", "mcp-readiness", "command=everything", "--timeout=60", &command, call];
    expect(&run(&stdio), 0, "PASS\n");

    let mut server = mcp::Everything::start().unwrap();
    let url = format!("url={}", server.url());
    for _ in 0..3 {
        let http = ["probe", "mcp-readiness", &url, "--timeout=60", call, "tools=[\"echo\"]"];
        expect(&run(&http), 0, "PASS\n");
    }
    assert_eq!(server.sessions(3), (3, 3));
    let missing = ["probe", "mcp-readiness", &url, "--timeout=60", "tools=[\"no-such-tool\"]"];
    expect(&run(&missing), 2, "FAIL answer: 127.0.0.1:");
}

/// M1, M2: PyPI's mcp, both of its lines, over standard input and output.
#[test]
fn python_servers() {
    if mcp::skip() {
        return;
    }
    for line in mcp::PYTHON {
        let words = serde_json::to_string(&mcp::python_words(line)).unwrap();
        let command = format!("--command=python={words}");
        let call = "call={\"tool\": \"add\", \"arguments\": {\"a\": 1, \"b\": 2}}";
        let args = ["probe", "mcp-readiness", "command=python", "--timeout=60", &command, call];
        expect(&run(&args), 0, "PASS\n");
    }
}

/// M1 to M3: the Rust SDK's server, over HTTP and over standard input and output.
#[test]
fn the_rust_sdk() {
    if mcp::skip_rust_sdk() {
        return;
    }
    let server = mcp::RustSdk::start().unwrap();
    let url = format!("url={}", server.url());
    let words = serde_json::to_string(&mcp::rust_sdk_words()).unwrap();
    let command = format!("--command=rust={words}");
    let call = "call={\"tool\": \"echo\", \"arguments\": {\"message\": \"hello\"}}";
    for how in [[url.as_str(), "--timeout=60"], ["command=rust", command.as_str()]] {
        let more = [call, "tools=[\"echo\"]"];
        expect(&run(&[&["probe", "mcp-readiness"], &how[..], &more[..]].concat()), 0, "PASS\n");
    }
}

/// M2: probes leave no session on the server and no process here, however many there are.
#[tokio::test(flavor = "multi_thread")]
async fn probes_leave_nothing() {
    if mcp::skip_rust_sdk() {
        return;
    }
    const SIDE_BY_SIDE: usize = 8;
    let count = if soak() { 10_000 } else { 160 };
    let server = mcp::RustSdk::start().unwrap();
    let words = serde_json::to_string(&mcp::rust_sdk_words()).unwrap();
    let mut config = Config::new().section(&format!("[commands.rust]\nargv = {words}"));
    let settings = "interval = 0\ntimeout = 60";
    for number in 0..SIDE_BY_SIDE {
        let config_text = if number % 4 == 0 {
            "command = \"rust\"".to_owned()
        } else {
            format!("url = \"{}\"", server.url())
        };
        config = config.target(&format!("t{number}"), "mcp-readiness", settings, &config_text);
    }
    let mut host = config.start();
    let host_id = host.host.process().id();
    let one = |number: usize| {
        let host = &host;
        async move {
            for _ in 0..count / SIDE_BY_SIDE {
                let result = host.probe(&format!("t{number}")).await;
                assert_eq!(result["outcome"], "pass", "{result}");
            }
        }
    };
    let ((), (), (), (), (), (), (), ()) =
        tokio::join!(one(0), one(1), one(2), one(3), one(4), one(5), one(6), one(7));
    let sessions = JsonClient::new(&server.sessions_url()).unwrap();
    let open = || async { sessions.get("").await.unwrap().text };
    eventually("no session is open", LIMIT, open, |open| open == "0").await;
    let children = || async { children_of(host_id) };
    eventually("no child is left", LIMIT, children, Vec::is_empty).await;
}

/// The processes whose parent is `id`.
fn children_of(id: u32) -> Vec<String> {
    let parent = |stat: &str| -> Option<u32> {
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
    };
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok())
        .filter(|stat| parent(stat) == Some(id))
        .collect()
}
