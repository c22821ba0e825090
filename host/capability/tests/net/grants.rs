//! G2, G3: nothing is reached that is not granted, and a denial holds the line that grants it.

use probehost_capability::dns::{Query, RecordType};
use probehost_capability::tcp::ErrorKind;
use probehost_capability::udp::Request;
use probehost_test_support::dns::{Data, Zone};
use probehost_test_support::udp::UdpServer;
use probehost_test_support::upstream::{Script, Upstream};

use crate::{AMPLE, capabilities, denied, free, run};

fn datagram(host: &str, port: u16) -> Request {
    let (host, payload) = (host.to_owned(), b"?".to_vec());
    Request { host, port, payload, reply_limit: 64, tries: 1 }
}

fn question(name: &str, server: Option<(&str, u16)>) -> Query {
    let server = server.map(|(host, port)| (host.to_owned(), port));
    Query { name: name.to_owned(), kind: RecordType::A, server }
}

/// G2: a grant is for its own scheme alone.
#[tokio::test]
async fn what_is_not_granted() {
    let host = capabilities(&[]);
    let (tcp, udp) = (Upstream::script(Script::hang()), UdpServer::echo());
    let (tcp_port, udp_port) = (tcp.port(), udp.address().port());
    let others = [
        format!("http://127.0.0.1:{tcp_port}"),
        format!("ssh://127.0.0.1:{tcp_port}"),
        format!("udp://127.0.0.1:{tcp_port}"),
        format!("tcp://127.0.0.1:{udp_port}"),
    ];
    let run = run(&others.each_ref().map(String::as_str), AMPLE);
    let error = host.tcp().connect(&run, "127.0.0.1", tcp_port).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Denied);
    let line = format!("allow = [\"tcp://127.0.0.1:{tcp_port}\"] under [plugins.tester]");
    assert!(error.message.contains(&line), "{error}");
    let error = host.udp().exchange(&run, datagram("127.0.0.1", udp_port)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Denied);
    let udp_line = format!("allow = [\"udp://127.0.0.1:{udp_port}\"] under [plugins.tester]");
    assert!(error.message.contains(&udp_line), "{error}");
    assert_eq!(denied(&run), [line, udp_line]);
    assert_eq!((tcp.connections(), udp.received().len()), (0, 0));
}

/// G2: a question takes the grant of its name, and that of the name server where it names one.
#[tokio::test]
async fn names_and_name_servers() {
    let server = Zone::default().with("a.example", 1, Data::A([192, 0, 2, 1].into())).serve();
    let port = server.address().port();
    let at = format!("udp://127.0.0.1:{port}");
    let ask = question("a.example", Some(("127.0.0.1", port)));
    for (allowed, line) in [
        (vec![at.as_str()], "dns:a.example".to_owned()),
        (vec![at.as_str(), "dns:*.a.example", "dns:b.example"], "dns:a.example".to_owned()),
        (vec!["dns:a.example"], at.clone()),
        (vec!["dns:*.example", "tcp://*:*"], at.clone()),
    ] {
        let run = run(&allowed, AMPLE);
        let error = capabilities(&[]).dns().query(&run, ask.clone()).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Denied, "{error}");
        assert_eq!(denied(&run), [format!("allow = [\"{line}\"] under [plugins.tester]")]);
    }
    assert_eq!(server.by_udp(), 0);
    let run = run(&["dns:a.example", &at], AMPLE);
    assert_eq!(capabilities(&[]).dns().query(&run, ask).await.unwrap().records.len(), 1);
}

/// G3: a name that leads to a special address is refused by all three, and never dialled.
#[tokio::test]
async fn names_that_lead_to_special_addresses() {
    for address in [
        "169.254.169.254",
        "169.254.0.9",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "fe80::1",
        "fd00:ec2::254",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
    ] {
        let host = capabilities(&[("rebound.example", &[address])]);
        let run = free(AMPLE);
        let kinds = [
            host.tcp().connect(&run, "rebound.example", 80).await.unwrap_err(),
            host.udp().exchange(&run, datagram("rebound.example", 80)).await.unwrap_err(),
            host.dns()
                .query(&run, question("a.example", Some(("rebound.example", 80))))
                .await
                .unwrap_err(),
        ];
        for error in kinds {
            assert_eq!(error.kind, ErrorKind::Denied, "{error}");
            assert!(error.message.contains("rebound.example:80 leads to "), "{error}");
            assert_eq!(error.timings.connect, None);
        }
        let lines = denied(&run);
        assert!(lines[0].starts_with("allow = [\"tcp://"), "{lines:?}");
        assert!(lines[1..].iter().all(|line| line.starts_with("allow = [\"udp://")), "{lines:?}");
        assert!(!lines.concat().contains("rebound"), "{lines:?}");
    }
}

/// G3: a name server that may be asked by UDP at a special address is not thereby asked by TCP.
#[tokio::test]
async fn special_addresses_by_tcp() {
    let zone = Zone::default().with("a.example", 1, Data::A([192, 0, 2, 1].into()));
    let server = zone.truncating().serve();
    let port = server.address().port();
    // On Linux this is loopback.
    let host = capabilities(&[("zero.example", &["0.0.0.0"])]);
    let by_name = format!("*://zero.example:{port}");
    let run = run(&["dns:a.example", &by_name, &format!("udp://0.0.0.0:{port}")], AMPLE);
    let ask = question("a.example", Some(("zero.example", port)));
    let answer = host.dns().query(&run, ask).await.unwrap();
    assert!(answer.truncated);
    assert_eq!((server.by_udp(), server.by_tcp()), (1, 0));
}
