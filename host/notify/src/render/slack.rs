//! The body of a Slack incoming webhook: a text, and blocks.

use probehost_model::notify::{Notification, NotificationKind};
use serde_json::{Value, json};

use super::{cut, lines, title};

/// Slack's own limit for the text of a block, in characters.
const BLOCK: usize = 3000;

pub(crate) fn body(notification: &Notification) -> Value {
    let sign = match notification.kind {
        NotificationKind::Problem | NotificationKind::Group => ":red_circle:",
        NotificationKind::Reminder => ":large_orange_circle:",
        NotificationKind::Recovery => ":large_green_circle:",
        NotificationKind::Test => ":large_blue_circle:",
    };
    let title = cut(&title(notification), 200);
    let below = cut(&lines(notification).join("\n"), BLOCK);
    json!({
        "text": format!("{sign} {}", escaped(&title)),
        "blocks": [
            { "type": "section",
              "text": { "type": "mrkdwn", "text": format!("{sign} *{}*", escaped(&bare(&title))) } },
            { "type": "section",
              "text": { "type": "plain_text", "text": below, "emoji": false } },
        ],
    })
}

/// Slack's escapes. What is made of one character is at most five.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Without what would end the bold part.
fn bare(text: &str) -> String {
    text.replace(['*', '`', '\n'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::tests::notification;

    /// E5: what comes from outside is plain text, or escaped.
    #[test]
    fn blocks() {
        let mut problem = notification(NotificationKind::Problem);
        problem.name = "Web <!channel> & *shop*".into();
        let body = body(&problem);
        assert_eq!(
            body["text"],
            ":red_circle: Web &lt;!channel&gt; &amp; *shop* / head is unhealthy"
        );
        let head = &body["blocks"][0]["text"];
        assert_eq!(
            head["text"],
            ":red_circle: *Web &lt;!channel&gt; &amp;  shop  / head is unhealthy*"
        );
        let below = &body["blocks"][1]["text"];
        assert_eq!(below["type"], "plain_text");
        assert!(below["text"].as_str().unwrap().starts_with("network: refused by *web* <:80>\n"));
    }

    #[test]
    fn limits_hold() {
        let mut long = notification(NotificationKind::Problem);
        (long.name, long.message) = ("&".repeat(9000), "&".repeat(9000));
        let body = body(&long);
        for block in body["blocks"].as_array().unwrap() {
            assert!(block["text"]["text"].as_str().unwrap().chars().count() <= BLOCK);
        }
    }
}
