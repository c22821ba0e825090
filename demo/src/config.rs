//! The configuration that watches the fleet, with a comment for every target.

use std::fmt::Write as _;
use std::path::Path;

use crate::roster::placed;

/// Where the host serves its API.
const LISTEN: &str = "127.0.0.1:9640";

/// The configuration as TOML. Its paths are those given here, so it can be read from any folder.
pub(crate) fn text(dir: &Path, ca_file: &Path, base_port: u16) -> String {
    let store = quoted(&dir.join("probehost.db"));
    let ca_file = quoted(ca_file);
    let mut text = format!(
        "# Watches the demo fleet. demo-fleet writes this file anew whenever it starts; copy it to keep changes.\n\
         \n\
         [server]\nlisten = \"{LISTEN}\"\n\
         \n\
         [store]\npath = {store}\n\
         \n\
         # For every check that does not say otherwise. Short, in seconds, so that there is something to see soon.\n\
         [probes]\ninterval = 5\ntimeout = 2\n\
         \n\
         # The demo's own certificate authority, fresh with each start of the fleet.\n\
         [tls]\nca_files = [{ca_file}]\n"
    );
    for (member, port) in placed(base_port) {
        let (id, name, scheme) = (member.id, member.name, member.scheme());
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "\n# {why}\n\
             [[targets]]\nid = \"{id}\"\nname = \"{name}\"\nlabels = {{ fleet = \"demo\" }}\n\
             \n\
             [[targets.checks]]\nkind = \"http-head\"\n{settings}\
             config = {{ url = \"{scheme}://127.0.0.1:{port}\"{config} }}\n",
            why = member.why,
            settings = member.settings,
            config = member.config,
        );
    }
    text
}

/// A path as a TOML string.
fn quoted(path: &Path) -> String {
    let mut text = String::from('"');
    for c in path.to_string_lossy().chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            c if c.is_control() => {
                // Writing to a String cannot fail.
                let _ = write!(text, "\\u{:04X}", u32::from(c));
            }
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_toml_strings() {
        assert_eq!(quoted(Path::new("/a b/\"c\\\t")), r#""/a b/\"c\\\u0009""#);
    }

    #[test]
    fn every_member_is_a_target_with_its_own_url() {
        let text = text(Path::new("/demo"), Path::new("/demo/ca.pem"), 9701);
        assert_eq!(text.matches("[[targets]]\n").count(), 9);
        assert!(text.contains("path = \"/demo/probehost.db\"\n"));
        assert!(
            text.contains("config = { url = \"http://127.0.0.1:9703\", path = \"/health\" }\n")
        );
        assert!(text.contains("timeout = 6\nconfig = { url = \"https://127.0.0.1:9707\" }\n"));
        assert!(text.contains("config = { url = \"http://127.0.0.1:9709\", redirects = 3 }\n"));
    }
}
