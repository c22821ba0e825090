//! What each kind of sink is sent.

pub(crate) mod discord;
pub(crate) mod email;
pub(crate) mod slack;
pub(crate) mod webhook;

use std::time::Duration;

use probehost_model::notify::{Notification, NotificationKind};

/// The first line: what happened to what.
pub(crate) fn title(notification: &Notification) -> String {
    let Notification { kind, target, name, check, to, .. } = notification;
    if *kind == NotificationKind::Test {
        return format!("Test from {name}");
    }
    let what = match (target, check) {
        (None, _) => name.clone(),
        (Some(_), None) => name.clone(),
        (Some(_), Some(check)) => format!("{name} / {check}"),
    };
    match kind {
        NotificationKind::Recovery => format!("Recovered: {what} is {to}"),
        NotificationKind::Reminder => format!("Still: {what} is {to}"),
        NotificationKind::Group => "Many targets fail at once".to_owned(),
        NotificationKind::Problem | NotificationKind::Test => format!("{what} is {to}"),
    }
}

/// The lines below it: why, since when, and which target that is.
pub(crate) fn lines(notification: &Notification) -> Vec<String> {
    let Notification { kind, at, target, labels, reason, message, since, .. } = notification;
    let mut lines = Vec::new();
    match (reason, message.as_str()) {
        (None, "") => {}
        (None, message) => lines.push(message.to_owned()),
        (Some(reason), "") => lines.push(format!("Reason: {reason}")),
        // That of many begins with what it may mean.
        (Some(_), message) if *kind == NotificationKind::Group => lines.push(message.to_owned()),
        (Some(reason), message) => lines.push(format!("{reason}: {message}")),
    }
    match kind {
        NotificationKind::Recovery => {
            lines.push(format!("It lasted {}, since {}.", span(at.since(*since)), short(since)));
        }
        NotificationKind::Reminder => {
            lines.push(format!("For {} now, since {}.", span(at.since(*since)), short(since)));
        }
        NotificationKind::Problem | NotificationKind::Group => {
            lines.push(format!("Since {}.", short(since)));
        }
        NotificationKind::Test => {}
    }
    if let Some(target) = target {
        let labels: Vec<_> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let labels =
            if labels.is_empty() { String::new() } else { format!(" ({})", labels.join(", ")) };
        lines.push(format!("Target: {target}{labels}"));
    }
    lines
}

/// To the second.
fn short(at: &impl ToString) -> String {
    let text = at.to_string();
    text.split_once('.').map_or_else(|| text.clone(), |(seconds, _)| format!("{seconds}Z"))
}

fn span(span: Duration) -> String {
    let seconds = span.as_secs();
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7_199 => format!("{} min", seconds / 60),
        7_200..=172_799 => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// The text, cut at `most` characters with `…` at the end of what was cut.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::collections::BTreeMap;

    use probehost_model::{Reason, Timestamp};

    pub(crate) fn notification(kind: NotificationKind) -> Notification {
        Notification {
            kind,
            at: Timestamp::from_micros(1_764_500_600_000_000),
            target: Some("web".into()),
            name: "Web shop".into(),
            labels: BTreeMap::from([("team".into(), "sales".into())]),
            check: Some("head".into()),
            from: "healthy".into(),
            to: if kind == NotificationKind::Recovery { "healthy" } else { "unhealthy" }.into(),
            reason: (kind != NotificationKind::Recovery).then_some(Reason::Network),
            message: if kind == NotificationKind::Recovery { "" } else { "refused by *web* <:80>" }
                .into(),
            since: Timestamp::from_micros(1_764_500_000_000_000),
        }
    }

    #[test]
    fn what_people_read() {
        let problem = notification(NotificationKind::Problem);
        assert_eq!(title(&problem), "Web shop / head is unhealthy");
        assert_eq!(
            lines(&problem),
            [
                "network: refused by *web* <:80>",
                "Since 2025-11-30T10:53:20Z.",
                "Target: web (team=sales)"
            ]
        );
        let recovery = notification(NotificationKind::Recovery);
        assert_eq!(title(&recovery), "Recovered: Web shop / head is healthy");
        assert_eq!(lines(&recovery)[0], "It lasted 10 min, since 2025-11-30T10:53:20Z.");
        let whole = Notification { check: None, ..notification(NotificationKind::Reminder) };
        assert_eq!(title(&whole), "Still: Web shop is unhealthy");
    }

    #[test]
    fn long_texts_are_cut_at_characters() {
        assert_eq!(cut("häuser", 6), "häuser");
        assert_eq!(cut("häuser", 3), "hä…");
    }
}
