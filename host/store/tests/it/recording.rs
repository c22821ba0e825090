//! Transitions and recording: contract T, R1 to R3 and R8, A1, A2.

use probehost_model::{
    Action, Outcome, Reason, Record, Refusal,
    Status::{Healthy, Unhealthy, Unknown},
    Trigger, advance,
};
use probehost_store::Recorded;

use crate::common::{Fixture, THRESHOLDS, at, by_hand, fail, landed, seen, web};

/// T1, T2: nothing is known at first; one pass is enough from any status and clears the failure.
#[tokio::test]
async fn a_pass_heals_at_once() {
    let fixture = Fixture::with_web().await;
    assert_eq!(fixture.web().await, None);
    let down = fixture.run(&[fail(Reason::Config)]).await;
    assert_eq!(down.status, Unhealthy);
    let (from, up) = landed(fixture.record(seen(2, Outcome::Pass)).await);
    assert_eq!(from, Unhealthy);
    assert_eq!(
        up,
        Record {
            status: Healthy,
            subject: "web:443".into(),
            checked_at: Some(at(2)),
            last_success_at: Some(at(2)),
            last_attempt_at: Some(at(2)),
            ..Record::default()
        }
    );
    assert_eq!(fixture.web().await, Some(up));
    fixture.finish().await;
}
