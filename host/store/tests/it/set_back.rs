//! A clock that was set back: contract R2, R5.

use probehost_model::{Outcome, Reason, Status};
use probehost_store::Recorded;

use crate::backend::{Backend, on_both};
use crate::common::{Fixture, at, fail, landed, seen};

const HOUR: i64 = 3_600_000_000;

/// R2: no result lands over one from the future; brought back, the record says what it said, from
/// now, and the next result lands on it.
async fn what_is_from_the_future_is_brought_back(on: Backend) {
    let fixture = Fixture::with_web(on).await;
    let store = &fixture.store;
    assert_eq!(store.from_the_future(at(0)).await.unwrap(), None);
    for (time, outcome) in [(1, Outcome::Pass), (2, fail(Reason::Network))] {
        landed(fixture.record(seen(HOUR + time, outcome)).await);
    }
    let refused = store.record(seen(10, fail(Reason::Network))).await.unwrap();
    assert!(matches!(refused, Recorded::Refused(_)), "{refused:?}");
    let ahead = store.from_the_future(at(10)).await.unwrap().unwrap();
    assert_eq!((ahead.records, ahead.latest), (1, at(HOUR + 2)));

    let before = fixture.web().await.unwrap();
    // What is within the horizon stays as it is.
    store.bring_back(at(HOUR + 2), at(10)).await.unwrap();
    assert_eq!(fixture.web().await.unwrap(), before);
    store.bring_back(at(10), at(10)).await.unwrap();
    let now = fixture.web().await.unwrap();
    assert_eq!((now.status, now.streak, now.reason), (before.status, 1, before.reason));
    let times = [now.checked_at, now.last_success_at, now.last_attempt_at];
    assert_eq!(times, [Some(at(10)); 3]);
    assert_eq!(store.from_the_future(at(10)).await.unwrap(), None);

    let (_, after) = landed(fixture.record(seen(11, fail(Reason::Network))).await);
    assert_eq!((after.status, after.streak), (Status::Unhealthy, 2));
    fixture.finish().await;
}

on_both!(what_is_from_the_future_is_brought_back);
