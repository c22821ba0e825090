//! Waiting for a condition, with a limit, instead of sleeping and hoping.

use std::fmt::Debug;
use std::future::Future;
use std::panic::Location;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

/// How long to rest between two looks.
const PAUSE: Duration = Duration::from_millis(10);

/// Looks at a value again and again until `holds` says yes, and returns that value.
///
/// Panics after `limit` with `what`, the place of the call and the last value seen. A `look` that hangs is cut at the
/// limit too.
///
/// The clock is tokio's: where a test pauses it, it runs ahead while this waits, so a wait for real I/O wants the real
/// clock.
#[track_caller]
pub fn eventually<V, F, Fut>(
    what: &str,
    limit: Duration,
    look: F,
    holds: impl Fn(&V) -> bool,
) -> impl Future<Output = V>
where
    V: Debug,
    F: Fn() -> Fut,
    Fut: Future<Output = V>,
{
    let caller = Location::caller();
    async move {
        let deadline = Instant::now() + limit;
        let mut last = None;
        while let Ok(value) = timeout_at(deadline, look()).await {
            if holds(&value) {
                return value;
            }
            last = Some(value);
            if Instant::now() >= deadline {
                break;
            }
            sleep(PAUSE).await;
        }
        give_up(what, limit, caller, last.as_ref())
    }
}

#[allow(clippy::panic, reason = "a wait that ends in vain is a failed test")]
fn give_up<V: Debug>(what: &str, limit: Duration, caller: &Location<'_>, last: Option<&V>) -> ! {
    match last {
        Some(value) => {
            panic!("{caller}: waited {limit:?} in vain until {what}; the last value was {value:?}")
        }
        None => {
            panic!("{caller}: waited {limit:?} in vain until {what}; no look came to an end")
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn returns_the_value_that_holds() {
        let looks = AtomicU32::new(0);
        let value = eventually(
            "the fifth look",
            Duration::from_secs(60),
            || async { looks.fetch_add(1, Ordering::Relaxed) },
            |n| *n == 4,
        )
        .await;
        assert_eq!(value, 4);
    }

    #[tokio::test(start_paused = true)]
    #[should_panic(expected = "waited 1s in vain until pigs fly; the last value was \"grounded\"")]
    async fn shows_the_last_value() {
        eventually("pigs fly", Duration::from_secs(1), || async { "grounded" }, |_| false).await;
    }

    #[tokio::test(start_paused = true)]
    #[should_panic(expected = "no look came to an end")]
    async fn cuts_a_look_that_hangs() {
        eventually("never", Duration::from_secs(1), std::future::pending::<()>, |_| true).await;
    }
}
