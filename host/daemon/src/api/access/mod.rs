//! Who asks, and what they may do (contract E4).

mod gate;
mod guard;
mod identity;
mod secret;
pub(super) mod session;

pub(crate) use gate::Gate;
pub(super) use guard::{admin, enter, operator};
pub(crate) use identity::Identity;
pub(crate) use secret::{fresh, hash};
