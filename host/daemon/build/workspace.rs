//! The Cargo.toml above the SDK's sources in an author's project: what the SDK inherits from the
//! workspace here, and no more.

use std::error::Error;
use std::fs;
use std::path::Path;

/// Sections of the workspace's manifest that are taken over as they are.
const WHOLE: [&str; 3] =
    ["[workspace.package]", "[workspace.lints.rust]", "[workspace.lints.clippy]"];

/// Made from the workspace's own manifest, by lines: one dependency stands on one line there.
pub(crate) fn manifest(workspace: &Path) -> Result<String, Box<dyn Error>> {
    let text = fs::read_to_string(workspace)?;
    let wanted = inherited(workspace)?;
    let mut made = String::from(
        "# What the SDK inherits. `probehost plugin new` wrote this; it is not yours to edit.\n\
         [workspace]\nresolver = \"3\"\nmembers = [\"sdk\", \"sdk/macros\"]\n\n",
    );
    let mut section = "";
    for line in text.lines() {
        if line.starts_with('[') {
            section = line;
            if WHOLE.contains(&line) || line == "[workspace.dependencies]" {
                made.push_str(&format!("{line}\n"));
            }
            continue;
        }
        let name = line.split_once(" = ").map_or("", |(name, _)| name);
        let taken = WHOLE.contains(&section)
            || (section == "[workspace.dependencies]" && wanted.iter().any(|one| one == name));
        if taken {
            made.push_str(&format!("{line}\n"));
        }
    }
    for name in &wanted {
        if !made.lines().any(|line| line.starts_with(&format!("{name} = "))) {
            return Err(format!("{} has no dependency {name}", workspace.display()).into());
        }
    }
    Ok(made)
}

/// The dependencies that the SDK's packages take from the workspace.
fn inherited(workspace: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let mut names = Vec::new();
    for package in ["sdk/Cargo.toml", "sdk/macros/Cargo.toml"] {
        let path = workspace.with_file_name(package);
        let mut section = String::new();
        for line in fs::read_to_string(path)?.lines() {
            if line.starts_with('[') {
                line.clone_into(&mut section);
            } else if section.ends_with("dependencies]")
                && let Some((name, _)) = line.split_once('=')
            {
                names.push(name.trim().trim_end_matches(".workspace").to_owned());
            }
        }
    }
    Ok(names)
}
