//! End to end: the real binary, real upstreams, what the API and the command line say.

mod bad_input;
mod cli;
mod crash;
mod host;
mod hostile;
mod nginx;
mod reachability;
mod records;
mod stopping;
