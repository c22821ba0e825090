//! Compiles the built-in plugins.

use probehost_plugin_build::{packages, report, write_table};

fn main() {
    report(
        packages(&["container-inspect", "http-head", "mcp-readiness", "ssh-handshake"])
            .and_then(|built| write_table("Builtin", &built)),
    );
}
