//! Invariants that hold after every commit, and so also after a crash.

use crate::{Store, StoreError, rows};

/// Each part finds what must not be, and says it in one text for people.
const VIOLATIONS: &str = "
SELECT 'transition ' || transitions.id || ' of ' || transitions.target_id || '/'
       || transitions.check_name || ' has no audit row that tells the same'
  FROM transitions
 WHERE NOT EXISTS (SELECT 1 FROM audit
                    WHERE audit.transition_id = transitions.id
                      AND audit.action IN ('transition', 'probe')
                      AND audit.at = transitions.at
                      AND audit.target_id = transitions.target_id
                      AND audit.check_name = transitions.check_name
                      AND audit.\"from\" = transitions.\"from\"
                      AND audit.\"to\" = transitions.\"to\"
                      AND audit.\"trigger\" = transitions.\"trigger\")
UNION ALL
SELECT 'audit row ' || audit.id || ' tells of a change of status without a transition'
  FROM audit
 WHERE audit.action IN ('transition', 'probe') AND audit.\"from\" <> audit.\"to\"
   AND NOT EXISTS (SELECT 1 FROM transitions WHERE transitions.id = audit.transition_id)
UNION ALL
SELECT 'the record of ' || records.target_id || '/' || records.check_name || ' is '
       || records.status || ' in place of ' || records.replaced_status
       || ' and no transition says so'
  FROM records
 WHERE records.status <> records.replaced_status
   AND records.last_attempt_at >= (SELECT at FROM audit_anchor)
   AND NOT EXISTS (SELECT 1 FROM transitions
                    WHERE transitions.target_id = records.target_id
                      AND transitions.check_name = records.check_name
                      AND transitions.at = records.last_attempt_at
                      AND transitions.\"from\" = records.replaced_status
                      AND transitions.\"to\" = records.status)
UNION ALL
SELECT 'the record of ' || records.target_id || '/' || records.check_name
       || ' belongs to a target that is deleted'
  FROM records JOIN targets ON targets.id = records.target_id
 WHERE targets.deleted_at IS NOT NULL
UNION ALL
SELECT 'the record of ' || records.target_id || '/' || records.check_name
       || ' belongs to no check'
  FROM records
 WHERE NOT EXISTS (SELECT 1 FROM checks WHERE checks.target_id = records.target_id
                      AND checks.name = records.check_name)";

impl Store {
    /// Looks for what must never be: a transition without its audit row or the reverse, a
    /// changed status without its transition (contract R3), a record of a deleted target or of
    /// no check (contract R9). One text for people per finding; empty when all is well.
    ///
    /// Reads the whole history: for tests and for a look by hand.
    ///
    /// # Errors
    /// The database can't be read.
    pub async fn check_integrity(&self) -> Result<Vec<String>, StoreError> {
        let found = self.read(VIOLATIONS, &[]).await?;
        found.iter().map(|row| rows::get(row, 0)).collect()
    }
}
