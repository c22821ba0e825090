//! The monitor and the schedule on a driven clock, with a prober and a store that play a part.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    unreachable_pub
)]

mod fakes;
mod probing;
mod recording;
mod rollups;
mod scheduling;
mod stopping;
