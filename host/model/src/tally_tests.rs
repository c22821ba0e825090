//! Rollups and tallies: what is counted when, and that merging loses nothing.

use proptest::prelude::*;

use super::*;
use crate::{Latency, Reason};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: i64 = 3_600;

fn at(second: i64) -> Timestamp {
    Timestamp::from_micros(second * 1_000_000)
}

fn fail() -> Outcome {
    Outcome::fail(Reason::Network, "refused")
}

/// Probes at these seconds, each with an outcome and the status after it, a minute apart by
/// plan.
fn tally(probes: &[(i64, Outcome, Status)]) -> Tally {
    let mut tally = Tally::default();
    for (second, outcome, status) in probes {
        tally.count(&Counted {
            at: at(*second),
            took: Duration::from_millis(10),
            outcome,
            status: *status,
            interval: Some(MINUTE),
            since: at(0),
        });
    }
    tally
}

/// Start, runs, and seconds healthy and unhealthy of each hour.
fn hours(tally: &Tally) -> Vec<(i64, u64, u64, u64)> {
    let told = |(start, rollup): (Timestamp, &Rollup)| {
        let start = start.as_micros() / 1_000_000;
        (start, rollup.runs, rollup.healthy.as_secs(), rollup.unhealthy.as_secs())
    };
    tally.hours().map(told).collect()
}

/// A4: a table of what each probe vouches for.
#[test]
fn a_probe_vouches_for_the_time_since_the_one_before() {
    use Status::{Healthy, Unhealthy, Unknown};
    let pass = || Outcome::Pass;
    let odd = || Outcome::inconclusive("the engine is away");
    let table = [
        ("the first knows of nothing before it", vec![(100, pass(), Healthy)], vec![(0, 1, 0, 0)]),
        (
            "the status after it counts",
            vec![(100, pass(), Healthy), (160, fail(), Healthy), (220, fail(), Unhealthy)],
            vec![(0, 3, 60, 60)],
        ),
        (
            "a gap is unknown but for three intervals",
            vec![(100, pass(), Healthy), (1_000, pass(), Healthy)],
            vec![(0, 2, 180, 0)],
        ),
        (
            "an inconclusive one vouches for nothing, nor does what follows reach beyond it",
            vec![(100, pass(), Healthy), (160, odd(), Healthy), (220, pass(), Healthy)],
            vec![(0, 3, 60, 0)],
        ),
        (
            "a failure that does not tell the status yet",
            vec![(100, fail(), Unknown), (160, fail(), Unknown)],
            vec![(0, 2, 0, 0)],
        ),
        (
            "time is of the hour that it is in, a run of the hour that it ends in",
            vec![(HOUR - 20, pass(), Healthy), (HOUR + 40, pass(), Healthy)],
            vec![(0, 1, 20, 0), (HOUR, 1, 40, 0)],
        ),
        (
            "on the boundary",
            vec![(HOUR - 60, pass(), Healthy), (HOUR, pass(), Healthy)],
            vec![(0, 1, 60, 0), (HOUR, 1, 0, 0)],
        ),
        (
            "the clock is set back: no time, and no probe is lost",
            vec![
                (HOUR + 60, pass(), Healthy),
                (60, pass(), Healthy),
                (120, pass(), Healthy),
                (HOUR + 90, pass(), Healthy),
            ],
            vec![(HOUR, 4, 30, 0)],
        ),
    ];
    for (what, probes, expected) in table {
        assert_eq!(hours(&tally(&probes)), expected, "{what}");
    }
}

/// A4: off schedule only runs count; and nothing from before the target was changed.
#[test]
fn what_is_not_known_is_not_counted() {
    let mut tally = Tally::default();
    let mut count = |second, interval, since| {
        tally.count(&Counted {
            at: at(second),
            took: MINUTE,
            outcome: &Outcome::Pass,
            status: Status::Healthy,
            interval,
            since: at(since),
        });
        hours(&tally)
    };
    count(100, None, 0);
    assert_eq!(count(130, None, 0), [(0, 2, 0, 0)]);
    assert_eq!(count(160, Some(MINUTE), 150), [(0, 3, 10, 0)]);
    assert_eq!(count(200, Some(MINUTE), 300), [(0, 4, 10, 0)]);
}

/// A long interval vouches for every hour that it covers, and for a day at most.
#[test]
fn long_intervals_cover_hours() {
    let mut tally = Tally::default();
    for second in [0, 5 * HOUR, 75 * HOUR] {
        tally.count(&Counted {
            at: at(second),
            took: MINUTE,
            outcome: &Outcome::Pass,
            status: Status::Healthy,
            interval: Some(Duration::from_hours(24)),
            since: at(0),
        });
    }
    let healthy: u64 = hours(&tally).iter().map(|(_, _, healthy, _)| healthy / 3_600).sum();
    assert_eq!(healthy, 5 + 24);
}

/// An hour is given whole each time it has grown, and let go of when it can't grow any more.
#[test]
fn hours_are_taken_once_they_have_grown() {
    let pass = |second| (second, Outcome::Pass, Status::Healthy);
    let mut tally = tally(&[pass(HOUR - 30), pass(HOUR + 30)]);
    let taken = tally.take();
    assert_eq!(taken.iter().map(|(start, _)| *start).collect::<Vec<_>>(), [at(0), at(HOUR)]);
    assert!(tally.is_taken() && tally.take().is_empty());
    assert_eq!(hours(&tally), [(HOUR, 1, 30, 0)]);
    tally.give_again(at(HOUR));
    assert_eq!(tally.take(), [taken[1].clone()]);
    assert!(tally.take().is_empty());
}

/// Two hosts that know of the same time don't know of more than there was.
#[test]
fn time_fits_into_its_period() {
    let mut rollup = Rollup { healthy: 50 * MINUTE, unhealthy: 25 * MINUTE, ..Rollup::default() };
    rollup.fit(Step::Hour.span());
    assert_eq!((rollup.healthy, rollup.unhealthy), (40 * MINUTE, 20 * MINUTE));
    let before = rollup.clone();
    rollup.fit(Step::Hour.span());
    assert_eq!(rollup, before);
    assert_eq!(Rollup::default().availability(), None);
}

/// A sketch of an hour is small, survives its bytes, and is as near as it promises.
#[test]
fn a_sketch_is_small_and_near() {
    let mut latency = Latency::default();
    assert!(latency.to_bytes().is_empty());
    assert_eq!(Latency::from_bytes(&[]).unwrap().quantile(0.5), None);
    for number in 1..=3600_u32 {
        latency.add(Duration::from_micros(900) + Duration::from_micros(7) * number);
    }
    let bytes = latency.to_bytes();
    assert!(bytes.len() < 500, "{} bytes", bytes.len());
    let again = Latency::from_bytes(&bytes).unwrap();
    assert_eq!(again, latency);
    for share in [0.5, 0.95, 0.99] {
        let exact = 0.0009 + 0.000_007 * 3600.0 * share;
        let near = again.quantile(share).unwrap().as_secs_f64();
        assert!((near / exact - 1.0).abs() < 0.03, "{share}: {near} for {exact}");
    }
    assert!(Latency::from_bytes(b"what is this").is_err());
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        Just(Outcome::Pass),
        Just(fail()),
        Just(Outcome::fail(Reason::Timeout, "slow")),
        Just(Outcome::inconclusive("odd")),
    ]
}

proptest! {
    /// A4: in whatever order parts are merged, and through the store's bytes, the whole is what
    /// one count of everything is.
    #[test]
    fn the_order_of_merging_does_not_matter(
        probes in proptest::collection::vec((outcome(), 0_u64..5_000_000, 0_usize..4), 0..60),
        order in Just(vec![0_usize, 1, 2, 3]).prop_shuffle(),
    ) {
        let mut parts = vec![Rollup::default(); 4];
        let mut whole = Rollup::default();
        for (outcome, micros, part) in &probes {
            let took = Duration::from_micros(*micros);
            parts[*part].count(outcome, took);
            whole.count(outcome, took);
            parts[*part].healthy += took;
            whole.healthy += took;
        }
        let mut merged = Rollup::default();
        for part in order {
            let mut part = parts[part].clone();
            part.latency = Latency::from_bytes(&part.latency.to_bytes()).unwrap();
            merged.merge(&part);
        }
        prop_assert_eq!(merged, whole);
    }

    /// A4: never more time is known than has passed, in no hour more than an hour.
    #[test]
    fn no_time_is_made_up(
        probes in proptest::collection::vec((outcome(), 1_i64..20_000), 1..60),
    ) {
        let mut tally = Tally::default();
        let mut now = 0;
        for (outcome, after) in &probes {
            now += after;
            tally.count(&Counted {
                at: at(now), took: MINUTE, outcome, status: Status::Healthy,
                interval: Some(MINUTE), since: at(0),
            });
        }
        let mut all = Duration::ZERO;
        for (_, hour) in tally.hours() {
            prop_assert!(hour.healthy <= Step::Hour.span());
            all += hour.healthy;
        }
        prop_assert!(all <= MINUTE * 3 * u32::try_from(probes.len()).unwrap());
        prop_assert!(all <= at(now).since(at(0)));
    }
}
