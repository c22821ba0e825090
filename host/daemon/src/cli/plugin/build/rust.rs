//! A project in Rust: cargo, for the target wasm32-wasip2.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use serde_json::Value;

use super::tools::{self, Chatter, ToolError};
use super::{BuildError, Built};

const TARGET: &str = "wasm32-wasip2";

const INSTALL: &str = "install Rust 1.95 or later from https://rustup.rs";

pub(super) fn build(dir: &Path) -> Result<Built, BuildError> {
    let cargo = tools::find("cargo", INSTALL)?;
    target(dir)?;
    let mut command = Command::new(cargo);
    command
        .args(["build", "--release", "--target", TARGET])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(dir);
    let messages = tools::run(&mut command, Chatter::Errors, "")?;
    let manifest = dir.join("Cargo.toml");
    component(&String::from_utf8_lossy(&messages), &manifest).ok_or(BuildError::Project {
        file: manifest,
        wrong: "it makes no component; give its library crate-type = [\"cdylib\", \"rlib\"]"
            .to_owned(),
    })
}

/// The component among what cargo made, which it tells in JSON, line by line.
fn component(messages: &str, manifest: &Path) -> Option<Built> {
    let manifest = fs::canonicalize(manifest).ok()?;
    messages.lines().rev().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        let of_project = message.get("manifest_path")?.as_str() == manifest.to_str();
        let files = message.get("filenames").filter(|_| of_project)?.as_array()?;
        let file = files.iter().filter_map(Value::as_str).find(|file| file.ends_with(".wasm"))?;
        let name = message.get("target")?.get("name")?.as_str()?.replace('_', "-");
        Some(Built { name, file: PathBuf::from(file) })
    })
}

/// Whether the toolchain that this project gets has the target.
fn target(dir: &Path) -> Result<(), ToolError> {
    let rustc = tools::find("rustc", INSTALL)?;
    let mut command = Command::new(rustc);
    command.args(["--print", "target-libdir", "--target", TARGET]).current_dir(dir);
    let folder = tools::run(&mut command, Chatter::Nothing, "")?;
    let folder = PathBuf::from(String::from_utf8_lossy(&folder).trim());
    if has_std(&folder).unwrap_or(false) {
        return Ok(());
    }
    Err(ToolError::Lacking(format!(
        "the Rust target {TARGET} is not installed ({} has no standard library); run: rustup target \
         add {TARGET}, or without rustup's downloads, on Debian: scripts/wasm-target.sh of \
         probehost's sources",
        folder.display()
    )))
}

fn has_std(folder: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(folder)? {
        if entry?.file_name().to_string_lossy().starts_with("libstd-") {
            return Ok(true);
        }
    }
    Ok(false)
}
