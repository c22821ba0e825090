//! Tables of what is an own fault and what is not.

use super::*;

const INTERVAL: u64 = 30;
const WAIT: Duration = Duration::from_secs(10);

fn at(second: i64) -> Timestamp {
    Timestamp::from_micros(second * 1_000_000)
}

/// `count` targets, probed one after the other once in an interval; why each fails from when on.
struct Fleet {
    detector: Detector,
    count: i64,
    interval: i64,
}

impl Fleet {
    fn new(count: i64) -> Self {
        Self { detector: Detector::default(), count, interval: i64::from(30_u16) }
    }

    /// Runs from one second until just before another; `fails` says why a target does.
    fn run(&mut self, from: i64, until: i64, fails: impl Fn(i64) -> Option<Reason>) {
        for second in from..until {
            for target in 0..self.count {
                if (second - target * self.interval / self.count).rem_euclid(self.interval) == 0 {
                    let check = CheckId::new(&format!("t{target}"), "head");
                    let round = Duration::from_secs(INTERVAL + 10);
                    let times = (at(second), at(second));
                    self.detector.saw(&check, fails(target), times, round);
                }
            }
        }
    }

    fn judged(&self, second: i64) -> Vec<(Reason, usize, usize)> {
        let faults = self.detector.judge(at(second), 5, WAIT);
        faults.into_iter().map(|fault| (fault.reason, fault.failing, fault.of)).collect()
    }
}

/// E5: all fail the same way: known long before the second failure of any, and not before
/// `group_wait`.
#[test]
fn all_at_once() {
    let mut fleet = Fleet::new(200);
    fleet.run(0, 60, |_| None);
    assert_eq!(fleet.judged(60), []);
    fleet.run(60, 69, |_| Some(Reason::Network));
    assert_eq!(fleet.judged(69), [], "too early to tell");
    fleet.run(69, 71, |_| Some(Reason::Network));
    let judged = fleet.judged(71);
    assert!(matches!(judged[..], [(Reason::Network, failing, of)] if failing == of), "{judged:?}");
    fleet.run(71, 90, |_| Some(Reason::Network));
    assert_eq!(fleet.judged(90), [(Reason::Network, 200, 200)]);
}

/// E5: some of many is no own fault, whether they are near each other or not; nor are few.
#[test]
fn some_of_many() {
    for (count, name, fails) in [
        (200, "every third", Box::new(|n: i64| n % 3 == 0) as Box<dyn Fn(i64) -> bool>),
        (200, "a rack of forty, spread", Box::new(|n: i64| n % 5 == 1)),
        (200, "one", Box::new(|n: i64| n == 7)),
        (4, "all of four", Box::new(|_| true)),
        (9, "four of nine", Box::new(|n: i64| n < 4)),
    ] {
        let mut fleet = Fleet::new(count);
        fleet.run(0, 60, |_| None);
        for second in 60..150 {
            fleet.run(second, second + 1, |n| fails(n).then_some(Reason::Network));
            assert_eq!(fleet.judged(second + 1), [], "{name} at {second}");
        }
    }
}

/// E5: half of them is enough, also when the others have failed for long or in other ways.
#[test]
fn most_is_half() {
    let mut fleet = Fleet::new(20);
    fleet.run(0, 60, |_| None);
    fleet.run(60, 100, |n| (n % 2 == 0).then_some(Reason::Timeout));
    assert_eq!(fleet.judged(95), [(Reason::Timeout, 10, 20)]);

    let mut fleet = Fleet::new(20);
    fleet.run(0, 60, |_| None);
    fleet.run(60, 100, |n| Some(if n % 3 == 0 { Reason::Tls } else { Reason::Network }));
    let reasons: Vec<_> = fleet.judged(95).into_iter().map(|(reason, ..)| reason).collect();
    assert_eq!(reasons, [Reason::Network], "those that fail otherwise are not among them");
}

/// E5: what has failed for longer than a round, each at its own time, is not "at once".
#[test]
fn long_ago_is_not_at_once() {
    let mut fleet = Fleet::new(20);
    fleet.run(0, 60, |_| None);
    // One more every 40 seconds.
    for step in 0..20 {
        let begin = 60 + step * 40;
        fleet.run(begin, begin + 40, |n| (n <= step).then_some(Reason::Network));
        assert_eq!(fleet.judged(begin + 40), [], "{step}");
    }
}

/// E5: checks that are probed rarely have said nothing yet, and count neither way.
#[test]
fn those_that_are_probed_rarely() {
    let mut fleet = Fleet::new(20);
    for rare in 0..100 {
        let check = CheckId::new(&format!("rare{rare}"), "head");
        fleet.detector.saw(&check, None, (at(50), at(50)), Duration::from_hours(1));
    }
    fleet.run(0, 60, |_| None);
    fleet.run(60, 90, |_| Some(Reason::Network));
    assert_eq!(fleet.judged(90), [(Reason::Network, 20, 20)]);
    assert_eq!(fleet.detector.targets(), 120);
    fleet.detector.forget_old(at(600));
    assert_eq!(fleet.detector.targets(), 100);
}

/// E5: the share falls as they recover, and what each did since then is known.
#[test]
fn recovery() {
    let mut fleet = Fleet::new(20);
    fleet.run(0, 60, |_| None);
    fleet.run(60, 120, |_| Some(Reason::Network));
    let since = fleet.detector.judge(at(95), 5, WAIT).first().map(|fault| fault.since);
    assert_eq!(since, Some(at(60)));
    assert_eq!(fleet.detector.share(Reason::Network, at(60)), (20, 20));
    assert_eq!(fleet.detector.after("t3", "head", at(120), at(121)), After::Open);
    fleet.run(120, 150, |n| (n == 3).then_some(Reason::Network));
    assert_eq!(fleet.detector.share(Reason::Network, at(60)), (1, 20));
    assert_eq!(fleet.detector.after("t3", "head", at(120), at(150)), After::Failing);
    assert_eq!(fleet.detector.after("t4", "head", at(120), at(150)), After::Well);
    assert_eq!(fleet.detector.after("t4", "", at(120), at(150)), After::Well);
    assert_eq!(fleet.detector.after("nobody", "head", at(120), at(150)), After::Lost);
    assert_eq!(fleet.detector.onset("t3", "head"), Some(at(64)));
    assert_eq!(fleet.detector.onset("t4", "head"), None);
}
