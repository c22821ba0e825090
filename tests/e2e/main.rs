//! End to end: the real binary, real upstreams, what the API and the command line say.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a helper of a test fails like the test itself"
)]

mod access;
mod audit;
mod backup;
mod bad_input;
mod by_hand;
mod changes;
mod cli;
mod containers;
mod crash;
mod description;
mod events;
mod examples_other;
mod healing;
mod host;
mod hostile;
mod hostile_c;
mod mcp;
mod nginx;
mod notify;
mod packaging;
mod page;
mod plugin_road;
mod plugin_tools;
mod postgres;
mod proof;
mod reachability;
mod records;
mod reloading;
mod rollups;
mod ssh;
mod ssh_faults;
mod ssh_stopping;
mod stopping;
mod ways_in;
