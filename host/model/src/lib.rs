//! Types and rules of probehost.
//!
//! Pure: nothing here does I/O, awaits, or reads a clock. Time comes in as a value
//! ([`Timestamp`]), so that every rule can be tested as a table. Nothing of ours is
//! imported, and everything else imports this.

mod access;
mod audit;
mod cadence;
mod chain;
mod endpoint;
mod event;
pub mod grant;
mod ids;
mod interval;
mod layer;
pub mod lifecycle;
mod managed;
pub mod notify;
mod outcome;
mod reason;
mod record;
mod rollup;
mod status;
mod tally;
mod target;
mod text;
mod time;
mod transition;
mod window;
mod words;

pub use access::{AccessRole, Token};
pub use audit::{Action, AuditEntry, SYSTEM_PRINCIPAL};
pub use cadence::{next_due, phase_of};
pub use chain::{ChainFault, ChainHash, ChainLink, ChainReader, ChainRow, HashError};
pub use endpoint::{Endpoint, Origin, Plan, Scheme};
pub use event::{Change, ChangeEvent, EventKind};
pub use ids::{CheckId, IdError, MAX_ID_BYTES, check_id_text};
pub use interval::{Clamp, EffectiveInterval, IntervalBounds, IntervalSetting};
pub use layer::Layer;
pub use managed::{Managed, Runtime};
pub use outcome::{Failure, Measurement, Outcome, Unit};
pub use reason::Reason;
pub use record::{Observation, Record, Refusal, Thresholds, advance, reset};
pub use rollup::{Latency, LatencyError, Rollup, Step};
pub use status::Status;
pub use tally::{Counted, Tally};
pub use target::{Check, Role, Source, Target};
pub use text::{MAX_MESSAGE_BYTES, sanitize};
pub use time::Timestamp;
pub use transition::{Transition, Trigger};
pub use window::{Sample, Window, WindowSummary};
pub use words::UnknownWord;
