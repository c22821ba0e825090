//! The ssh capability against real servers, and against ones that play scripts: every kind of
//! error, provoked, and nothing left behind.

// Helpers of tests may fail as tests do.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod identities;
mod jumps;
mod leftovers;
mod pins;
mod scripted;
mod served;
mod servers;
mod soak;
mod support;
