//! Files below a folder, by their names from there.

use std::io;
use std::path::{Path, PathBuf};

/// Every file, `/` between the parts of its name. Folders that a build makes are left out.
pub(crate) fn below(folder: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    collect(folder, "", &mut found)?;
    Ok(found)
}

fn collect(folder: &Path, prefix: &str, found: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if !entry.file_type()?.is_dir() {
            found.push((name, path));
        } else if entry.file_name() != "target" {
            collect(&path, &format!("{name}/"), found)?;
        }
    }
    Ok(())
}
