//! The event stream through the real binary.

use std::time::Duration;

use probehost_test_support::upstream::{StatusSwitch, Upstream};

use crate::host::{Config, LIMIT, code, soak, text};

/// E2: a client that reconnects again and again, also after the host was killed, misses nothing
/// and sees nothing twice.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_resumes_where_it_was() {
    let changes: usize = if soak() { 2_000 } else { 40 };
    let (mut odd, mut reconnected, mut kills) = (7_u32, 0, 0);
    let status = StatusSwitch::new(200);
    let upstream = Upstream::switched(&status);
    let settings = "interval = 0\nfailure_threshold = 1";
    let mut host = Config::new().head("web", settings, &upstream.url()).start();
    let mut events = host.events("?kind=status", None).await;
    let mut seen = Vec::new();
    let mut last_id = None;
    for change in 0..changes {
        odd = odd.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        status.set(if change % 2 == 0 { 200 } else { 503 });
        host.probe("web").await;
        // The first tells where it is, to come back to.
        match if change == 0 { 0 } else { (odd >> 16) % 5 } {
            // It stays connected.
            0 | 3 => {
                let event = events.next(Duration::from_secs(10)).await.unwrap();
                seen.push(text(&event.data["to"]).to_owned());
                last_id.clone_from(&events.last_id);
            }
            // It is away meanwhile.
            _ => {
                drop(events);
                reconnected += 1;
                if change >= 21 && kills <= change / 500 {
                    kills += 1;
                    host.host.kill().unwrap();
                    host.restart(None);
                }
                events = host.events("?kind=status", last_id.as_deref()).await;
                if change % 2 == 0 {
                    let event = events.next(Duration::from_secs(10)).await.unwrap();
                    seen.push(text(&event.data["to"]).to_owned());
                }
                last_id.clone_from(&events.last_id);
            }
        }
    }
    while seen.len() < changes {
        let event = events.next(Duration::from_secs(10)).await.unwrap();
        seen.push(text(&event.data["to"]).to_owned());
    }
    let wanted: Vec<_> =
        (0..changes).map(|change| if change % 2 == 0 { "healthy" } else { "unhealthy" }).collect();
    assert_eq!(seen, wanted);
    println!("{reconnected} times reconnected, {changes} events, none missed and none twice");
    assert!(reconnected > changes / 3);

    // A place that is not here: the client is told to look anew.
    for id in ["999999", "-7", "9223372036854775807", "-9223372036854775808"] {
        let mut lost = host.events("", Some(id)).await;
        assert_eq!(lost.next(LIMIT).await.unwrap().event, "reset", "{id}");
    }
    let refused = host.api.get("/api/v1/events?kind=weather").await.unwrap();
    assert_eq!(code(&refused, 400), "bad-request");
    // The host does not wait for its listeners.
    host.stop();
}
