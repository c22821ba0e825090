//! Compiles the example plugins.

use probehost_plugin_build::{packages, report, write_table};

fn main() {
    report(
        packages(&["redis-ping", "tls-expiry"]).and_then(|built| write_table("Example", &built)),
    );
}
