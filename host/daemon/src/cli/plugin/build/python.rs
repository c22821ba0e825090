//! A project in Python: componentize-py, from an environment in the project.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::tools::{self, Chatter, ToolError};
use super::{BuildError, Built, dist, read};

const INSTALL: &str =
    "install Python 3.10 or later with its module venv; on Debian: apt-get install python3-venv";

/// The tool as a module: a script in an environment holds the path that it was made at.
const COMPONENTIZE: &str = "import sys\nfrom componentize_py import script\nsys.exit(script())";

pub(super) fn build(dir: &Path) -> Result<Built, BuildError> {
    let manifest = dir.join("pyproject.toml");
    let wrong = |wrong: String| BuildError::Project { file: manifest.clone(), wrong };
    let project: toml::Table = read(&manifest)?
        .parse()
        .map_err(|error: toml::de::Error| wrong(error.message().to_owned()))?;
    let name = project.get("project").and_then(|project| project.get("name")?.as_str());
    let name = name
        .ok_or_else(|| wrong("it has no [project] name; give the probe kind".to_owned()))?
        .to_owned();
    environment(dir)?;
    let dist = dist(dir)?;
    let file = dist.join(format!("{name}.wasm"));
    // What was built before must not be taken for what this build makes.
    let _ = fs::remove_file(&file);
    let mut command = Command::new(".venv/bin/python");
    command
        .args(["-c", COMPONENTIZE, "-d", "vendor/probehost/wit", "-w", "plugin", "componentize"])
        .args(["app", "-p", "src", "-p", "vendor/probehost", "-o"])
        .arg(Path::new("dist").join(format!("{name}.wasm")))
        .current_dir(dir);
    tools::run(&mut command, Chatter::Nothing, "")?;
    if !file.is_file() {
        return Err(BuildError::NoComponent { file, hint: "componentize-py has to make it" });
    }
    Ok(Built { name, file })
}

/// Makes the environment, unless the tool is there.
fn environment(dir: &Path) -> Result<(), ToolError> {
    if dir.join(".venv/bin/componentize-py").exists() {
        return Ok(());
    }
    let python = tools::find("python3", INSTALL)?;
    eprintln!("installing what the project needs into .venv (python3 -m venv, pip)");
    let mut venv = Command::new(python);
    venv.args(["-m", "venv", ".venv"]).current_dir(dir);
    tools::run(&mut venv, Chatter::Nothing, "; on Debian: apt-get install python3-venv")?;
    let mut pip = Command::new(".venv/bin/python");
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "-r",
        "requirements.txt",
    ]);
    tools::run(
        pip.current_dir(dir),
        Chatter::Nothing,
        "; an index or proxy is set with pip config",
    )?;
    Ok(())
}
