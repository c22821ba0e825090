//! A system's clock that was set back. While the host runs its own goes on (see [`Clock`]); what it
//! wrote before it was started again is from the future then.

use std::time::Duration;

use probehost_monitor::Clock;
use probehost_store::{Store, StoreError};
use tracing::warn;

/// How far ahead of the clock a record may be: what a time server corrects in passing.
pub(crate) const CLOCK_TOLERANCE: Duration = Duration::from_secs(60);

/// Before the first probe: what is from the future is from now, or no result would land, nothing be
/// told and nothing be restarted until that time has come.
pub(crate) async fn bring_back(store: &Store, clock: Clock) -> Result<(), StoreError> {
    let now = clock.now();
    let horizon = now.plus(CLOCK_TOLERANCE);
    let Some(ahead) = store.from_the_future(horizon).await? else { return Ok(()) };
    store.bring_back(horizon, now).await?;
    warn!(
        records = ahead.records,
        "records are from up to {}, a time that has not come yet: the clock was set back, or it is \
         wrong now; their times are {now} from here on, so that results land again",
        ahead.latest
    );
    Ok(())
}

/// Tells of other hosts' results that are ahead of this one's clock.
pub(crate) async fn warn_of_others(store: &Store, clock: Clock) -> Result<(), StoreError> {
    if let Some(ahead) = store.from_the_future(clock.now().plus(CLOCK_TOLERANCE)).await? {
        warn!(
            records = ahead.records,
            "records are from up to {}, a time that has not come yet: the clock of another host with \
             this database is ahead of this one's, and no result of this one lands over them; set \
             the clocks right",
            ahead.latest
        );
    }
    Ok(())
}

/// Tells of this machine's clock.
pub(crate) fn warn_of_this(clock: Clock) {
    let back = clock.set_back();
    if back > CLOCK_TOLERANCE {
        warn!(
            "the clock of this machine was set back by {} s; this host goes on with times that are \
             ahead by as much, and has the right ones again once it is restarted",
            back.as_secs()
        );
    }
}
