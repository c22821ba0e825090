//! The healer on a driven clock, in a small world of targets that die, start and hang.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    unreachable_pub
)]

mod asking;
mod backoff;
mod crashing;
mod disabling;
mod fakes;
mod healing;
mod outage;
mod pool;
mod scene;
mod shelf;
mod sighting;
mod stopping;
mod storm;
mod syncing;
mod updating;
