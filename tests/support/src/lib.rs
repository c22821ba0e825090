//! What the tests and the demo share: upstreams that misbehave on purpose, certificates, bounded waiting, and guards
//! around real processes.
//!
//! Everything here cleans up when it is dropped: an upstream's thread has ended, a process is dead and reaped, a
//! folder is gone. Upstreams run on threads of their own, so they answer while a test blocks, and they stay out of
//! the way of a test that pauses tokio's clock or counts its own tasks.

pub mod certs;
pub mod dns;
pub mod docker;
pub mod engine;
pub mod http;
pub mod installed;
pub mod mcp;
pub mod nginx;
pub mod postgres;
pub mod probehost;
pub mod process;
pub mod raw;
pub mod receiver;
pub mod redis;
pub mod smtp;
pub mod sse;
pub mod ssh;
pub mod udp;
pub mod upstream;
pub mod wait;
pub mod wasm_c;
