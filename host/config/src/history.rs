//! `[history]`: how long the host remembers.

use crate::settings::History;
use crate::walk::{Item, KeyPath, Reader, section};

const DAYS: &str = "a whole number of days from 1 to 3650, such as 90";
const MOST_DAYS: u32 = 3650;

pub(crate) fn read(reader: &mut Reader<'_>, item: Option<Item<'_>>) -> History {
    let mut section = section(reader, item, "history");
    let [days, audit_days] = ["keep_days", "keep_audit_days"].map(|key| {
        let item = section.take(key)?;
        let path = KeyPath::Key(&section.path, key);
        reader.count(&item, path, "a number of days", MOST_DAYS, DAYS)
    });
    section.finish(reader);
    let default = History::default();
    History {
        keep_days: days.unwrap_or(default.keep_days),
        keep_audit_days: audit_days.unwrap_or(default.keep_audit_days),
    }
}
