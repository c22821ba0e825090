//! The API's description against what the API answers: contract E3.

use std::path::Path;
use std::process::Command;

use probehost_test_support::upstream::Upstream;

use crate::host::{Config, run};
use crate::plugin_road::{ran, skip_without_python};

/// What sends requests by the description and holds the answers against it, from PyPI, kept for
/// later runs.
const TOOL: &str = "schemathesis==4.32.5";

fn tool() -> String {
    let folder = concat!(env!("CARGO_TARGET_TMPDIR"), "/schemathesis");
    let program = format!("{folder}/bin/schemathesis");
    if !Path::new(&program).is_file() {
        let made = ran(Command::new("python3").args(["-m", "venv", "--clear", folder]));
        assert_eq!(made.code, 0, "{made:?}");
    }
    let pip = format!("{folder}/bin/pip");
    let installed =
        ran(Command::new(pip).args(["install", "--quiet", "--disable-pip-version-check", TOOL]));
    assert_eq!(installed.code, 0, "{installed:?}");
    program
}

/// E3: every call but the stream, with requests that fit the description and such that don't, with
/// and without a token: each answer has a status, a type and a body as described, and no request is
/// the host's own fault.
#[tokio::test]
async fn the_api_answers_as_it_is_described() {
    if skip_without_python() {
        return;
    }
    let tool = tool();
    let upstream = Upstream::status(200);
    let mut host = Config::new().head("web", "interval = 0", &upstream.url()).start();
    let config = host.host.config_path().display().to_string();
    let token = run(&["token", "new", "robot", "--role", "admin", "--config", &config]).stdout;
    let url = format!("{}/api/v1/openapi.json", host.host.base_url());
    let header = format!("Authorization: Bearer {}", token.trim());
    let mut command = Command::new(tool);
    // It leaves notes where it runs.
    command.current_dir(host.host.dir());
    command.args(["run", &url, "--header", &header, "--exclude-path", "/events"]);
    command.args(["--max-examples", "10", "--generation-deterministic", "--no-color"]);
    command.args(["--warnings", "off", "--request-timeout", "20", "--workers", "1"]);
    // A schema can't say all that a target has to be: the plugin judges its check's config.
    command.args(["--exclude-checks", "positive_data_acceptance"]);
    let ran = ran(&mut command);
    assert_eq!(ran.code, 0, "{}\n{}\n{}", ran.stdout, ran.stderr, host.output());
    let tested = ran.stdout.lines().find(|line| line.contains("passed,")).unwrap_or_default();
    println!("{}", tested.trim());
    assert!(ran.stdout.contains("No issues found"), "{}", ran.stdout);
}
