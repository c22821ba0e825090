//! End to end: the real binary, real upstreams, what the API and the command line say.

mod host;
mod nginx;
mod reachability;
mod records;
