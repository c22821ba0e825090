//! The store against real databases, one module per part of the contract.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests fail as tests do"
)]

mod backend;
mod common;
mod crash;
mod events;
mod history;
mod lifecycle;
mod notifying;
mod outage;
mod property;
mod recording;
mod saving;
mod server;
mod sharing;
mod writing;
