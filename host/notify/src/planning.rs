//! The task that plans: reads what the store has committed, and commits who is told of it.

use std::sync::Arc;
use std::time::Duration;

use probehost_model::notify::Settings;
use probehost_store::StoreError;
use tokio::time::Instant;

use crate::inner::Inner;
use crate::planner::{Context, Planner};
use crate::ports::{Outbox, Wire};

/// Most events of one plan.
const PAGE: u32 = 500;
/// How often it is looked for events of other hosts, and whether one that could not be reached can.
const POLL: Duration = Duration::from_secs(1);
/// How often the cursor follows while nobody is told of anything.
const FOLLOW: Duration = Duration::from_secs(30);
/// How often old deliveries are dropped.
const TIDY: Duration = Duration::from_hours(1);
/// How long one that is finished can be looked at.
const KEEP: Duration = Duration::from_hours(30 * 24);

/// Plans until the notifier stops.
pub(crate) async fn run<O: Outbox, W: Wire>(inner: Arc<Inner<O, W>>) {
    let mut news = inner.outbox.news();
    let mut settings = inner.settings.subscribe();
    let mut planner = None;
    let mut tidied: Option<Instant> = None;
    // Whether nobody was told until now.
    let mut quiet = false;
    loop {
        let current = settings.borrow_and_update().clone();
        news.mark_unchanged();
        let told = is_anybody_told(&current);
        let nobody = Settings::default();
        // Rules that are new tell of what happens from now on.
        let by = if quiet || !told { &nobody } else { &*current };
        let wait = match pass(&inner, &mut planner, by).await {
            Ok(_) if told && quiet => {
                quiet = false;
                Some(Duration::ZERO)
            }
            Ok(wait) => {
                quiet = !told;
                wait
            }
            Err(error) => {
                // Nothing is lost: the events stay where they are.
                planner = None;
                tracing::debug!(%error, "notifications are planned later");
                Some(POLL)
            }
        };
        if tidied.is_none_or(|at| at.elapsed() >= TIDY) {
            tidied = Some(Instant::now());
            if let Err(error) = tidy(&inner, &current).await {
                tracing::debug!(%error, "old notifications stay for another hour");
            }
        }
        let most = if inner.outbox.is_shared() { POLL } else { TIDY };
        let wait = wait.unwrap_or(most).min(most);
        tokio::select! {
            biased;
            () = inner.stop.cancelled() => break,
            _ = news.changed(), if told => {}
            _ = settings.changed() => planner = None,
            () = tokio::time::sleep(wait) => {}
        }
    }
    if quiet && let Err(error) = pass(&inner, &mut planner, &Settings::default()).await {
        tracing::debug!(%error, "the next start begins a little earlier");
    }
}

/// Gives up what is for sinks that were taken out, and drops what was finished long ago.
async fn tidy<O: Outbox, W: Wire>(
    inner: &Inner<O, W>,
    settings: &Settings,
) -> Result<(), StoreError> {
    let now = inner.clock.now();
    let sinks = settings.sinks.keys().cloned().collect();
    inner.outbox.abandon(sinks, now.minus(settings.give_up), now).await?;
    inner.outbox.trim(now.minus(KEEP)).await?;
    Ok(())
}

/// Whether there is anybody to tell anything. Else no event is worth a look.
fn is_anybody_told(settings: &Settings) -> bool {
    !settings.sinks.is_empty() && !settings.rules.is_empty()
}

/// Plans what there is to plan. Gives how long it is until time alone brings something.
async fn pass<O: Outbox, W: Wire>(
    inner: &Inner<O, W>,
    kept: &mut Option<Planner>,
    settings: &Settings,
) -> Result<Option<Duration>, StoreError> {
    loop {
        // Taken out, so that a plan that fails is made anew from what is stored.
        let mut planner = match kept.take() {
            Some(planner) => planner,
            None => Planner::load(inner.outbox.state().await?, inner.clock.now()),
        };
        let before = planner.cursor();
        planner.drop_sinks(settings);
        let mut more = false;
        let mut next = None;
        if !is_anybody_told(settings) {
            // Nobody is told: the cursor follows, so that events can be dropped, and so that rules
            // that come later do not tell of what happened long before.
            planner.skip_to(inner.outbox.newest().await?.max(before));
            next = Some(FOLLOW);
        } else {
            let events = inner.outbox.after(before, PAGE).await?;
            more = events.len() >= PAGE as usize;
            for id in planner.unknown_of(&events) {
                let target = inner.outbox.target(&id).await?;
                planner.know(id, target);
            }
            let now = inner.clock.now();
            let detector = inner.detector();
            let context = Context { settings, detector: &detector, now };
            planner.take_up(&events, &context);
            if let Some(at) = planner.settle(&context) {
                next = Some(at.since(now).max(Duration::from_millis(10)));
            }
        }
        if let Some(plan) = planner.plan(before, inner.clock.now()) {
            let delivers = !plan.deliveries.is_empty();
            if !inner.outbox.plan(plan).await? {
                tracing::debug!("another host has planned meanwhile");
                continue;
            }
            planner.landed();
            if delivers {
                inner.work.send_replace(());
            }
        }
        *kept = Some(planner);
        if !more {
            return Ok(next);
        }
    }
}
