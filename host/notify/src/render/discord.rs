//! The body of a Discord webhook: one embed.

use probehost_model::notify::{Notification, NotificationKind};
use serde_json::{Value, json};

use super::{cut, lines, title};

/// Discord's own limits, in characters.
const TITLE: usize = 256;
const DESCRIPTION: usize = 4096;

pub(crate) fn body(notification: &Notification) -> Value {
    let color = match notification.kind {
        NotificationKind::Problem | NotificationKind::Group => 0xd0_2f_2f,
        NotificationKind::Reminder => 0xe0_8a_1e,
        NotificationKind::Recovery => 0x2e_9e_4f,
        NotificationKind::Test => 0x4a_78_c8,
    };
    json!({
        "username": "probehost",
        "embeds": [{
            "title": cut(&escaped(&title(notification)), TITLE),
            "description": cut(&escaped(&lines(notification).join("\n")), DESCRIPTION),
            "color": color,
            "timestamp": notification.at.to_string(),
        }],
        // A target's name or a server's answer can't call anybody.
        "allowed_mentions": { "parse": [] },
    })
}

/// With what Discord would take for a format shown as it is.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '*' | '_' | '~' | '`' | '|' | '>' | '<' | '[' | ']' | '#') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::tests::notification;

    /// E5: one embed, nobody is called, no format comes from outside, and Discord's limits hold.
    #[test]
    fn an_embed() {
        let body = body(&notification(NotificationKind::Problem));
        let embed = &body["embeds"][0];
        assert_eq!(embed["title"], "Web shop / head is unhealthy");
        assert_eq!(
            embed["description"],
            "network: refused by \\*web\\* \\<:80\\>\nSince 2025-11-30T10:53:20Z.\n\
             Target: web (team=sales)"
        );
        assert_eq!(embed["timestamp"], "2025-11-30T11:03:20.000000Z");
        assert_eq!(body["allowed_mentions"], json!({ "parse": [] }));
    }

    #[test]
    fn limits_hold() {
        let mut long = notification(NotificationKind::Problem);
        long.name = "*".repeat(1000);
        long.message = "_".repeat(9000);
        let body = body(&long);
        let count = |key: &str| body["embeds"][0][key].as_str().unwrap().chars().count();
        assert_eq!((count("title"), count("description")), (TITLE, DESCRIPTION));
    }
}
