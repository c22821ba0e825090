//! Paths that the file names.

use std::path::{Path, PathBuf};

use crate::problem::Problem;
use crate::walk::{Item, KeyPath, Reader};

/// A path; one that is not absolute begins at the folder of the file.
pub(crate) fn file_path(
    reader: &mut Reader<'_>,
    item: &Item<'_>,
    path: KeyPath<'_>,
    folder: &Path,
) -> Option<PathBuf> {
    let text = reader.string(item, path)?;
    if text.trim().is_empty() {
        let help = "write a path; one that does not begin with / starts at this file's folder";
        reader.report(&item.span(), path, Problem::Empty { what: "the path", help });
        return None;
    }
    Some(folder.join(text))
}
