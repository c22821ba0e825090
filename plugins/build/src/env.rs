//! What the outer cargo tells a build script, and what of it must not reach the inner one.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::BuildError;

/// Variables of the outer build that would change what the inner one makes.
const LEAKING: &[&str] = &[
    "CARGO_BUILD_BUILD_DIR",
    "CARGO_BUILD_RUSTC",
    "CARGO_BUILD_RUSTC_WORKSPACE_WRAPPER",
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_ENCODED_RUSTDOCFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_PRIMARY_PACKAGE",
    "CARGO_TARGET_DIR",
    "CARGO_TARGET_TMPDIR",
    "CLIPPY_ARGS",
    "CLIPPY_CONF_DIR",
    "DEBUG",
    "HOST",
    "NUM_JOBS",
    "OPT_LEVEL",
    "OUT_DIR",
    "PROFILE",
    "RUSTC",
    "RUSTC_LINKER",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTDOC",
    "RUSTDOCFLAGS",
    "RUSTFLAGS",
    "TARGET",
];

/// The same, by how they begin.
const LEAKING_PREFIXES: &[&str] = &[
    "CARGO_CFG_",
    "CARGO_FEATURE_",
    "CARGO_MANIFEST_",
    "CARGO_PKG_",
    "CARGO_PROFILE_",
    "CARGO_TARGET_WASM32_WASIP2_",
    "DEP_",
];

/// Of these variables, the ones that must not reach the inner cargo.
pub(crate) fn leaking(names: impl Iterator<Item = String>) -> impl Iterator<Item = String> {
    names.filter(|name| {
        LEAKING.contains(&name.as_str())
            || LEAKING_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    })
}

/// The cargo that runs the build script.
pub(crate) fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// The compiler that it uses.
pub(crate) fn rustc() -> OsString {
    std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())
}

/// Where the build script may write.
pub(crate) fn out_dir() -> Result<PathBuf, BuildError> {
    folder("OUT_DIR")
}

/// The nearest folder above the package whose Cargo.toml is a workspace's.
pub(crate) fn workspace() -> Result<PathBuf, BuildError> {
    let package = folder("CARGO_MANIFEST_DIR")?;
    let is_workspace = |folder: &&Path| {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
        manifest.lines().any(|line| line.trim() == "[workspace]")
    };
    let found = package.ancestors().find(is_workspace).map(Path::to_owned);
    found.ok_or(BuildError::Environment { name: "CARGO_MANIFEST_DIR" })
}

/// The inner target folder: `plugins` in the outer one, which is above `<profile>/build` in OUT_DIR.
pub(crate) fn target_dir(out_dir: &Path) -> Result<PathBuf, BuildError> {
    out_dir
        .ancestors()
        .find(|folder| folder.file_name().is_some_and(|name| name == "build"))
        .and_then(|build| build.parent()?.parent())
        .map(|target| target.join("plugins"))
        .ok_or(BuildError::Environment { name: "OUT_DIR" })
}

fn folder(name: &'static str) -> Result<PathBuf, BuildError> {
    std::env::var_os(name).map(PathBuf::from).ok_or(BuildError::Environment { name })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_the_outer_build_stays_there() {
        let names = [
            "RUSTFLAGS",
            "CARGO_ENCODED_RUSTFLAGS",
            "RUSTC_WORKSPACE_WRAPPER",
            "CARGO_FEATURE_X",
            "CARGO_TARGET_DIR",
        ];
        let kept = [
            "PATH",
            "HOME",
            "CARGO_HOME",
            "CARGO_MAKEFLAGS",
            "CARGO_NET_OFFLINE",
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER",
            "RUSTC_WRAPPER",
            "RUSTUP_TOOLCHAIN",
        ];
        let all = names.iter().chain(&kept).map(|&name| name.to_owned());
        assert_eq!(leaking(all).collect::<Vec<_>>(), names);
    }

    #[test]
    fn the_inner_target_folder_is_beneath_the_outer_one() {
        for (out_dir, expected) in [
            ("/w/target/debug/build/a-1/out", "/w/target/plugins"),
            ("/w/target/x86_64/release/build/a-1/out", "/w/target/x86_64/plugins"),
            ("/w/target/debug/build/a/1/out", "/w/target/plugins"),
        ] {
            assert_eq!(target_dir(Path::new(out_dir)).unwrap(), Path::new(expected));
        }
        assert!(target_dir(Path::new("/w/out")).is_err());
    }
}
