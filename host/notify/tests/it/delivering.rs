//! Sinks that are down, slow, or say no: nothing lost, nothing stormed. Contract E5.

use std::time::Duration;

use probehost_model::notify::DeliveryState;
use probehost_model::{Status, Timestamp};
use probehost_monitor::Clock;
use probehost_notify::Notifier;
use probehost_notify::ports::SendError;

use crate::fakes::{Does, FakeSink, Memory, notifier, until};

const NOON: Timestamp = Timestamp::from_micros(1_764_500_000_000_000);

struct Host {
    store: Memory,
    sink: FakeSink,
    clock: Clock,
    notifier: Notifier<Memory, FakeSink>,
}

impl Host {
    fn new() -> Self {
        let clock = Clock::driven(NOON);
        let (store, sink) = (Memory::new(), FakeSink::new(clock));
        let notifier = notifier(&store, &sink, clock, "one");
        Self { store, sink, clock, notifier }
    }

    fn down(&self, target: &str) {
        self.store.status(target, Status::Unhealthy, self.clock.now());
    }

    fn up(&self, target: &str) {
        self.store.status(target, Status::Healthy, self.clock.now());
    }

    async fn delivered(&self, count: usize) {
        until("delivered", || self.store.in_state(DeliveryState::Delivered) == count).await;
    }

    /// The seconds between one attempt and the next.
    fn gaps(&self) -> Vec<f64> {
        let times: Vec<_> = self.sink.attempts().into_iter().map(|(at, ..)| at).collect();
        times.windows(2).map(|pair| pair[1].since(pair[0]).as_secs_f64()).collect()
    }
}

/// E5: a sink that is down for an hour, with a hundred targets that go down and up meanwhile: one
/// attempt at a time and ever fewer, then everything, each target's in order.
#[tokio::test(start_paused = true)]
async fn down_for_an_hour() {
    let host = Host::new();
    host.sink.does(Does::Fail(SendError::later("refused")));
    for target in 0..100 {
        host.down(&format!("t{target}"));
        tokio::time::sleep(Duration::from_secs(10)).await;
        host.up(&format!("t{target}"));
        tokio::time::sleep(Duration::from_secs(26)).await;
    }
    let attempts = host.sink.attempts().len();
    assert!((50..150).contains(&attempts), "{attempts} attempts in an hour");
    let late = host.gaps().split_off(20);
    assert!(late.iter().all(|gap| (20.0..=61.0).contains(gap)), "{late:?}");

    host.sink.does(Does::Take);
    let back = host.clock.now();
    host.delivered(200).await;
    let took = host.clock.now().since(back);
    assert!(took < Duration::from_secs(120), "{took:?}");
    let taken = host.sink.taken();
    assert_eq!(taken.len(), 200, "each once");
    for target in 0..100 {
        let of_target = taken.iter().filter(|what| what.starts_with(&format!("t{target} ")));
        let kinds: Vec<_> = of_target.map(|what| what.rsplit(' ').next().unwrap()).collect();
        assert_eq!(kinds, ["problem", "recovery"], "t{target}");
    }
    host.notifier.stop().await;
}

/// E5: after 429 with Retry-After nothing is sent before that time, to any target.
#[tokio::test(start_paused = true)]
async fn told_to_wait() {
    let host = Host::new();
    let wait = Duration::from_secs(90);
    let later = SendError::Later { error: "429".into(), after: Some(wait) };
    host.sink.does_once(Does::Fail(later));
    ["a", "b", "c"].into_iter().for_each(|target| host.down(target));
    host.delivered(3).await;
    let gaps = host.gaps();
    assert!(gaps[0] >= 90.0 && gaps[0] < 95.0, "{gaps:?}");
    assert_eq!(host.sink.attempts().len(), 4);
    host.notifier.stop().await;
}

/// E5: a slow sink is sent one thing at a time, and one that never answers is given up on after
/// ten seconds and tried again.
#[tokio::test(start_paused = true)]
async fn slow_and_silent() {
    let host = Host::new();
    host.sink.does(Does::Slowly(Duration::from_secs(5)));
    ["a", "b", "c"].into_iter().for_each(|target| host.down(target));
    host.delivered(3).await;
    assert!(host.gaps().iter().all(|gap| *gap >= 5.0), "{:?}", host.gaps());
    host.sink.does_once(Does::Slowly(Duration::from_secs(3600)));
    host.up("a");
    host.delivered(4).await;
    assert_eq!(host.sink.attempts().len(), 5);
    let error = host.store.lock().deliveries[3].last_error.clone();
    assert_eq!(error, "no answer within 10 s");
    host.notifier.stop().await;
}

/// E5: a message that the sink refuses for good is dead at once and holds up no other; one that it
/// never takes is dead after a day.
#[tokio::test(start_paused = true)]
async fn dead_letters() {
    let host = Host::new();
    host.sink.does_once(Does::Fail(SendError::Refused("404".into())));
    host.down("a");
    host.up("a");
    host.delivered(1).await;
    assert_eq!(host.sink.taken(), ["a recovery"]);
    assert_eq!(host.store.in_state(DeliveryState::Dead), 1);

    host.sink.does(Does::Fail(SendError::later("503")));
    host.down("b");
    until("it is tried", || host.sink.attempts().len() > 2).await;
    let begun = host.clock.now();
    until("it is given up", || host.store.in_state(DeliveryState::Dead) == 2).await;
    let took = host.clock.now().since(begun).as_secs();
    assert!((86_000..88_000).contains(&took), "{took}");
    host.notifier.stop().await;
}

/// E5: what waits for a sink that is taken out is kept for it as long as it would have been tried,
/// and is dead then.
#[tokio::test(start_paused = true)]
async fn a_sink_that_is_taken_out() {
    let host = Host::new();
    host.sink.does(Does::Fail(SendError::later("503")));
    host.down("a");
    until("it is tried", || !host.sink.attempts().is_empty()).await;
    let begun = host.clock.now();
    let mut without = (*host.notifier.settings()).clone();
    without.sinks.clear();
    host.notifier.set(without);
    until("it is given up", || host.store.in_state(DeliveryState::Dead) == 1).await;
    let took = host.clock.now().since(begun).as_secs();
    assert!((86_000..95_000).contains(&took), "{took}");
    host.notifier.stop().await;
}

/// E5: one message that the sink chokes on does not keep the others from being delivered.
#[tokio::test(start_paused = true)]
async fn one_that_the_sink_chokes_on() {
    let host = Host::new();
    for _ in 0..3 {
        host.sink.does_once(Does::Fail(SendError::later("500")));
        host.sink.does_once(Does::Take);
    }
    ["a", "b", "c", "d"].into_iter().for_each(|target| host.down(target));
    host.delivered(4).await;
    assert_eq!(host.sink.attempts().len(), 7);
    host.notifier.stop().await;
}

/// E5: at most as many as the rate says, after a small burst.
#[tokio::test(start_paused = true)]
async fn no_faster_than_the_rate() {
    let host = Host::new();
    (0..105).for_each(|target| host.down(&format!("t{target}")));
    let begun = host.clock.now();
    host.delivered(105).await;
    let took = host.clock.now().since(begun).as_secs_f64();
    assert!((9.9..12.0).contains(&took), "105 at 10 in a second took {took}");
    host.notifier.stop().await;
}

/// S8: a stop waits a moment for what is being sent, and leaves the rest for the next start.
#[tokio::test(start_paused = true)]
async fn a_stop_in_the_middle() {
    let host = Host::new();
    host.sink.does(Does::Slowly(Duration::from_secs(8)));
    host.down("a");
    until("it is being sent", || !host.sink.attempts().is_empty()).await;
    let begun = host.clock.now();
    host.notifier.stop().await;
    assert!(host.clock.now().since(begun) <= Duration::from_secs(3));
    assert_eq!(host.store.in_state(DeliveryState::Pending), 1);
    host.sink.does(Does::Take);
    let next = notifier(&host.store, &host.sink, host.clock, "one");
    host.delivered(1).await;
    next.stop().await;
}
