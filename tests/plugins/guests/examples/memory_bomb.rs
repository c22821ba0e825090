//! Takes memory in `check` until there is no more.

use probehost_test_guests::{Context, Odd, Report};

struct Fixture;

impl Odd for Fixture {
    fn check(_: String, _: Context) -> Report {
        let mut hoard: Vec<Vec<u8>> = Vec::new();
        loop {
            hoard.push(std::hint::black_box(vec![1; 1 << 20]));
        }
    }
}

probehost_test_guests::odd!(Fixture);
