//! What the packages and the pages have people type and write, against the binary: each command
//! line of `probehost` is one that it takes, and each config one that it would start with.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use probehost_test_support::installed::skip_unless_installed;
use probehost_test_support::upstream::{ClosedPort, Upstream};

use crate::host::{BINARY, Config, run};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// What ends a command line in a shell.
const ENDS: [&str; 8] = ["|", "||", "&&", "&", ";", "#", "\\", "--"];

fn read(path: &str) -> String {
    fs::read_to_string(format!("{ROOT}/{path}")).unwrap()
}

/// Every file under a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// The texts between backticks.
fn quoted(text: &str) -> impl Iterator<Item = String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned)
}

/// What is code on a page: lines of its blocks for a shell, and what stands in backticks, which
/// may go on in the next line.
fn code_of_page(text: &str) -> Vec<String> {
    let mut code = Vec::new();
    let mut paragraph = String::new();
    let mut block: Option<bool> = None;
    for line in text.lines().chain([""]) {
        match (line.trim_start().strip_prefix("```"), block) {
            (Some(language), None) => block = Some(["sh", "console", ""].contains(&language)),
            (Some(_), Some(_)) => block = None,
            (None, Some(true)) => code.push(line.to_owned()),
            (None, Some(false)) => {}
            (None, None) if line.is_empty() => code.extend(quoted(&std::mem::take(&mut paragraph))),
            (None, None) => paragraph.extend([line, " "]),
        }
    }
    code
}

/// What is code in a file of the packaging: its lines, and of its comments what is indented or
/// stands in backticks. The words of a list become those of a command line.
fn code_of_package(text: &str) -> Vec<String> {
    let mut code = Vec::new();
    for line in text.lines() {
        match line.trim_start().strip_prefix('#') {
            Some(comment) if comment.starts_with("   ") => code.push(comment.to_owned()),
            Some(comment) => code.extend(quoted(comment)),
            None => {
                let words = line.replace(['"', '\'', '[', ']', ','], " ");
                // Of an image whose entry point is the binary.
                let words = words.replace("args: ", "probehost ");
                code.push(words.replace("CMD ", "probehost "));
            }
        }
    }
    code
}

/// The words after each `probehost` in a piece of code.
fn calls(code: &str) -> Vec<Vec<String>> {
    let words: Vec<&str> = code.split_whitespace().collect();
    let is_binary = |word: &str| {
        let folders = ["", "/usr/bin/", "/usr/local/bin/", "target/release/", "target/debug/"];
        word.strip_suffix("probehost").is_some_and(|folder| folders.contains(&folder))
    };
    let places = words.iter().enumerate().filter(|(_, word)| is_binary(word));
    places
        .map(|(place, _)| {
            let mut own = Vec::new();
            for word in &words[place + 1..] {
                if ENDS.contains(word) || word.contains('>') {
                    break;
                }
                own.push(word.trim_end_matches([';', ')', '.', ':']).to_owned());
                if word.ends_with(';') {
                    break;
                }
            }
            own
        })
        .collect()
}

/// The help of commands, each asked for once.
#[derive(Default)]
struct Helps(BTreeMap<Vec<String>, String>);

impl Helps {
    fn of(&mut self, command: &[String]) -> &str {
        self.0.entry(command.to_vec()).or_insert_with(|| {
            let mut args: Vec<&str> = command.iter().map(String::as_str).collect();
            args.push("--help");
            let ran = run(&args);
            assert_eq!(ran.code, 0, "{ran:?}");
            ran.stdout
        })
    }

    fn commands(&mut self, command: &[String]) -> Vec<String> {
        let lines = self.of(command).lines().skip_while(|line| *line != "Commands:").skip(1);
        let listed = lines.map_while(|line| line.strip_prefix("  "));
        listed.filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
    }

    /// What is wrong with a call; none for what is no call, such as a user of that name.
    fn wrong(&mut self, words: &[String]) -> Option<String> {
        let mut command = Vec::new();
        let mut words = words.iter().peekable();
        loop {
            let known = self.commands(&command);
            let Some(word) = words.peek().filter(|_| !known.is_empty()) else { break };
            if known.contains(word) {
                command.push(words.next()?.clone());
                continue;
            }
            let is_word =
                !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
            let is_other = !is_word || word.starts_with('-') || *word == "probehost";
            return (!is_other).then(|| format!("there is no command {word:?} in {command:?}"));
        }
        let help = self.of(&command);
        let mut flags = words.filter(|word| word.starts_with('-') && word.len() > 1);
        let unknown = flags.find(|word| {
            let flag = word.split('=').next().unwrap_or_default();
            let mut found = help.match_indices(flag).map(|(at, _)| &help[at + flag.len()..]);
            !found.any(|after| !after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-'))
        });
        unknown.map(|flag| format!("{command:?} has no {flag}"))
    }
}

#[test]
fn every_command_line_is_one() {
    let mut pieces = Vec::new();
    let pages = fs::read_dir(format!("{ROOT}/docs")).unwrap().map(|entry| entry.unwrap().path());
    for page in pages.chain([format!("{ROOT}/README.md").into()]) {
        if page.extension().is_some_and(|extension| extension == "md") {
            let code = code_of_page(&fs::read_to_string(&page).unwrap());
            pieces.extend(code.into_iter().map(|code| (page.clone(), code)));
        }
    }
    for file in files(&Path::new(ROOT).join("packaging")) {
        let code = code_of_package(&fs::read_to_string(&file).unwrap());
        pieces.extend(code.into_iter().map(|code| (file.clone(), code)));
    }
    let mut helps = Helps::default();
    let (mut found, mut wrong) = (0, Vec::new());
    for (file, code) in &pieces {
        for call in calls(code).iter().filter(|call| !call.is_empty()) {
            found += 1;
            if let Some(what) = helps.wrong(call) {
                wrong.push(format!("{}: {code}\n  {what}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(found > 50, "only {found} command lines were found");
}

/// What that test rests on.
#[test]
fn a_wrong_command_line_is_found() {
    let mut helps = Helps::default();
    let mut wrong = |code: &str| {
        let calls = calls(code);
        calls.iter().find_map(|call| helps.wrong(call)).unwrap_or_default()
    };
    assert_eq!(wrong("sudo -u probehost probehost token new me --role admin | cat -n"), "");
    assert_eq!(wrong("$ /usr/bin/probehost serve -c x.toml; useradd probehost --system"), "");
    assert!(wrong("probehost servr --config x").contains("no command \"servr\""));
    assert!(wrong("probehost token mint me").contains("no command \"mint\""));
    assert!(wrong("probehost serve --conf x").contains("no --conf"));
    assert!(wrong("probehost status -q").contains("no -q"));
    let page = "Say `probehost\nstatus --now` or:\n\n```sh\nprobehost serf\n```\n";
    assert_eq!(code_of_page(page), ["probehost status --now", "probehost serf"]);
    let package = "# `probehost a` is\n#   probehost b\nCMD [\"serve\", \"--config\"]\nargs: [c]";
    let code = code_of_package(package);
    let calls: Vec<_> = code.iter().flat_map(|code| calls(code)).collect();
    assert_eq!(calls, [vec!["a"], vec!["b"], vec!["serve", "--config"], vec!["c"]]);
}

/// A heading as it is linked to.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().chars();
    let kept = kept.filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// Every page is in the index, and what pages link to among the sources is there.
#[test]
fn every_link_leads_somewhere() {
    let docs = Path::new(ROOT).join("docs");
    let index = read("docs/README.md");
    let mut pages = vec![Path::new(ROOT).join("README.md")];
    for entry in fs::read_dir(&docs).unwrap() {
        let page = entry.unwrap().path();
        let name = page.file_name().unwrap().to_str().unwrap().to_owned();
        if name.ends_with(".md") {
            let listed = name == "README.md" || index.contains(&format!("]({name})"));
            assert!(listed, "docs/README.md does not list {name}");
            pages.push(page);
        }
    }
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        let links = text.split("](").skip(1).filter_map(|after| after.split(')').next());
        for link in links.filter(|link| !link.contains("://")) {
            let (file, place) = link.split_once('#').unwrap_or((link, ""));
            let to = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            assert!(to.exists(), "{}: {link}", page.display());
            if !place.is_empty() {
                let text = fs::read_to_string(&to).unwrap();
                let mut headings = text.lines().filter(|line| line.starts_with('#'));
                let found = headings.any(|heading| anchor(heading) == place);
                assert!(found, "{}: no heading for {link}", page.display());
            }
        }
    }
}

/// The configs that image and manifest start with are right.
#[test]
fn every_config_is_right() {
    let manifest = read("packaging/kubernetes/probehost.yaml");
    let block = manifest.lines().skip_while(|line| *line != "  probehost.toml: |").skip(1);
    let block: Vec<&str> = block
        .map_while(|line| line.strip_prefix("    ").or(line.is_empty().then_some("")))
        .collect();
    assert!(block.contains(&"[server]"), "the manifest's config is not where it was");
    let image = read("packaging/docker/config/probehost.toml");
    for text in [image, block.join("\n")] {
        let dir = tempfile::tempdir().unwrap();
        // What the host writes is the package's, so here it goes elsewhere.
        let own = text.replace("/var/lib/probehost", dir.path().to_str().unwrap());
        let file = dir.path().join("probehost.toml");
        fs::write(&file, own).unwrap();
        let ran = run(&["check-config", file.to_str().unwrap()]);
        assert_eq!(ran.code, 0, "{ran:?}\n{text}");
        assert!(text.contains("path = \"/var/lib/probehost/probehost.db\""), "{text}");
    }
}

/// What the image is made of is there.
#[test]
fn the_image_copies_what_is_there() {
    let text = read("packaging/docker/Dockerfile");
    let copied = text.lines().filter_map(|line| line.strip_prefix("COPY "));
    let sources = copied.filter(|line| !line.starts_with("--from")).filter_map(|line| {
        let (sources, _) = line.rsplit_once(' ')?;
        Some(sources.split(' '))
    });
    for source in sources.flatten() {
        assert!(Path::new(ROOT).join(source).exists(), "{source}");
    }
    // The compiler is the one that the workspace needs.
    let needed = read("Cargo.toml");
    let needed = needed.lines().find_map(|line| line.strip_prefix("rust-version = ")).unwrap();
    let needed = needed.trim_matches('"');
    assert!(text.contains(&format!("FROM rust:{needed}-")), "{needed}");
}

/// The service is one that systemd takes, and leaves compiled plugins their memory.
#[test]
fn the_service_is_right() {
    let unit = read("packaging/systemd/probehost.service");
    assert!(unit.contains("\nMemoryDenyWriteExecute=no\n"), "{unit}");
    assert!(unit.contains("ExecReload=/bin/kill -HUP $MAINPID"), "{unit}");
    if skip_unless_installed(
        "systemd-analyze",
        "apt-get install -y --no-install-recommends systemd",
    ) {
        return;
    }
    // Verified with the binary that is here; its manual is not installed.
    let lines = unit.lines().filter(|line| !line.starts_with("Documentation="));
    let unit = lines.collect::<Vec<_>>().join("\n").replace("/usr/bin/probehost", BINARY);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("probehost.service");
    fs::write(&file, unit).unwrap();
    let verified = Command::new("systemd-analyze").arg("verify").arg(&file).output().unwrap();
    let said = String::from_utf8_lossy(&verified.stderr).into_owned();
    assert!(verified.status.success() && !said.contains("probehost.service:"), "{said}");
}

/// What the rules for Prometheus look at is what a host has among its metrics, also before anything
/// went wrong: from nothing to one is no increase.
#[tokio::test]
async fn alerts_look_at_what_there_is() {
    let rules = read("packaging/prometheus/probehost.rules.yml");
    let expressions: Vec<_> =
        rules.lines().filter_map(|line| line.trim().strip_prefix("expr: ")).collect();
    assert!(expressions.len() > 5, "{rules}");
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let names: BTreeSet<&str> = expressions
        .iter()
        .flat_map(|expression| expression.split(|c| !word(c)))
        .filter(|name| name.starts_with("probehost_"))
        .collect();
    let upstream = Upstream::status(200);
    let host = Config::new()
        .section("[commands.revive]\nargv = [\"/bin/true\"]")
        .section("[notify.sinks.chat]\nkind = \"webhook\"\nurl = \"http://127.0.0.1:9/\"")
        .target_with(
            "web",
            "runtime = { command = \"revive\" }",
            "http-head",
            "interval = 0",
            &format!("url = \"{}\"", upstream.url()),
        )
        .start();
    host.probe("web").await;
    let metrics = host.get("/metrics").await.text;
    for name in names {
        let there = metrics
            .lines()
            .any(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' '])));
        assert!(there, "{name} is not among\n{metrics}");
    }
    for label in ["outcome=\"dead\"", "status=\"unhealthy\"", "state=\"quarantined\""] {
        assert!(rules.contains(label) && metrics.contains(label), "{label}");
    }
}

/// `healthz` tells of the host alone: 0 while a target is down, 1 without a host.
#[tokio::test]
async fn healthz_asks_the_host() {
    let down = Upstream::status(503);
    let settings = "interval = 0\nfailure_threshold = 1";
    let host = Config::new().head("web", settings, &down.url()).start();
    host.probe("web").await;
    let ran = run(&["healthz", "--url", host.host.base_url()]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let said: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&said["status"], &said["store"]), (&"ok".into(), &"ok".into()));

    let sick = Upstream::http(|_| {
        probehost_test_support::upstream::Response::new(503).body(r#"{"status":"degraded"}"#)
    });
    let ran = run(&["healthz", "--url", &sick.url()]);
    assert_eq!((ran.code, ran.stdout.trim()), (1, r#"{"status":"degraded"}"#));
    let ran = run(&["healthz", "--url", &ClosedPort::reserve().url()]);
    assert!(ran.code == 1 && ran.stderr.contains("probehost serve"), "{ran:?}");
    let ran = run(&["healthz", "--url", &down.url()]);
    assert!(ran.code == 1 && ran.stderr.contains("does not answer as"), "{ran:?}");
}
