//! The page, in a real Chromium.

mod access;
mod browser;
mod driver;
mod fleet;
mod measured;
mod reconnecting;
mod tabs;
mod target;

pub(crate) use browser::Browser;

use probehost_test_support::wait::eventually;

use crate::host::LIMIT;

/// Waits until the rows are these, in this order.
async fn until_rows<F>(what: &str, look: impl Fn() -> F, wanted: &[&str])
where
    F: Future<Output = Vec<String>>,
{
    eventually(what, LIMIT, look, |rows: &Vec<String>| rows == wanted).await;
}
