//! A host that is killed between what happened and its telling.

use std::time::Duration;

use probehost_test_support::receiver::Receiver;
use probehost_test_support::upstream::{StatusSwitch, Upstream};
use probehost_test_support::wait::eventually;

use super::{sink, turn};
use crate::host::{BY_HAND, Config, LIMIT, soak};

/// E5: killed again and again after a transition was recorded, sooner or later: every alert
/// arrives, in order, none for what did not happen, and each recovery after its problem.
///
/// With `PROBEHOST_SOAK=1` in the environment it is killed two hundred times, otherwise ten.
#[tokio::test]
async fn every_alert_arrives_in_order() {
    let kills: usize = if soak() { 200 } else { 10 };
    let receiver = Receiver::webhook();
    let switch = StatusSwitch::new(200);
    let upstream = Upstream::switched(&switch);
    let settings = format!("{BY_HAND}\nfailure_threshold = 1");
    let config = sink(Config::new(), "hook", "webhook", &receiver.url(), "rate = 1000");
    let mut host = config.head("web", &settings, &upstream.url()).start();
    turn(&host, &switch, "web", 200).await;
    for kill in 0..kills {
        let status = if kill % 2 == 0 { 503 } else { 200 };
        turn(&host, &switch, "web", status).await;
        // From before the plan to after the delivery.
        tokio::time::sleep(Duration::from_micros(300 * (kill as u64 % 40))).await;
        host.restart(None);
    }
    let told = || async {
        let mut all: Vec<_> = receiver.taken().iter().map(|taken| taken.told()).collect();
        // At least once: what comes again bears the same key, before anything that is later.
        all.dedup_by(|one, other| one.0 == other.0);
        all.into_iter().map(|(_, kind, target)| format!("{target} {kind}")).collect::<Vec<_>>()
    };
    let told = eventually("all are told", LIMIT, told, |told| told.len() >= kills).await;
    let expected: Vec<_> =
        (0..kills).map(|kill| if kill % 2 == 0 { "web problem" } else { "web recovery" }).collect();
    assert_eq!(told, expected);
    assert_eq!(host.transitions("web").await.len(), kills + 1);
    host.stop();
}
