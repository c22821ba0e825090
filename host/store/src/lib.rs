//! Targets, records, transitions and audit on a SQL database.
//!
//! One statement decides each observation (contract R1, [`Store::record`]); a save of the
//! targets is one transaction ([`Store::sync_file_targets`]). Every write goes through one
//! task that owns the only writing connection, so that writers never wait for each other's
//! locks, and that commits whatever has queued up meanwhile as one transaction. Readers have
//! connections of their own and never wait for it.
//!
//! The database is an SQLite file, or lies on a PostgreSQL server, where several hosts may
//! write to it ([`Location`]). This is the only part of probehost that speaks SQL: one set of
//! statements for both databases. What each spells in its own way stands in `dialect`, with why
//! hosts that write at the same time can't harm each other.

mod audit_log;
mod batch;
mod chain;
mod change;
mod compaction;
mod conn;
mod dialect;
mod error;
mod events;
mod failure;
mod filter;
mod history;
mod integrity;
mod lifecycle;
mod link;
mod location;
mod notify;
mod observe;
mod open;
mod options;
mod overview;
mod postgres;
mod read;
mod rollups;
mod rows;
mod save;
mod schema;
mod set_back;
mod sqlite;
mod store;
mod stored;
mod tokens;
mod writer;

pub use audit_log::{AuditLog, AuditReport};
pub use error::StoreError;
pub use events::EventBounds;
pub use filter::{AuditFilter, MAX_PAGE, TargetFilter, TransitionFilter};
pub use lifecycle::{LifecycleAudit, LifecycleWrite, StoredTransition};
pub use location::Location;
pub use notify::{
    Delivery, DeliveryFilter, Due, NewDelivery, NotifyPlan, NotifyState, ProblemKey, ProblemRow,
    Settled, SinkCounts,
};
pub use observe::{Recorded, Write};
pub use options::{Options, Synchronous};
pub use overview::{CheckStatus, TargetsVersion};
pub use read::StoredTarget;
pub use rollups::{LiveHours, RollupHour};
pub use save::SaveReport;
pub use set_back::FromTheFuture;
pub use store::Store;
pub use tokens::Session;
