//! Collects what `probehost plugin new` writes: templates, the contract, the SDK's sources; and
//! the page.
//!
//! Nothing is copied into this package, so nothing can fall behind: the files are taken from where
//! they are kept, and the TypeScript declarations are made of the contract at each build.

mod declarations;
mod sources;
mod workspace;

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let daemon = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let root = daemon.ancestors().nth(2).ok_or("the daemon is not two folders below the root")?;
    let out = PathBuf::from(env::var("OUT_DIR")?);

    let contract = out.join("contract.d.ts");
    fs::write(&contract, declarations::of(&root.join("wit/v1"))?)?;
    let manifest = out.join("vendor-Cargo.toml");
    fs::write(&manifest, workspace::manifest(&root.join("Cargo.toml"))?)?;

    let mut files = sources::below(&daemon.join("templates"))?;
    files.push(("ts/vendor/probehost/contract.d.ts".to_owned(), contract));
    files.push(("rust/vendor/probehost/Cargo.toml".to_owned(), manifest));
    for language in ["rust", "ts", "python"] {
        // The SDK looks for the contract two folders up, as it stands in this workspace.
        let place = if language == "rust" { "wit/v1" } else { "wit" };
        for (name, path) in sources::below(&root.join("wit/v1"))? {
            files.push((format!("{language}/vendor/probehost/{place}/{name}"), path));
        }
    }
    // Its own tests look at this workspace.
    let own_tests = |name: &str| name.starts_with("tests/");
    for (name, path) in sources::below(&root.join("sdk"))? {
        if own_tests(&name) {
            continue;
        }
        files.push((format!("rust/vendor/probehost/sdk/{name}"), path));
    }
    files.sort();
    fs::write(out.join("embedded.rs"), table(&files)?)?;

    // What only readers of the sources want is not served.
    let mut page = sources::below(&daemon.join("web"))?;
    page.retain(|(name, _)| !name.ends_with(".md") && !name.contains("LICENSE"));
    page.sort();
    fs::write(out.join("page.rs"), table(&page)?)?;
    for watched in [
        "wit/v1",
        "sdk",
        "Cargo.toml",
        "host/daemon/templates",
        "host/daemon/web",
        "host/daemon/build",
    ] {
        println!("cargo::rerun-if-changed={}", root.join(watched).display());
    }
    Ok(())
}

/// A Rust expression: each file's place below its root, and its text.
fn table(files: &[(String, PathBuf)]) -> Result<String, Box<dyn Error>> {
    let mut text = String::from("&[\n");
    for (name, path) in files {
        let path: &Path = path;
        writeln!(text, "    ({name:?}, include_str!({path:?})),")?;
    }
    text.push_str("]\n");
    Ok(text)
}
