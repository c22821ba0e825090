//! A project in TypeScript: npm, which runs the project's own script `build`.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::tools::{self, Chatter};
use super::{BuildError, Built, dist, read};

const INSTALL: &str =
    "install Node.js 20 or later from https://nodejs.org, or on Debian: apt-get install npm";

pub(super) fn build(dir: &Path) -> Result<Built, BuildError> {
    let npm = tools::find("npm", INSTALL)?;
    let manifest = dir.join("package.json");
    let wrong = |wrong: String| BuildError::Project { file: manifest.clone(), wrong };
    let package: Value = serde_json::from_str(&read(&manifest)?)
        .map_err(|error| wrong(format!("it is no JSON: {error}")))?;
    let name = package.get("name").and_then(Value::as_str);
    let name = name.ok_or_else(|| wrong("it has no name; give the probe kind".to_owned()))?;
    if !dir.join("node_modules/.bin/componentize-qjs").exists() {
        eprintln!("installing what the project needs into node_modules (npm install)");
        let mut install = Command::new(&npm);
        install.args(["install", "--no-audit", "--no-fund", "--loglevel=error"]).current_dir(dir);
        tools::run(&mut install, Chatter::Nothing, "; a proxy or registry is set in .npmrc")?;
    }
    let dist = dist(dir)?;
    tools::run(
        Command::new(&npm).args(["run", "--silent", "build"]).current_dir(dir),
        Chatter::Nothing,
        "",
    )?;
    let file = dist.join(format!("{name}.wasm"));
    if !file.is_file() {
        let hint = "the script `build` of package.json has to make it";
        return Err(BuildError::NoComponent { file, hint });
    }
    Ok(Built { name: name.to_owned(), file })
}
