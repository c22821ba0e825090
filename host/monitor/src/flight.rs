//! The probes in flight, and who waits for each.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use probehost_model::{CheckId, Timestamp, Trigger};
use tokio::sync::watch;

use crate::{ProbeError, ProbeResult};

/// What a probe came to. Shared by all who wait for it.
pub(crate) type Landing = Result<Arc<ProbeResult>, ProbeError>;

/// Waits for one probe; many can wait for the same.
#[derive(Debug, Clone)]
pub(crate) struct Waiter(watch::Receiver<Option<Landing>>);

impl Waiter {
    /// What the probe came to.
    pub(crate) async fn landed(mut self) -> Landing {
        let gone = || ProbeError::Abandoned { met: "the task of the probe is gone".to_owned() };
        let landed = self.0.wait_for(Option::is_some).await.map_err(|_| gone())?;
        landed.clone().unwrap_or_else(|| Err(gone()))
    }
}

/// The probes in flight. One check can have one of each trigger: a probe by hand shows what
/// is so after the request, one after a save is about the new config, and neither can be
/// answered by a scheduled probe that began before.
#[derive(Debug, Default)]
pub(crate) struct Flights {
    numbers: AtomicU64,
    by_check: Mutex<HashMap<CheckId, Vec<Flight>>>,
}

#[derive(Debug)]
struct Flight {
    number: u64,
    /// The save that the probe saw.
    updated_at: Timestamp,
    trigger: Trigger,
    waiter: Waiter,
    principals: Vec<String>,
    /// No longer: the result is being recorded in the name of those who asked so far.
    shareable: bool,
}

/// Ends the flight when the probe's task ends, however it ends.
pub(crate) struct Boarding {
    flights: Arc<Flights>,
    check: CheckId,
    number: u64,
    sender: watch::Sender<Option<Landing>>,
}

/// What asking for a flight gives.
pub(crate) enum Departure {
    /// A new flight: its task must land it.
    New(Boarding, Waiter),
    /// One with the same trigger is in flight already, and is shared.
    Shared(Waiter),
    /// The check is being probed, and a scheduled probe is not queued (contract S3).
    Busy,
}

impl Flights {
    /// Boards a flight for `check` as it was saved at `updated_at`: a scheduled one only when
    /// there is none at all (contract S3), any other unless there is one with the same trigger
    /// to share (contract S7). One that began before a save is not shared after it: what it
    /// finds is about what was, and is not recorded (contract T8).
    pub(crate) fn board(
        self: &Arc<Self>,
        check: &CheckId,
        updated_at: Timestamp,
        trigger: Trigger,
        principal: &str,
    ) -> Departure {
        let mut flights = self.lock();
        let of_check = flights.entry(check.clone()).or_default();
        if trigger == Trigger::Scheduled && !of_check.is_empty() {
            return Departure::Busy;
        }
        let shared = |flight: &&mut Flight| {
            flight.shareable && flight.trigger == trigger && flight.updated_at == updated_at
        };
        if let Some(flight) = of_check.iter_mut().find(shared) {
            if !flight.principals.iter().any(|known| known == principal) {
                flight.principals.push(principal.to_owned());
            }
            return Departure::Shared(flight.waiter.clone());
        }
        let (sender, receiver) = watch::channel(None);
        let waiter = Waiter(receiver);
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        of_check.push(Flight {
            number,
            updated_at,
            trigger,
            waiter: waiter.clone(),
            principals: vec![principal.to_owned()],
            shareable: true,
        });
        let boarding = Boarding { flights: Arc::clone(self), check: check.clone(), number, sender };
        Departure::New(boarding, waiter)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<CheckId, Vec<Flight>>> {
        self.by_check.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Boarding {
    /// Closes the flight to others and names everyone who asked for it, for the audit:
    /// `alice, bob`. Who asks from now on gets a probe of their own.
    pub(crate) fn close(&self) -> String {
        let mut flights = self.flights.lock();
        let of_check = flights.get_mut(&self.check).map(Vec::as_mut_slice).unwrap_or_default();
        let Some(own) = of_check.iter_mut().find(|flight| flight.number == self.number) else {
            return String::new();
        };
        own.shareable = false;
        own.principals.join(", ")
    }

    /// Takes the flight off the list, then tells everyone who waits.
    pub(crate) fn land(self, landing: Landing) {
        self.remove();
        self.sender.send_replace(Some(landing));
    }

    fn remove(&self) {
        let mut flights = self.flights.lock();
        if let Some(of_check) = flights.get_mut(&self.check) {
            of_check.retain(|flight| flight.number != self.number);
            if of_check.is_empty() {
                flights.remove(&self.check);
            }
        }
    }
}

impl Drop for Boarding {
    fn drop(&mut self) {
        self.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check() -> CheckId {
        CheckId::new("web", "head")
    }

    fn board(flights: &Arc<Flights>, trigger: Trigger, principal: &str) -> Departure {
        flights.board(&check(), Timestamp::from_micros(1), trigger, principal)
    }

    fn new(departure: Departure) -> Boarding {
        match departure {
            Departure::New(boarding, _) => boarding,
            Departure::Shared(_) | Departure::Busy => panic!("a new flight was expected"),
        }
    }

    /// S3: a scheduled probe is skipped whatever else is in flight.
    #[test]
    fn scheduled_is_never_queued() {
        for trigger in Trigger::ALL {
            let flights = Arc::default();
            let flight = new(board(&flights, trigger, "alice"));
            assert!(matches!(board(&flights, Trigger::Scheduled, "system"), Departure::Busy));
            drop(flight);
            new(board(&flights, Trigger::Scheduled, "system"));
        }
    }

    /// S7: probes by hand share one run, and the audit names everyone who asked for it.
    #[test]
    fn by_hand_is_shared_until_it_is_recorded() {
        let flights = Arc::default();
        let _scheduled = new(board(&flights, Trigger::Scheduled, "system"));
        let manual = new(board(&flights, Trigger::Manual, "alice"));
        for principal in ["bob", "alice"] {
            let shared = board(&flights, Trigger::Manual, principal);
            assert!(matches!(shared, Departure::Shared(_)));
        }
        assert_eq!(manual.close(), "alice, bob");
        let next = new(board(&flights, Trigger::Manual, "carol"));
        manual.land(Err(ProbeError::Abandoned { met: String::new() }));
        assert_eq!(next.close(), "carol");
    }

    /// T7, T8: what began before a save does not answer for what is so after it.
    #[test]
    fn a_flight_from_before_a_save_is_not_shared() {
        let flights = Arc::default();
        for trigger in [Trigger::Saved, Trigger::Manual] {
            let _before = new(board(&flights, trigger, "alice"));
            let saved = Timestamp::from_micros(2);
            let after = flights.board(&check(), saved, trigger, "bob");
            assert_eq!(new(after).close(), "bob");
        }
    }

    #[tokio::test]
    async fn a_flight_that_is_lost_tells_its_waiters() {
        let flights = Arc::default();
        let Departure::New(boarding, waiter) = board(&flights, Trigger::Saved, "system") else {
            panic!("a new flight was expected")
        };
        drop(boarding);
        assert!(matches!(waiter.landed().await, Err(ProbeError::Abandoned { .. })));
        new(board(&flights, Trigger::Saved, "system"));
    }
}
