//! A store in memory that follows the real one's rules, and can fail or be overtaken.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use probehost_healer::ports::Records;
use probehost_model::lifecycle::{LifecycleRecord, LifecycleState};
use probehost_model::{CheckId, Observation, Record, Target, advance};
use probehost_monitor::ports::CheckSeen;
use probehost_store::{LifecycleWrite, StoreError, StoredTarget};
use tokio::time::sleep;

use crate::fakes::{BASE, millis};

/// How long a save takes.
const SAVE: Duration = millis(1);

/// Where in its saves a host dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Death {
    /// Its save of that number, from 1, does not land.
    Before(usize),
    /// Its save of that number lands, and nothing is done for it any more.
    After(usize),
}

/// Whether a host is alive.
#[derive(Debug, Clone, Default)]
pub struct Life(Arc<AtomicBool>);

impl Life {
    pub fn is_over(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    pub fn end(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Never returns to the dead.
    pub async fn or_dead(&self) {
        if self.is_over() {
            std::future::pending::<()>().await;
        }
    }
}

#[derive(Default)]
struct Books {
    targets: BTreeMap<String, Target>,
    checks: HashMap<CheckId, Record>,
    records: BTreeMap<String, LifecycleRecord>,
    writes: Vec<LifecycleWrite>,
    tries: usize,
    down: bool,
    deaf: bool,
    deaf_after: Option<usize>,
    overtake: usize,
}

/// What all hosts share.
#[derive(Clone, Default)]
pub struct Shelf(Arc<Mutex<Books>>);

impl Shelf {
    fn with<T>(&self, change: impl FnOnce(&mut Books) -> T) -> T {
        change(&mut self.0.lock().unwrap())
    }

    pub fn add(&self, target: Target) {
        self.with(|books| books.targets.insert(target.id.clone(), target));
    }

    /// Changes a target. One that is restarted in another way, or not at all, is forgotten.
    pub fn edit(&self, id: &str, change: impl FnOnce(&mut Target)) {
        self.with(|books| {
            let target = books.targets.get_mut(id).unwrap();
            let runtime = |target: &Target| target.managed.as_ref().map(|m| m.runtime.clone());
            let before = runtime(target);
            change(target);
            target.updated_at = target.updated_at.plus(millis(1));
            if runtime(target) != before {
                books.records.remove(id);
            }
        });
    }

    pub fn delete(&self, id: &str) {
        self.with(|books| {
            books.targets.remove(id);
            books.records.remove(id);
        });
    }

    pub fn targets(&self) -> Vec<StoredTarget> {
        self.with(|books| {
            let stored = |target: &Target| StoredTarget {
                target: target.clone(),
                records: target
                    .checks
                    .iter()
                    .filter_map(|check| {
                        let record = books.checks.get(&target.check_id(check))?;
                        Some((check.name.clone(), record.clone()))
                    })
                    .collect(),
            };
            books.targets.values().map(stored).collect()
        })
    }

    /// Records a probe, as the store does; none: it did not land (contract R2).
    pub fn observe(&self, check: &CheckSeen, seen: &Observation) -> Option<Record> {
        self.with(|books| {
            let target = books.targets.get(&check.id.target)?;
            if !target.enabled || target.updated_at != check.seen_updated_at || books.down {
                return None;
            }
            let prior = books.checks.get(&check.id);
            let record = advance(prior, seen, check.thresholds).ok()?;
            books.checks.insert(check.id.clone(), record.clone());
            Some(record)
        })
    }

    /// Nothing can be read or written.
    pub fn set_down(&self, down: bool) {
        self.with(|books| books.down = down);
    }

    /// Lifecycles can't be read or written; probes are still recorded.
    pub fn set_deaf(&self, deaf: bool) {
        self.with(|books| books.deaf = deaf);
    }

    /// As [`Shelf::set_deaf`], once so many more saves have landed.
    pub fn deaf_after(&self, saves: usize) {
        self.with(|books| books.deaf_after = Some(saves));
    }

    /// Before each of the next `times` saves another host saves the same record as it is.
    pub fn overtake(&self, times: usize) {
        self.with(|books| books.overtake = times);
    }

    /// How many saves were tried.
    pub fn tries(&self) -> usize {
        self.with(|books| books.tries)
    }

    /// What landed, in order.
    pub fn writes(&self, target: &str) -> Vec<LifecycleWrite> {
        self.with(|books| books.writes.iter().filter(|w| w.target == target).cloned().collect())
    }

    pub fn record(&self, target: &str) -> Option<LifecycleRecord> {
        self.with(|books| books.records.get(target).cloned())
    }

    pub fn plant(&self, target: &str, record: LifecycleRecord) {
        self.with(|books| books.records.insert(target.to_owned(), record));
    }

    /// When each state was entered, from [`BASE`]. The history has no gaps.
    pub fn history(&self, target: &str) -> Vec<(Duration, LifecycleState)> {
        let writes = self.writes(target);
        let all: Vec<_> = writes.into_iter().flat_map(|write| write.transitions).collect();
        for pair in all.windows(2) {
            assert_eq!(pair[0].to, pair[1].from, "a gap in the history: {all:#?}");
            assert!(pair[0].at <= pair[1].at, "the history goes back in time: {all:#?}");
        }
        all.iter().map(|made| (made.at.since(BASE), made.to)).collect()
    }

    pub fn states(&self, target: &str) -> Vec<LifecycleState> {
        self.history(target).into_iter().map(|(_, state)| state).collect()
    }

    /// The audit, as `action outcome`; contract A1 has the transitions by themselves.
    pub fn audit(&self, target: &str) -> Vec<String> {
        let row =
            |done: probehost_store::LifecycleAudit| format!("{} {}", done.action, done.outcome);
        self.writes(target).into_iter().flat_map(|write| write.audit).map(row).collect()
    }

    /// The numbers of the restarts that were issued.
    pub fn issued(&self, target: &str) -> Vec<u64> {
        let number = |row: &String| {
            let rest = row.strip_prefix("restart restart ")?;
            rest.strip_suffix(": issued")?.parse().ok()
        };
        self.audit(target).iter().filter_map(number).collect()
    }

    pub fn pool_events(&self, target: &str) -> Vec<bool> {
        self.writes(target).into_iter().filter_map(|write| write.poolable).collect()
    }
}

pub fn out_of_reach() -> StoreError {
    StoreError::Disk { database: "probehost.db".to_owned(), detail: "disk I/O error".to_owned() }
}

/// The shelf, as one host has it before it.
pub struct Desk {
    pub shelf: Shelf,
    pub life: Life,
    pub death: Option<Death>,
    pub landed: AtomicUsize,
}

impl Desk {
    fn apply(&self, write: LifecycleWrite) -> Result<bool, StoreError> {
        self.shelf.with(|books| {
            books.tries += 1;
            if books.down || books.deaf {
                return Err(out_of_reach());
            }
            let LifecycleWrite { target, record, .. } = &write;
            if books.targets.get(target).is_none_or(|target| target.managed.is_none()) {
                return Ok(false);
            }
            if let Some(stored) = books.records.get_mut(target).filter(|_| books.overtake > 0) {
                books.overtake -= 1;
                stored.revision += 1;
            }
            let stored = books.records.get(target).map_or(0, |record| record.revision);
            if stored + 1 != record.revision {
                return Ok(false);
            }
            books.records.insert(target.clone(), record.clone());
            books.writes.push(write);
            books.deaf_after = books.deaf_after.map(|left| left.saturating_sub(1));
            if books.deaf_after == Some(0) {
                (books.deaf, books.deaf_after) = (true, None);
            }
            Ok(true)
        })
    }
}

impl Records for Desk {
    async fn save(&self, write: LifecycleWrite) -> Result<bool, StoreError> {
        self.life.or_dead().await;
        sleep(SAVE).await;
        if self.death == Some(Death::Before(self.landed.load(Ordering::SeqCst) + 1)) {
            self.life.end();
        }
        self.life.or_dead().await;
        let landed = self.apply(write)?;
        if landed {
            let number = self.landed.fetch_add(1, Ordering::SeqCst) + 1;
            if self.death == Some(Death::After(number)) {
                self.life.end();
            }
        }
        self.life.or_dead().await;
        Ok(landed)
    }

    async fn one(&self, target: &str) -> Result<Option<LifecycleRecord>, StoreError> {
        self.shelf.with(|books| {
            if books.down || books.deaf {
                return Err(out_of_reach());
            }
            Ok(books.records.get(target).cloned())
        })
    }

    async fn all(&self) -> Result<Vec<(String, LifecycleRecord)>, StoreError> {
        sleep(SAVE).await;
        self.shelf.with(|books| {
            if books.down || books.deaf {
                return Err(out_of_reach());
            }
            Ok(books.records.clone().into_iter().collect())
        })
    }
}
