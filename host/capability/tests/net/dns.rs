//! DNS questions to a name server made by hand.

use std::net::SocketAddr;

use probehost_capability::dns::{Answer, Code, Error, ErrorKind, Phase, Query, RecordType};
use probehost_capability::resolve::Resolver;
use probehost_capability::{CallResult, Run};
use probehost_test_support::dns::{Data, DnsServer, Zone};
use probehost_test_support::udp::UdpServer;

use crate::{AMPLE, SHORT, capabilities, free, run, with_resolver};

fn query(server: SocketAddr, name: &str, kind: RecordType) -> Query {
    Query { name: name.to_owned(), kind, server: Some((server.ip().to_string(), server.port())) }
}

async fn ask(server: &DnsServer, name: &str, kind: RecordType) -> Answer {
    let question = query(server.address(), name, kind);
    capabilities(&[]).dns().query(&free(AMPLE), question).await.unwrap()
}

async fn failing(run: &Run, question: Query) -> Error {
    capabilities(&[]).dns().query(run, question).await.unwrap_err()
}

fn zone() -> Zone {
    let name = "all.example";
    Zone::default()
        .with(name, 60, Data::A("192.0.2.1".parse().unwrap()))
        .with(name, 61, Data::A("192.0.2.2".parse().unwrap()))
        .with(name, 60, Data::Aaaa("2001:db8::1".parse().unwrap()))
        .with(name, 60, Data::Caa(0, "issue", "ca.example"))
        .with(name, 60, Data::Mx(10, "mail.example"))
        .with(name, 60, Data::Ns("ns1.example"))
        .with(name, 60, Data::Soa("ns1.example", "root.example", [1, 2, 3, 4, 5]))
        .with(name, 60, Data::Srv(1, 2, 5060, "sip.example"))
        .with(name, 60, Data::Txt(vec!["v=spf1 ".to_owned(), "-all\n".to_owned()]))
        .with("www.example", 30, Data::Cname("all.example"))
        .with("1.2.0.192.in-addr.arpa", 60, Data::Ptr("all.example"))
        .answering("gone.example", 3)
        .answering("broken.example", 2)
        .answering("not-mine.example", 5)
        .answering("odd.example", 9)
}

/// Every type that can be asked for, as zone files spell it.
#[tokio::test]
async fn every_type() {
    use RecordType as Type;
    let server = zone().serve();
    for (name, kind, says) in [
        ("all.example", Type::A, &["192.0.2.1", "192.0.2.2"][..]),
        ("All.Example.", Type::Aaaa, &["2001:db8::1"]),
        ("all.example", Type::Caa, &["0 issue \"ca.example\""]),
        ("www.example", Type::Cname, &["all.example."]),
        ("all.example", Type::Mx, &["10 mail.example."]),
        ("all.example", Type::Ns, &["ns1.example."]),
        ("1.2.0.192.in-addr.arpa", Type::Ptr, &["all.example."]),
        ("all.example", Type::Soa, &["ns1.example. root.example. 1 2 3 4 5"]),
        ("all.example", Type::Srv, &["1 2 5060 sip.example."]),
        ("all.example", Type::Txt, &["v=spf1 -all\\n"]),
    ] {
        let answer = ask(&server, name, kind).await;
        let data: Vec<_> = answer.records.iter().map(|record| record.data.as_str()).collect();
        assert_eq!((answer.code, &data[..]), (Code::NoError, says), "{name} {kind:?}");
        assert!(answer.records.iter().all(|record| record.kind == kind.as_str()), "{answer:?}");
        assert!(answer.authoritative && !answer.truncated);
        assert_eq!(answer.server, server.address());
    }
    let answer = ask(&server, "all.example", Type::A).await;
    assert_eq!(answer.records[1].ttl, 61);
    assert_eq!(answer.records[0].name, "all.example");
}

/// A name that leads to another has both in its answer.
#[tokio::test]
async fn a_chain() {
    let answer = ask(&zone().serve(), "www.example", RecordType::A).await;
    let kinds: Vec<_> = answer.records.iter().map(|record| record.kind.as_str()).collect();
    assert_eq!(kinds, ["CNAME", "A", "A"]);
    assert_eq!(answer.records[0].ttl, 30);
}

/// What a name server says is an answer, however bad.
#[tokio::test]
async fn every_code() {
    let server = zone().serve();
    for (name, code) in [
        ("gone.example", Code::NxDomain),
        ("unheard-of.example", Code::NxDomain),
        ("broken.example", Code::ServFail),
        ("not-mine.example", Code::Refused),
        ("odd.example", Code::Other(9)),
    ] {
        let answer = ask(&server, name, RecordType::A).await;
        assert_eq!((answer.code, answer.records), (code, Vec::new()), "{name}");
    }
    let none = ask(&server, "www.example", RecordType::Txt).await;
    assert_eq!((none.code, none.records.len()), (Code::NoError, 2), "the CNAME and its TXT");
    let none = ask(&server, "1.2.0.192.in-addr.arpa", RecordType::Txt).await;
    assert_eq!((none.code, none.records.len()), (Code::NoError, 0));
}

/// An answer to somebody else's question is passed over.
#[tokio::test]
async fn a_foreign_answer() {
    let answer = ask(&zone().foreign_first().serve(), "all.example", RecordType::Ns).await;
    assert_eq!(answer.records.len(), 1);
}

/// What does not fit a datagram is fetched by TCP, where that is granted.
#[tokio::test]
async fn a_large_answer() {
    let text = "x".repeat(250);
    let zone = Zone::default().with("big.example", 1, Data::Txt(vec![text; 10]));
    let server = zone.truncating().serve();
    let answer = ask(&server, "big.example", RecordType::Txt).await;
    assert_eq!((answer.records[0].data.len(), answer.truncated), (2500, false));
    assert_eq!((server.by_udp(), server.by_tcp()), (1, 1));
    let udp = format!("udp://127.0.0.1:{}", server.address().port());
    let run = run(&["dns:big.example", &udp], AMPLE);
    let question = query(server.address(), "big.example", RecordType::Txt);
    let answer = capabilities(&[]).dns().query(&run, question).await.unwrap();
    assert_eq!((answer.records.len(), answer.truncated), (0, true));
    assert_eq!(server.by_tcp(), 1);
}

/// A server that can't read EDNS is asked without.
#[tokio::test]
async fn an_old_server() {
    let server = zone().without_edns().serve();
    let answer = ask(&server, "all.example", RecordType::Mx).await;
    assert_eq!((answer.code, answer.records.len()), (Code::NoError, 1));
    assert_eq!(server.by_udp(), 2);
}

/// P3: silence is cut at the deadline, after several tries.
#[tokio::test]
async fn silence() {
    let server = UdpServer::silent();
    let run = free(SHORT);
    let error = failing(&run, query(server.address(), "a.example", RecordType::Aaaa)).await;
    assert_eq!((error.kind, error.phase), (ErrorKind::Timeout, Phase::Reply), "{error}");
    let at = server.address();
    let says = format!(
        "timeout after 600 ms waiting for a reply from the name server {at} for AAAA of a.example"
    );
    assert_eq!(error.message, says);
    assert_eq!(server.received().len(), 4);
    let trace = run.take_trace();
    assert_eq!(trace.calls[0].capability, "dns");
    assert_eq!(trace.calls[0].what, format!("AAAA of a.example at {at}"));
    assert_eq!(trace.calls[0].result, CallResult::TimedOut(says));
}

/// P7: what keeps an answer from coming is told apart.
#[tokio::test]
async fn no_answer() {
    // It repeats the question's id and says that this is an answer.
    let garbled = UdpServer::start(|bytes| vec![[&bytes[..2], &[0x80], &[0xff; 40]].concat()]);
    let other = UdpServer::start(|bytes| {
        let mut question = bytes.to_vec();
        question[2] |= 0x80;
        question[13] ^= 1;
        vec![question]
    });
    let closed = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let loopback = |name: &str| query(garbled.address(), name, RecordType::A);
    let named = Query { server: Some(("gone.example".to_owned(), 53)), ..loopback("a.example") };
    for (question, kind, phase, says) in [
        (loopback("a.example"), ErrorKind::Protocol, Phase::Reply, "can't be read"),
        (
            query(other.address(), "a.example", RecordType::A),
            ErrorKind::Protocol,
            Phase::Reply,
            "another question",
        ),
        (
            query(closed, "a.example", RecordType::A),
            ErrorKind::Refused,
            Phase::Reply,
            "nothing listens at the name server",
        ),
        (named, ErrorKind::NameNotFound, Phase::Dns, "gone.example does not exist"),
        (loopback(""), ErrorKind::Invalid, Phase::Request, "can't be a name"),
        (loopback("b\u{fc}cher.example"), ErrorKind::Invalid, Phase::Request, "xn--"),
        (loopback(&"a".repeat(64)), ErrorKind::Invalid, Phase::Request, "can't be a name"),
    ] {
        let error = failing(&free(AMPLE), question).await;
        assert_eq!((error.kind, error.phase), (kind, phase), "{error}");
        assert!(error.message.contains(says), "{error}");
    }
}

/// Without a name server of its own a question goes to those of the host, the next where the first
/// is not there.
#[tokio::test]
async fn the_hosts_own_servers() {
    let server = zone().serve();
    let closed = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let host = with_resolver(Resolver::with_servers(&[closed, server.address()]).unwrap());
    let question = || Query { name: "all.example".to_owned(), kind: RecordType::Mx, server: None };
    // They are the operator's own choice, so only the name has to be granted.
    let granted = run(&["dns:*.example", "dns:all.example"], AMPLE);
    let answer = host.dns().query(&granted, question()).await.unwrap();
    assert_eq!((answer.records.len(), answer.server), (1, server.address()));
    let error = failing(&free(AMPLE), question()).await;
    assert_eq!(error.kind, ErrorKind::Host);
    assert!(error.message.contains("no name server"), "{error}");
}
