//! The store against real databases, one module per part of the contract.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests fail as tests do"
)]

mod backend;
mod chain;
mod common;
mod crash;
mod events;
mod history;
mod lifecycle;
mod listing;
mod notifying;
mod outage;
mod overview;
mod property;
mod recording;
mod rollups;
mod saving;
mod server;
mod set_back;
mod sharing;
mod tokens;
mod writing;
