//! For build scripts: compiles plugins of this workspace to Wasm components.
//!
//! A build script of one package asks for components that are other packages:
//!
//! ```no_run
//! use probehost_plugin_build::{packages, report, write_table};
//!
//! report(packages(&["http-head"]).and_then(|built| write_table("Builtin", &built)));
//! ```
//!
//! They are built by a cargo of their own, with the workspace's profile `plugin`, in a target
//! folder of their own beneath the workspace's, so that neither waits for the other's lock.
//! What the outer build was asked for (flags, another target, clippy) does not reach them.

mod deps;
mod env;
mod error;
mod target;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

pub use error::BuildError;
use target::TARGET;

/// The profile in the workspace's Cargo.toml.
const PROFILE: &str = "plugin";

/// A component that was built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// The name of its package or example.
    pub name: String,
    /// The component, in the build script's OUT_DIR.
    pub path: PathBuf,
}

/// Builds packages whose library is a plugin.
///
/// # Errors
///
/// The Wasm target is missing, or cargo failed; see [`BuildError`].
pub fn packages(names: &[&str]) -> Result<Vec<Built>, BuildError> {
    let mut arguments = vec!["--lib"];
    for name in names {
        arguments.extend(["--package", name]);
    }
    build(&arguments, "", names)
}

/// Builds examples of one package, each of which is a plugin, with the package's `features`.
///
/// # Errors
///
/// The Wasm target is missing, or cargo failed; see [`BuildError`].
pub fn examples(package: &str, features: &str, names: &[&str]) -> Result<Vec<Built>, BuildError> {
    let mut arguments = vec!["--package", package, "--features", features];
    for name in names {
        arguments.extend(["--example", name]);
    }
    build(&arguments, "examples", names)
}

/// Writes `components.rs` to OUT_DIR: a slice of `kind { name, bytes }`, one for each component,
/// to be had with `include!(concat!(env!("OUT_DIR"), "/components.rs"))`.
///
/// # Errors
///
/// The file cannot be written.
pub fn write_table(kind: &str, built: &[Built]) -> Result<(), BuildError> {
    let mut text = String::from("&[\n");
    for Built { name, path } in built {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "    {kind} {{ name: {name:?}, bytes: include_bytes!({path:?}) }},");
    }
    text.push_str("]\n");
    let file = env::out_dir()?.join("components.rs");
    fs::write(&file, text).map_err(|source| BuildError::Write { file, source })
}

/// Ends a build script: tells cargo the error, if there is one, in one line.
pub fn report(result: Result<(), BuildError>) {
    if let Err(error) = result {
        println!("cargo::error={}", error.to_string().replace('\n', " "));
    }
}

/// Runs cargo and copies what it made, so that a later build cannot change it underneath.
fn build(arguments: &[&str], folder: &str, names: &[&str]) -> Result<Vec<Built>, BuildError> {
    target::check()?;
    let workspace = env::workspace()?;
    let out_dir = env::out_dir()?;
    let target_dir = env::target_dir(&out_dir)?;
    run_cargo(arguments, &workspace, &target_dir)?;

    let made = target_dir.join(TARGET).join(PROFILE).join(folder);
    let mut watched = deps::Watched::new(&workspace);
    let mut built = Vec::with_capacity(names.len());
    for name in names {
        // A library's file is named like its crate, an example's like the example.
        let stem = if folder.is_empty() { name.replace('-', "_") } else { (*name).to_owned() };
        watched.add(&made.join(format!("{stem}.d")))?;
        let path = out_dir.join(format!("{name}.wasm"));
        copy(&made.join(format!("{stem}.wasm")), &path)?;
        built.push(Built { name: (*name).to_owned(), path });
    }
    watched.tell_cargo();
    Ok(built)
}

fn run_cargo(arguments: &[&str], workspace: &Path, target_dir: &Path) -> Result<(), BuildError> {
    let mut cargo = Command::new(env::cargo());
    cargo
        .arg("build")
        .args(["--profile", PROFILE, "--target", TARGET])
        .args(arguments)
        .arg("--target-dir")
        .arg(target_dir)
        .current_dir(workspace)
        // What a build script prints there is for the outer cargo.
        .stdout(Stdio::null());
    if workspace.join("Cargo.lock").is_file() {
        cargo.arg("--locked");
    }
    for name in env::leaking(std::env::vars_os().filter_map(|(name, _)| name.into_string().ok())) {
        cargo.env_remove(name);
    }
    let status = cargo.status().map_err(|source| BuildError::Start { source })?;
    if status.success() { Ok(()) } else { Err(BuildError::Cargo { status }) }
}

/// Copies a file, unless it is there already: its time is what the compiler goes by.
fn copy(from: &Path, to: &Path) -> Result<(), BuildError> {
    let new =
        fs::read(from).map_err(|source| BuildError::Read { file: from.to_owned(), source })?;
    match fs::read(to) {
        Ok(old) if old == new => Ok(()),
        Ok(_) | Err(_) => write(to, &new),
    }
}

fn write(file: &Path, bytes: &[u8]) -> Result<(), BuildError> {
    fs::write(file, bytes)
        .map_err(|source: io::Error| BuildError::Write { file: file.to_owned(), source })
}
