//! What plugins did wrong since the host started, so that one that keeps doing it is seen
//! (contract P5): its checks become `unknown`, never `unhealthy`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use probehost_model::Timestamp;
use tracing::warn;

/// After so many faults in a row, and whenever there are twice as many, the log says so.
const IN_A_ROW: u32 = 3;

/// The faults of every plugin, by probe kind. Cheap to clone; every clone is the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Faults(Arc<Mutex<BTreeMap<String, FaultRecord>>>);

/// The faults of one plugin since the host started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FaultRecord {
    /// All of them.
    pub(crate) count: u64,
    /// In a row, up to the last run.
    pub(crate) in_a_row: u32,
    /// What the last one was, for people.
    pub(crate) last: String,
    /// When that was.
    pub(crate) last_at: Option<Timestamp>,
}

impl Faults {
    /// A run of the kind has ended, with a fault of the plugin or without.
    pub(crate) fn note(&self, kind: &str, fault: Option<&str>, at: Timestamp) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(fault) = fault else {
            if let Some(record) = all.get_mut(kind) {
                record.in_a_row = 0;
            }
            return;
        };
        let record = all.entry(kind.to_owned()).or_default();
        record.count = record.count.saturating_add(1);
        record.in_a_row = record.in_a_row.saturating_add(1);
        fault.clone_into(&mut record.last);
        record.last_at = Some(at);
        let (count, in_a_row) = (record.count, record.in_a_row);
        if in_a_row >= IN_A_ROW
            && (in_a_row / IN_A_ROW).is_power_of_two()
            && in_a_row % IN_A_ROW == 0
        {
            warn!(
                kind,
                in_a_row,
                count,
                fault,
                "the plugin keeps failing; its checks say nothing of their targets until it is mended"
            );
        }
    }

    /// The faults of a kind; none when there was none.
    #[must_use]
    pub(crate) fn of(&self, kind: &str) -> Option<FaultRecord> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(kind).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P5: faults are counted, in all and in a row, kind by kind.
    #[test]
    fn faults_are_counted() {
        let faults = Faults::default();
        let at = Timestamp::from_micros;
        faults.note("odd", None, at(1));
        assert_eq!(faults.of("odd"), None);
        faults.note("odd", Some("trapped"), at(2));
        faults.note("odd", Some("looped"), at(3));
        let record = faults.of("odd").unwrap();
        assert_eq!((record.count, record.in_a_row, record.last.as_str()), (2, 2, "looped"));
        faults.note("odd", None, at(4));
        let record = faults.of("odd").unwrap();
        assert_eq!((record.count, record.in_a_row, record.last_at), (2, 0, Some(at(3))));
        assert_eq!(faults.of("well"), None);
    }
}
