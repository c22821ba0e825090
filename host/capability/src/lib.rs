//! What the host can do for a plugin: network calls behind one egress, and a log.
