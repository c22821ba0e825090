//! What each check did in the hours that are not over yet, in memory, until it is written
//! (contract A4).

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use probehost_model::{CheckId, Counted, Outcome, Status, Tally, Timestamp};
use probehost_store::{LiveHours, RollupHour, StoreError};

use crate::ports::CheckSeen;

/// The most hours that are written together.
const BATCH: usize = 200;

/// The hours of every check. Cheap to clone; every clone is the same.
#[derive(Debug, Clone)]
pub struct Rollups {
    tallies: Arc<Mutex<HashMap<CheckId, Tally>>>,
    writer: Arc<str>,
}

impl Default for Rollups {
    /// Without any hour, and with a name of its own: no other run of a host has the same rows.
    fn default() -> Self {
        let [high, low] = [0, 1].map(|half: u8| RandomState::new().hash_one(half));
        Self { tallies: Arc::default(), writer: format!("{high:016x}{low:016x}").into() }
    }
}

impl Rollups {
    /// Counts a probe that landed, with the status that it led to.
    pub(crate) fn count(
        &self,
        check: &CheckSeen,
        at: Timestamp,
        took: Duration,
        outcome: &Outcome,
        status: Status,
    ) {
        let (interval, since) = (check.interval, check.seen_updated_at);
        let counted = Counted { at, took, outcome, status, interval, since };
        let mut tallies = self.lock();
        match tallies.get_mut(&check.id) {
            Some(tally) => tally.count(&counted),
            None => tallies.entry(check.id.clone()).or_default().count(&counted),
        }
    }

    /// Writes the hours that have grown since the last time, some at a time: `put` gets the name
    /// of the writer and the hours. What can't be written is written the next time.
    ///
    /// # Errors
    /// The first error of `put`, with nothing written after it.
    pub async fn flush<F, P>(&self, put: F) -> Result<(), StoreError>
    where
        F: Fn(Arc<str>, Vec<RollupHour>) -> P,
        P: Future<Output = Result<(), StoreError>>,
    {
        let taken = self.take();
        let mut batches = taken.chunks(BATCH);
        while let Some(batch) = batches.next() {
            if let Err(error) = put(Arc::clone(&self.writer), batch.to_vec()).await {
                self.give_again(batch);
                batches.for_each(|rest| self.give_again(rest));
                return Err(error);
            }
        }
        Ok(())
    }

    fn take(&self) -> Vec<RollupHour> {
        let mut taken = Vec::new();
        for (check, tally) in self.lock().iter_mut() {
            taken.extend(tally.take().into_iter().map(|(start, rollup)| RollupHour {
                check: check.clone(),
                start,
                rollup,
            }));
        }
        taken
    }

    fn give_again(&self, hours: &[RollupHour]) {
        let mut tallies = self.lock();
        for hour in hours {
            if let Some(tally) = tallies.get_mut(&hour.check) {
                tally.give_again(hour.start);
            }
        }
    }

    /// What is held of a check, for who reads what is stored of it as well.
    #[must_use]
    pub fn live(&self, check: &CheckId) -> LiveHours {
        let tallies = self.lock();
        let hours = tallies
            .get(check)
            .map(|tally| tally.hours().map(|(start, rollup)| (start, rollup.clone())).collect());
        LiveHours { writer: self.writer.to_string(), hours: hours.unwrap_or_default() }
    }

    /// Lets go of all other checks, once what they did is written: they are not there any more.
    pub fn retain(&self, checks: &HashSet<CheckId>) {
        self.lock().retain(|check, tally| checks.contains(check) || !tally.is_taken());
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<CheckId, Tally>> {
        self.tallies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
