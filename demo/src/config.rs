//! The configuration that watches the fleet, with a comment for every target.

use std::fmt::Write as _;
use std::path::Path;

use crate::container;
use crate::managed::{ID, Place, Runtime};
use crate::roster::placed;

/// Where the host serves its API.
const LISTEN: &str = "127.0.0.1:9640";

/// The configuration as TOML. Its paths are those given here, so it can be read from any folder.
pub(crate) fn text(ca_file: &Path, base_port: u16, place: &Place, runtime: &Runtime) -> String {
    let store = quoted(&place.dir.join("probehost.db").to_string_lossy());
    let ca_file = quoted(&ca_file.to_string_lossy());
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
    text.push_str(&managed(place, runtime));
    text
}

/// The managed target, and the table with what it is restarted by.
fn managed(place: &Place, runtime: &Runtime) -> String {
    let readiness = format!(
        "[[targets.checks]]\nkind = \"mcp-readiness\"\n\
         config = {{ url = \"{url}\", tools = [\"echo\"], call = {{ tool = \"echo\", arguments = {{ text = \"ping\" }} }} }}\n",
        url = place.url()
    );
    let name = container::NAME;
    let (table, why, runtime, checks) = match runtime {
        Runtime::Container(engine) => (
            format!(
                "# The engine with the container of the managed server.\n\
                 [containers]\nengine = {}\n",
                quoted(&format!("unix://{}", engine.socket().display()))
            ),
            "# It is down when its container is, and sent no work while it does not answer.",
            format!("{{ container = \"{name}\" }}"),
            format!(
                "[[targets.checks]]\nkind = \"container-inspect\"\ninterval = 2\n\
                 config = {{ container = \"{name}\" }}\n\n{}",
                readiness.replace("config", "role = \"readiness\"\nconfig")
            ),
        ),
        Runtime::Command(_) => (
            format!(
                "# What restarts the managed server.\n\
                 [commands]\ndemo-mcp = [{}]\n",
                place.restart().map(|word| quoted(&word)).join(", ")
            ),
            "# It is down when it does not answer: on this port a first failure is no accident.",
            "{ command = \"demo-mcp\" }".to_owned(),
            readiness.replace("config", "failure_threshold = 1\nconfig"),
        ),
    };
    format!(
        "\n{table}\n\
         # A managed MCP server: kill it, and it is restarted.\n{why}\n\
         [[targets]]\nid = \"{ID}\"\nname = \"Managed MCP server\"\nlabels = {{ fleet = \"demo\" }}\n\
         runtime = {runtime}\n\
         # Restarted after 2 s; killed again within 30 s of uptime, after 4 s, 8 s and so on, and given up in the end.\n\
         lifecycle = {{ base = 2, start_budget = 20, healthy_reset = 30 }}\n\
         \n{checks}"
    )
}

/// A TOML string.
fn quoted(content: &str) -> String {
    let mut text = String::from('"');
    for c in content.chars() {
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
    use std::path::PathBuf;

    use probehost_config::Config;
    use probehost_test_support::engine::Engine;

    use super::*;

    fn written(runtime: &Runtime) -> String {
        let program = PathBuf::from("/bin/demo-mcp");
        let place = Place { program, dir: "/a b/\"demo\"".into(), port: 9710 };
        text(Path::new("/demo/ca.pem"), 9701, &place, runtime)
    }

    fn in_a_container() -> String {
        written(&Runtime::Container(Engine::at("/run/docker.sock".into())))
    }

    fn by_a_command() -> String {
        written(&Runtime::Command("no engine".to_owned()))
    }

    #[test]
    fn words_become_toml_strings() {
        assert_eq!(quoted("/a b/\"c\\\t"), r#""/a b/\"c\\\u0009""#);
    }

    #[test]
    fn every_member_is_a_target_with_its_own_url() {
        let text = by_a_command();
        assert_eq!(text.matches("[[targets]]\n").count(), 10);
        assert!(text.contains("path = \"/a b/\\\"demo\\\"/probehost.db\"\n"));
        assert!(
            text.contains("config = { url = \"http://127.0.0.1:9703\", path = \"/health\" }\n")
        );
        assert!(text.contains("timeout = 6\nconfig = { url = \"https://127.0.0.1:9707\" }\n"));
        assert!(text.contains("config = { url = \"http://127.0.0.1:9709\", redirects = 3 }\n"));
    }

    #[test]
    fn the_host_accepts_both_ways_to_run_the_managed_server() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("probehost.toml");
        for (text, kinds) in [
            (in_a_container(), vec!["container-inspect", "http-head", "mcp-readiness"]),
            (by_a_command(), vec!["http-head", "mcp-readiness"]),
        ] {
            std::fs::write(&file, &text).unwrap();
            let config = Config::load(&file).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
            assert_eq!(config.kinds().into_iter().collect::<Vec<_>>(), kinds);
            let resolved = config.resolve(&|_| None);
            assert!(resolved.errors.is_empty(), "{}\n{text}", resolved.errors);
            let mcp = resolved.targets.iter().find(|target| target.id == ID);
            let managed = mcp.and_then(|target| target.managed.as_ref());
            assert!(managed.is_some(), "{text}");
        }
    }

    #[test]
    fn only_its_container_or_its_answer_brings_the_managed_server_down() {
        let text = in_a_container();
        assert!(text.contains("engine = \"unix:///run/docker.sock\"\n"), "{text}");
        assert!(text.contains("kind = \"mcp-readiness\"\nrole = \"readiness\"\n"), "{text}");
        let text = by_a_command();
        let words = r#"["/bin/demo-mcp", "restart", "--port", "9710", "--dir", "/a b/\"demo\""]"#;
        assert!(text.contains(&format!("demo-mcp = {words}\n")), "{text}");
        assert!(!text.contains("readiness\"\nrole"), "{text}");
    }
}
