//! The notifier on a driven clock, with a store and sinks that are made by hand, and its wire
//! against real receivers.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests fail as tests do"
)]

mod delivering;
mod fakes;
mod planning;
