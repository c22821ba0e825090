//! Sizes and times for people.

use std::time::Duration;

/// `97.2 KiB`.
#[allow(clippy::cast_precision_loss, reason = "for people")]
pub(super) fn bytes(bytes: u64) -> String {
    match bytes {
        small if small < 1024 => format!("{small} bytes"),
        kib if kib < 1 << 20 => format!("{:.1} KiB", kib as f64 / 1024.0),
        mib => format!("{:.1} MiB", mib as f64 / 1_048_576.0),
    }
}

/// `0.4 ms`, `1.31 s`.
pub(super) fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 1.0 { format!("{:.1} ms", seconds * 1e3) } else { format!("{seconds:.2} s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times() {
        let sizes = [7, 2048, 18_532_695].map(bytes);
        assert_eq!(sizes, ["7 bytes", "2.0 KiB", "17.7 MiB"]);
        let times = [400, 999_000, 11_000_000].map(|us| time(Duration::from_micros(us)));
        assert_eq!(times, ["0.4 ms", "999.0 ms", "11.00 s"]);
    }
}
