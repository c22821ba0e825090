//! A file that holds several secrets: TOML, `name = "text"` on each line, and for its owner alone.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use toml::de::DeTable;

use super::Secret;

/// Longest file of secrets, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// The bits of a mode that let anyone but the owner do something.
const OTHERS: u32 = 0o077;

/// The secret of this name in the file; none when there is no such file, or no such name in it.
///
/// # Errors
/// What is wrong with the file, and nothing of what is in it.
pub(super) fn get(path: &Path, name: &str) -> Result<Option<Secret>, String> {
    // Opening a pipe would wait for a writer, so what it is has to be known before.
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Err("it is not a file".to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    }
    let file = File::open(path).map_err(|error| error.to_string())?;
    // Of the file that is open, whatever the name stands for by now.
    let mode = file.metadata().map_err(|error| error.to_string())?.permissions().mode() & 0o7777;
    if mode & OTHERS != 0 {
        return Err(format!(
            "others than its owner may use it (mode {mode:o}), so it is not read; chmod 600 {}",
            path.display()
        ));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!("it has more than {MAX_BYTES} bytes"));
    }
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    // What the parser says could repeat a part of the text.
    let table = DeTable::parse(&text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        format!("it is not TOML, in line {line}; write name = \"text\" on each line")
    })?;
    match table.get_ref().get(name) {
        None => Ok(None),
        Some(value) => match value.get_ref().as_str() {
            Some(text) => Ok(Some(Secret(text.to_owned()))),
            None => Err("what it gives there is no text; write it in quotes".to_owned()),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;
    use crate::secrets::Secrets;

    fn secrets(text: &str, mode: u32) -> (Secrets, tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secrets.toml");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let environment = |name: &str| (name == "PROBEHOST_SECRET_OTHER").then(|| "env".to_owned());
        (Secrets::new([], environment).with_file(Some(path.clone())), dir, path)
    }

    #[test]
    fn it_gives_texts_by_name_and_the_environment_the_rest() {
        let (secrets, _dir, path) =
            secrets("# ours\ndb-login = \"s3cret \"\n\"a.b\" = '\"'", 0o600);
        assert_eq!(secrets.get("db-login").unwrap().expose(), "s3cret ");
        assert_eq!(secrets.get("a.b").unwrap().expose(), "\"");
        assert_eq!(secrets.get("other").unwrap().expose(), "env");
        let missing = secrets.get("absent").unwrap_err().to_string();
        assert!(missing.starts_with("the secret absent is not there; "), "{missing}");
        assert!(missing.ends_with(&format!("or give it in {}", path.display())), "{missing}");
        fs::remove_file(path).unwrap();
        assert_eq!(secrets.get("other").unwrap().expose(), "env");
    }

    #[test]
    fn one_that_others_can_use_is_not_read() {
        for mode in [0o644, 0o640, 0o604, 0o602, 0o610] {
            let (secrets, _dir, path) = secrets("db-login = \"s3cret\"", mode);
            let error = secrets.get("db-login").unwrap_err().to_string();
            let path = path.display();
            assert_eq!(
                error,
                format!(
                    "the secret db-login cannot be read from {path}: others than its owner may use \
                     it (mode {mode:o}), so it is not read; chmod 600 {path}"
                )
            );
            // Nor does the environment stand in: which of the two is meant must not depend on it.
            assert!(secrets.get("other").is_err());
        }
        for mode in [0o600, 0o400] {
            assert!(secrets("db-login = \"s3cret\"", mode).0.get("db-login").is_ok());
        }
    }

    /// P8: a slip in the file is told by its line, without a word of the file.
    #[test]
    fn slips_are_told_without_their_text() {
        let rows = [
            ("a = \"1\"\ndb-login = hunter2", "it is not TOML, in line 2"),
            ("db-login = 4711", "what it gives there is no text"),
            ("db-login = \"hunter2\"\ndb-login = \"4711\"", "it is not TOML, in line 2"),
        ];
        for (text, words) in rows {
            let error = secrets(text, 0o600).0.get("db-login").unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
            assert!(!error.contains("hunter2") && !error.contains("4711"), "{error}");
        }
        let dir = tempfile::tempdir().unwrap();
        let folder = Secrets::new([], |_| None).with_file(Some(dir.path().to_owned()));
        assert!(folder.get("x").unwrap_err().to_string().ends_with("it is not a file"));
    }
}
