//! The subject and the text of a mail.

use probehost_model::notify::{Notification, NotificationKind};

use super::{cut, lines, title};

/// Subject and body.
pub(crate) fn mail(notification: &Notification) -> (String, String) {
    let word = match notification.kind {
        NotificationKind::Problem | NotificationKind::Group => "PROBLEM",
        NotificationKind::Reminder => "REMINDER",
        NotificationKind::Recovery => "RECOVERY",
        NotificationKind::Test => "TEST",
    };
    let title = title(notification).replace(['\r', '\n'], " ");
    let mut text = title.clone();
    text.push_str("\r\n\r\n");
    for line in lines(notification) {
        text.push_str(&line);
        text.push_str("\r\n");
    }
    (cut(&format!("[probehost] {word}: {title}"), 200), text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::tests::notification;

    #[test]
    fn a_mail() {
        let mut problem = notification(NotificationKind::Problem);
        problem.name = "Web\r\nBcc: everybody".into();
        let (subject, text) = mail(&problem);
        assert_eq!(subject, "[probehost] PROBLEM: Web  Bcc: everybody / head is unhealthy");
        assert!(text.contains("\r\nnetwork: refused by *web* <:80>\r\nSince "), "{text}");
    }
}
