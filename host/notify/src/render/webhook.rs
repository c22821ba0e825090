//! The body of a generic webhook: JSON that stays as it is documented.

use probehost_model::notify::Notification;
use serde_json::{Value, json};

/// The version of the body. A new field is no new version.
const VERSION: u32 = 1;

pub(crate) fn body(id: &str, notification: &Notification) -> Value {
    let Notification { kind, at, target, name, labels, check, from, to, reason, message, since } =
        notification;
    json!({
        "version": VERSION,
        "id": id,
        "kind": kind,
        "at": at.to_string(),
        "target": target,
        "name": name,
        "labels": labels,
        "check": check,
        "from": from,
        "to": to,
        "reason": reason,
        "message": message,
        "since": since.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::tests::notification;
    use probehost_model::notify::NotificationKind;

    /// E5: the documented form.
    #[test]
    fn the_documented_form() {
        let problem = body("1-2", &notification(NotificationKind::Problem));
        assert_eq!(
            problem,
            json!({
                "version": 1, "id": "1-2", "kind": "problem",
                "at": "2025-11-30T11:03:20.000000Z", "target": "web", "name": "Web shop",
                "labels": { "team": "sales" }, "check": "head", "from": "healthy",
                "to": "unhealthy", "reason": "network", "message": "refused by *web* <:80>",
                "since": "2025-11-30T10:53:20.000000Z",
            })
        );
        let recovery = body("1-3", &notification(NotificationKind::Recovery));
        assert_eq!(recovery["reason"], Value::Null);
        assert_eq!(recovery["message"], "");
    }
}
