//! `probehost init`: a configuration file to begin with.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use url::Url;

use super::fail;

const HEAD: &str = include_str!("../../templates/probehost.toml");
const TARGETS: &str = include_str!("../../templates/targets.toml");

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The file to write. One that is there is left alone.
    #[arg(value_name = "FILE", default_value = "probehost.toml")]
    config: PathBuf,
    /// A URL to watch from the start. Can be given again.
    #[arg(long = "url", value_name = "URL", value_parser = url)]
    urls: Vec<Url>,
}

/// What `http-head` can watch.
fn url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| error.to_string())?;
    match (url.scheme(), url.host_str()) {
        ("http" | "https", Some(_)) if url.username().is_empty() => Ok(url),
        _ => Err("give one such as https://shop.example.com/health, without a user".to_owned()),
    }
}

pub(crate) fn init(args: &InitArgs) -> ExitCode {
    let path = args.config.display();
    match write(&args.config, &text(&args.urls)) {
        Ok(()) => {
            println!(
                "{path} is written. Next: probehost check-config {path}, then probehost serve --config {path}"
            );
            ExitCode::SUCCESS
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            fail(&format!("{path} is there already, and is left alone; give another FILE"))
        }
        Err(error) => fail(&format!("{path} can't be written: {error}")),
    }
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
}

fn text(urls: &[Url]) -> String {
    let mut ids = BTreeSet::new();
    let mut text = HEAD.to_owned();
    for url in urls {
        let host: String = url
            .host_str()
            .unwrap_or_default()
            .chars()
            .filter(|c| !matches!(c, '[' | ']'))
            .collect();
        let host = host.replace(':', "-");
        let numbered = (2..).map(|number| format!("{host}-{number}"));
        let id = std::iter::once(host.clone()).chain(numbered).find(|id| ids.insert(id.clone()));
        text.push_str(&format!(
            "\n[[targets]]\nid = {:?}\n[[targets.checks]]\nkind = \"http-head\"\ninterval = 60\nconfig = {{ url = {:?} }}\n",
            id.unwrap_or(host),
            url.as_str()
        ));
    }
    text.push_str(TARGETS);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each URL has a target with an id of its own.
    #[test]
    fn urls_become_targets() {
        let urls = ["https://a.example/x", "http://a.example:8080/?q=\"", "http://[::1]:9/"];
        let urls: Vec<Url> = urls.iter().map(|text| url(text).unwrap()).collect();
        let written: toml::Table = text(&urls).parse().unwrap();
        let targets = written["targets"].as_array().unwrap();
        let ids: Vec<_> = targets.iter().map(|target| target["id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["a.example", "a.example-2", "--1"]);
        let config = &targets[1]["checks"][0]["config"];
        assert_eq!(config["url"].as_str(), Some("http://a.example:8080/?q=%22"));
        for bad in ["shop", "ftp://a.example", "https://me:pw@a.example"] {
            assert!(url(bad).is_err(), "{bad}");
        }
    }

    /// All that is commented out is right once it is not.
    #[test]
    fn the_examples_are_toml() {
        let live: Vec<_> = text(&[])
            .lines()
            .filter_map(|line| match line.strip_prefix("# ") {
                Some(code) if code.starts_with('[') || code.contains(" = ") => {
                    Some(code.to_owned())
                }
                Some(_) => None,
                None => Some(line.to_owned()),
            })
            .collect();
        let table: Result<toml::Table, _> = live.join("\n").parse();
        assert!(table.is_ok(), "{table:?}\n{}", live.join("\n"));
    }
}
