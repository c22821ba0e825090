//! Targets, records, transitions and audit on a SQL database.
//!
//! One statement decides each observation (contract R1, [`Store::record`]); a save of the
//! targets is one transaction ([`Store::sync_file_targets`]). Every write goes through one
//! task that owns the only writing connection, so that writers never wait for each other's
//! locks, and that commits whatever has queued up meanwhile as one transaction. Readers have
//! connections of their own and never wait for it.
//!
//! This is the only part of probehost that speaks SQL. What SQLite spells in its own way
//! stands in `dialect`.

mod batch;
mod change;
mod dialect;
mod error;
mod filter;
mod history;
mod integrity;
mod observe;
mod open;
mod read;
mod rows;
mod save;
mod store;
mod stored;
mod writer;

pub use error::StoreError;
pub use filter::{AuditFilter, MAX_PAGE, TransitionFilter};
pub use observe::{Recorded, Write};
pub use open::{Options, Synchronous};
pub use read::StoredTarget;
pub use save::SaveReport;
pub use store::Store;
