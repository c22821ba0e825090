//! The store against a real database file, one module per part of the contract.

mod common;
mod recording;
