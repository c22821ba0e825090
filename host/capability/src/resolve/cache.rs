//! Answers that are still valid.
//!
//! hickory keeps records; a probe needs both families of a name's addresses at once. Asking
//! hickory for them costs tens of microseconds, and a packet each time where a name has no
//! IPv6 address and its zone does not say for how long: too much for what runs before each probe.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Most names that are kept.
const MAX_NAMES: usize = 4096;

/// Addresses by name, each until its time to live is over.
#[derive(Debug, Default)]
pub(super) struct Cache(Mutex<HashMap<String, Entry>>);

#[derive(Debug)]
struct Entry {
    addresses: Vec<IpAddr>,
    valid_until: Instant,
}

impl Cache {
    pub(super) fn get(&self, name: &str, now: Instant) -> Option<Vec<IpAddr>> {
        let names = self.names();
        let entry = names.get(name).filter(|entry| now < entry.valid_until)?;
        Some(entry.addresses.clone())
    }

    pub(super) fn put(&self, name: &str, addresses: &[IpAddr], valid_until: Instant, now: Instant) {
        let mut names = self.names();
        if names.len() >= MAX_NAMES {
            names.retain(|_, entry| now < entry.valid_until);
        }
        // With so many names at once the further ones are asked for each time.
        if names.len() < MAX_NAMES && now < valid_until {
            names.insert(name.to_owned(), Entry { addresses: addresses.to_vec(), valid_until });
        }
    }

    fn names(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// An answer is good until its time to live is over, and not after it.
    #[test]
    fn keeps_answers_for_their_time_to_live() {
        let (cache, now) = (Cache::default(), Instant::now());
        let address: IpAddr = "10.0.0.1".parse().unwrap();
        cache.put("a.example", &[address], now + Duration::from_secs(30), now);
        cache.put("zero.example", &[address], now, now);
        assert_eq!(cache.get("a.example", now + Duration::from_secs(29)), Some(vec![address]));
        assert_eq!(cache.get("a.example", now + Duration::from_secs(30)), None);
        assert_eq!(cache.get("zero.example", now), None);
    }

    /// It does not grow without bound, and what has expired makes room.
    #[test]
    fn is_bounded() {
        let (cache, now) = (Cache::default(), Instant::now());
        let until = now + Duration::from_secs(1);
        for n in 0..=MAX_NAMES {
            cache.put(&n.to_string(), &[], until, now);
        }
        assert_eq!(cache.names().len(), MAX_NAMES);
        assert_eq!(cache.get(&MAX_NAMES.to_string(), now), None);
        cache.put("new", &[], until + Duration::from_secs(1), until);
        assert_eq!(cache.names().len(), 1);
    }
}
