//! `redis-ping` against a real Redis, and against what is none.

use probehost_model::{Outcome, Reason};
use probehost_test_support::installed::skip_unless_installed;
use probehost_test_support::redis::{INSTALL, Redis};
use probehost_test_support::upstream::{ClosedPort, Script, Step, Upstream};
use serde_json::{Value, json};

use crate::{AMPLE, SHORT, failure, measured, probe};

fn config(port: u16) -> Value {
    json!({"host": "db.example", "port": port})
}

/// A Redis that answers passes; one that wants a password says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_redis() {
    if skip_unless_installed("redis-server", INSTALL) {
        return;
    }
    let open = Redis::start().unwrap();
    let (report, trace) = probe("redis-ping", &config(open.port()), AMPLE, Vec::new()).await;
    assert_eq!(report.outcome, Outcome::Pass, "{trace:?}");
    for name in ["dns", "connect", "answer"] {
        assert!(measured(&report, name).is_some(), "{name}: {report:?}");
    }
    let calls: Vec<_> = trace.calls.iter().map(|call| (call.capability, &*call.what)).collect();
    let at = format!("db.example:{}", open.port());
    let whats = ["connect to", "write 6 bytes to", "read from"].map(|what| format!("{what} {at}"));
    assert_eq!(calls, whats.each_ref().map(|what| ("tcp", &**what)));

    let closed = Redis::with(&["--requirepass", "hunter2"]).unwrap();
    let (report, _) = probe("redis-ping", &config(closed.port()), AMPLE, Vec::new()).await;
    let says = format!("db.example:{} wants a password", closed.port());
    assert_eq!(failure(&report), (Reason::Auth, says.as_str()));
    let mut secured = config(closed.port());
    secured["password"] = true.into();
    let (report, _) = probe("redis-ping", &secured, AMPLE, Vec::new()).await;
    assert_eq!(report.outcome, Outcome::Pass);
}

/// P3, P5, P7: nobody there, nobody who speaks, and somebody else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_redis() {
    let closed = ClosedPort::reserve();
    let (report, _) = probe("redis-ping", &config(closed.address().port()), AMPLE, vec![]).await;
    assert_eq!(failure(&report).0, Reason::Network);

    let silent = Upstream::script(Script::hang());
    let (report, _) = probe("redis-ping", &config(silent.port()), SHORT, vec![]).await;
    let (reason, message) = failure(&report);
    assert_eq!(reason, Reason::Timeout, "{message}");
    let says = format!("timeout after 1 s waiting for bytes from db.example:{}", silent.port());
    assert_eq!(message, says);

    let other = Upstream::script([Step::Send(b"220 mail.example ESMTP\r\n".to_vec()), Step::Hang]);
    let (report, _) = probe("redis-ping", &config(other.port()), AMPLE, vec![]).await;
    let says = format!("db.example:{} does not speak the protocol of Redis", other.port());
    assert_eq!(failure(&report), (Reason::Answer, says.as_str()));
}
