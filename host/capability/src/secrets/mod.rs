//! Secrets by reference: a config names one, and the host looks it up when it is used.
//!
//! A secret is looked for as a file of that name in the directories (the configured one first,
//! then that of systemd's credentials), then in the file of secrets, and then in the environment
//! as `PROBEHOST_SECRET_<NAME>`. It is read for each use, so a rotated one is used from then on.
//! No plugin ever sees one.

mod file;

use std::fmt;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Longest secret, in bytes.
pub const MAX_SECRET_BYTES: usize = 64 << 10;

/// Longest name of a secret, in bytes.
const MAX_NAME: usize = 64;

/// Answers for environment variables.
type Environment = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Where secrets are.
#[derive(Clone)]
pub struct Secrets {
    directories: Vec<PathBuf>,
    file: Option<PathBuf>,
    environment: Environment,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets")
            .field("directories", &self.directories)
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

/// The text of a secret. It shows itself to nobody who prints it.
pub struct Secret(String);

impl Secret {
    #[cfg(test)]
    pub(crate) fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The text, for whoever puts it on the wire.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Why a secret can't be had. The message names it and never holds anything of it.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The name is none.
    #[error(
        "{0:?} is not a secret's name; use letters, digits, hyphens, underscores and dots, \
         at most {MAX_NAME}, and no dot first"
    )]
    Name(String),
    /// It is nowhere.
    #[error("the secret {name} is not there; {remedy}")]
    Missing {
        /// Its name.
        name: String,
        /// Where to put it.
        remedy: String,
    },
    /// Its file can't be read, or is no text of a fitting size.
    #[error("the secret {name} cannot be read from {}: {why}", path.display())]
    Unreadable {
        /// Its name.
        name: String,
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

impl Secrets {
    /// Those of this process: the files of `directory`, those of `$CREDENTIALS_DIRECTORY`, and
    /// the environment.
    #[must_use]
    pub fn system(directory: Option<PathBuf>) -> Self {
        let credentials = std::env::var_os("CREDENTIALS_DIRECTORY").map(PathBuf::from);
        Self::new(directory.into_iter().chain(credentials), |name| std::env::var(name).ok())
    }

    /// Those in these directories, and those that `environment` answers for.
    pub fn new(
        directories: impl IntoIterator<Item = PathBuf>,
        environment: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        let directories = directories.into_iter().collect();
        Self { directories, file: None, environment: Arc::new(environment) }
    }

    /// The same, and those in this file: TOML, `name = "text"`. It is read only while nobody but
    /// its owner may use it.
    #[must_use]
    pub fn with_file(self, file: Option<PathBuf>) -> Self {
        Self { file, ..self }
    }

    /// The secret of this name, without a line end after it.
    ///
    /// # Errors
    ///
    /// [`SecretError`] says where it would have to be.
    pub fn get(&self, name: &str) -> Result<Secret, SecretError> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty()
            || name.len() > MAX_NAME
            || name.starts_with('.')
            || !name.chars().all(fits)
        {
            return Err(SecretError::Name(name.chars().take(MAX_NAME).collect()));
        }
        let unreadable = |path: &Path, why| {
            let (name, path) = (name.to_owned(), path.to_owned());
            SecretError::Unreadable { name, path, why }
        };
        for directory in &self.directories {
            let path = directory.join(name);
            if let Some(secret) = read(&path).map_err(|why| unreadable(&path, why))? {
                return Ok(secret);
            }
        }
        if let Some(path) = &self.file
            && let Some(secret) = file::get(path, name).map_err(|why| unreadable(path, why))?
        {
            return Ok(secret);
        }
        let variable = variable(name);
        match (self.environment)(&variable) {
            Some(text) => Ok(Secret(text)),
            None => Err(self.missing(name, &variable)),
        }
    }

    fn missing(&self, name: &str, variable: &str) -> SecretError {
        let mut remedy = format!("set the environment variable {variable} of the host");
        if let Some(directory) = self.directories.first() {
            remedy.push_str(&format!(", or write it to {}", directory.join(name).display()));
        }
        if let Some(file) = &self.file {
            remedy.push_str(&format!(", or give it in {}", file.display()));
        }
        SecretError::Missing { name: name.to_owned(), remedy }
    }
}

/// `db-login` is `PROBEHOST_SECRET_DB_LOGIN` in the environment.
fn variable(name: &str) -> String {
    let upper = name.chars().map(|c| match c {
        '-' | '.' => '_',
        c => c.to_ascii_uppercase(),
    });
    "PROBEHOST_SECRET_".chars().chain(upper).collect()
}

/// The text of a file; none when there is no such file.
fn read(path: &Path) -> Result<Option<Secret>, String> {
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let mut bytes = Vec::new();
    let limit = u64::try_from(MAX_SECRET_BYTES).unwrap_or(u64::MAX);
    file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() > MAX_SECRET_BYTES {
        return Err(format!("it has more than {MAX_SECRET_BYTES} bytes"));
    }
    // The error would show what the file holds.
    let mut text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(Some(Secret(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_environment() -> Secrets {
        Secrets::new([], |name| (name == "PROBEHOST_SECRET_DB_LOGIN").then(|| "s3cret".to_owned()))
    }

    #[test]
    fn a_secret_is_found_by_its_name() {
        assert_eq!(in_environment().get("db-login").unwrap().expose(), "s3cret");
        assert_eq!(in_environment().get("db.login").unwrap().expose(), "s3cret");
    }

    /// P8: printing one shows nothing of it.
    #[test]
    fn a_secret_does_not_show_itself() {
        let secret = in_environment().get("db-login").unwrap();
        assert_eq!(format!("{secret:?}"), "Secret(…)");
    }

    #[test]
    fn a_missing_one_is_named_with_where_to_put_it() {
        let error = in_environment().get("other").unwrap_err().to_string();
        assert_eq!(
            error,
            "the secret other is not there; set the environment variable PROBEHOST_SECRET_OTHER \
             of the host"
        );
    }

    /// A name can't lead out of the directory.
    #[test]
    fn names_are_names() {
        for name in ["", "..", ".hidden", "a/b", "/etc/passwd", "a b", "ä", &"a".repeat(65)] {
            let error = in_environment().get(name).unwrap_err();
            assert!(matches!(error, SecretError::Name(_)), "{name}: {error}");
        }
    }

    #[test]
    fn files_come_before_the_environment_and_lose_one_line_end() {
        let directory =
            std::env::temp_dir().join(format!("probehost-secrets-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("db-login"), "of the file\n\n").unwrap();
        std::fs::write(directory.join("binary"), [0xff, 0xfe]).unwrap();
        let secrets = Secrets::new([directory.clone()], |_| Some("of the environment".to_owned()));
        let found = secrets.get("db-login").unwrap();
        let other = secrets.get("other").unwrap();
        let binary = secrets.get("binary").unwrap_err().to_string();
        std::fs::remove_dir_all(&directory).unwrap();
        assert_eq!(found.expose(), "of the file\n");
        assert_eq!(other.expose(), "of the environment");
        assert!(binary.contains("binary cannot be read from") && binary.ends_with("not UTF-8"));
    }
}
