//! When maintenance windows are open.

use std::time::Duration;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use probehost_model::Timestamp;
use probehost_model::notify::{Maintenance, MaintenanceTime};

/// Until when the window is open, when it is at `at`.
///
/// A window that opens at an hour that the zone's clock skips opens when the clock has gone on; one
/// at an hour that comes twice opens the first time. It then lasts as long as it is said to.
#[must_use]
pub fn open_until(window: &Maintenance, at: Timestamp) -> Option<Timestamp> {
    match &window.when {
        MaintenanceTime::Once { from, until } => (*from <= at && at < *until).then_some(*until),
        MaintenanceTime::Weekly { days, minute, lasts, zone } => {
            let zone = TimeZone::get(zone).unwrap_or(TimeZone::UTC);
            let now = jiff::Timestamp::from_microsecond(at.as_micros()).ok()?;
            let mut day = now.to_zoned_datetime(zone.clone()).date();
            let most = lasts.as_secs() / 86_400 + 1;
            // The latest end of those that opened today or on the days before.
            let mut latest = None;
            for _ in 0..=most {
                let weekday = day.weekday().to_monday_zero_offset().unsigned_abs();
                if days.contains(&weekday)
                    && let Some(until) = opened(day, *minute, *lasts, &zone, at)
                {
                    latest = latest.max(Some(until));
                }
                day = day.yesterday().ok()?;
            }
            latest
        }
    }
}

/// Until when the window that opens on that day is open, when it is at `at`.
fn opened(
    day: Date,
    minute: u16,
    lasts: Duration,
    zone: &TimeZone,
    at: Timestamp,
) -> Option<Timestamp> {
    let (hour, minute) = (i8::try_from(minute / 60).ok()?, i8::try_from(minute % 60).ok()?);
    let start = day.at(hour, minute, 0, 0).to_zoned_datetime(zone.clone()).ok()?.timestamp();
    let start = Timestamp::from_micros(start.as_microsecond());
    let until = start.plus(lasts);
    (start <= at && at < until).then_some(until)
}

#[cfg(test)]
mod tests {
    use super::*;
    use probehost_model::notify::Selection;

    fn at(text: &str) -> Timestamp {
        Timestamp::from_micros(text.parse::<jiff::Timestamp>().unwrap().as_microsecond())
    }

    fn weekly(days: &[u8], minute: u16, hours: u64, zone: &str) -> Maintenance {
        Maintenance {
            name: "patching".into(),
            of: Selection::default(),
            when: MaintenanceTime::Weekly {
                days: days.to_vec(),
                minute,
                lasts: Duration::from_hours(hours),
                zone: zone.into(),
            },
        }
    }

    fn until(window: &Maintenance, text: &str) -> Option<String> {
        open_until(window, at(text)).map(|until| until.to_string().replace(".000000", ""))
    }

    /// E5: a single window is open from its begin until just before its end.
    #[test]
    fn a_single_window() {
        let (from, end) = (at("2026-11-30T02:00:00Z"), at("2026-11-30T04:00:00Z"));
        let when = MaintenanceTime::Once { from, until: end };
        let window = Maintenance { name: "x".into(), of: Selection::default(), when };
        for (text, open) in [
            ("2026-11-30T01:59:59Z", false),
            ("2026-11-30T02:00:00Z", true),
            ("2026-11-30T03:59:59Z", true),
            ("2026-11-30T04:00:00Z", false),
        ] {
            assert_eq!(open_until(&window, at(text)).is_some(), open, "{text}");
        }
    }

    /// E5: by the clock of the zone, over midnight, and over several days.
    #[test]
    fn a_recurring_window() {
        // 2026-11-30 is a Monday.
        let nights = weekly(&[0], 23 * 60, 4, "UTC");
        assert_eq!(until(&nights, "2026-11-30T22:59:59Z"), None);
        assert_eq!(until(&nights, "2026-11-30T23:00:00Z").unwrap(), "2026-12-01T03:00:00Z");
        assert_eq!(until(&nights, "2026-12-01T02:59:59Z").unwrap(), "2026-12-01T03:00:00Z");
        assert_eq!(until(&nights, "2026-12-01T03:00:00Z"), None);
        assert_eq!(until(&nights, "2026-12-01T23:30:00Z"), None, "a Tuesday");

        let berlin = weekly(&[0], 120, 1, "Europe/Berlin");
        assert_eq!(until(&berlin, "2026-11-30T01:30:00Z").unwrap(), "2026-11-30T02:00:00Z");
        assert_eq!(until(&berlin, "2026-07-27T00:30:00Z").unwrap(), "2026-07-27T01:00:00Z");

        let weekend = weekly(&[4], 18 * 60, 60, "UTC");
        assert_eq!(until(&weekend, "2026-12-06T12:00:00Z").unwrap(), "2026-12-07T06:00:00Z");
        assert_eq!(until(&weekend, "2026-12-07T06:00:00Z"), None);
    }

    /// E5: an hour that the clock skips, and one that comes twice.
    #[test]
    fn when_the_clock_is_changed() {
        // On 2026-03-29, a Sunday, 02:00 to 03:00 is skipped in Berlin; on 2026-10-25 it comes twice.
        let window = weekly(&[6], 150, 1, "Europe/Berlin");
        assert_eq!(until(&window, "2026-03-29T00:59:59Z"), None);
        assert_eq!(until(&window, "2026-03-29T01:30:00Z").unwrap(), "2026-03-29T02:30:00Z");
        assert_eq!(until(&window, "2026-10-25T00:30:00Z").unwrap(), "2026-10-25T01:30:00Z");
        assert_eq!(until(&window, "2026-10-25T01:30:00Z"), None);
    }
}
