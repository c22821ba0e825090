//! The sandbox against plugins that misbehave, and files that are no plugins.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a helper of a test fails like the test itself"
)]

mod catalog;
mod company;
mod deadline;
mod fixtures;
mod support;
mod wasi;
