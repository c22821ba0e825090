//! The file of known hosts, by which jump hosts are verified: a host that is in it must show a
//! key that is in it, and one that is not is added (OpenSSH's `accept-new`; contract K3).

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ring::hmac;
use russh::keys::PublicKey;
use russh::keys::ssh_key::known_hosts::HostPatterns;

use super::keys::{KeyType, shown};
use super::session::Refusal;

/// The known hosts of this machine.
#[derive(Debug)]
pub(super) struct KnownHosts {
    /// None: there is nowhere to keep them.
    path: Option<PathBuf>,
    /// Held while a key is looked for and added, so that it is added once.
    writing: Mutex<()>,
}

/// What a line says of a host.
struct Known {
    revoked: bool,
    key: PublicKey,
}

impl KnownHosts {
    pub(super) const fn new(path: Option<PathBuf>) -> Self {
        Self { path, writing: Mutex::new(()) }
    }

    /// The types of host keys, those first of which a key of this host is known: it must not look
    /// changed because it has others too.
    pub(super) fn types(&self, host: &str, port: u16) -> Result<Vec<KeyType>, String> {
        let known = self.read(host, port)?;
        let is_known = |kind: &KeyType| {
            known.iter().any(|known| !known.revoked && KeyType::of(&known.key) == Some(*kind))
        };
        let (mut first, rest): (Vec<_>, Vec<_>) = KeyType::ALL.into_iter().partition(is_known);
        first.extend(rest);
        Ok(first)
    }

    /// Judges the key that a host shows; the file in which it is kept from now on when the host
    /// was not known.
    pub(super) fn judge(
        &self,
        host: &str,
        port: u16,
        key: &PublicKey,
    ) -> Result<Option<&Path>, Refusal> {
        let _one_at_a_time = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.path().map_err(Refusal::Keeping)?;
        let known = self.read(host, port).map_err(Refusal::Keeping)?;
        let offered = shown(key);
        let name = name(host, port);
        if known.iter().any(|known| known.revoked && known.key.key_data() == key.key_data()) {
            return Err(Refusal::HostKey(format!(
                "{name} offers the host key {offered}, which {} says is revoked",
                path.display()
            )));
        }
        let mut valid = known.iter().filter(|known| !known.revoked).peekable();
        if valid.peek().is_none() {
            let line = line(&name, key).and_then(|line| append(path, &line));
            return match line {
                Ok(()) => Ok(Some(path)),
                Err(error) => Err(Refusal::Keeping(format!(
                    "the host key {offered} of {name} is new and cannot be kept in {}: {error}",
                    path.display()
                ))),
            };
        }
        let recorded: Vec<_> = valid.map(|known| &known.key).collect();
        if recorded.iter().any(|known| known.key_data() == key.key_data()) {
            return Ok(None);
        }
        let recorded: Vec<_> = recorded.into_iter().map(shown).collect();
        Err(Refusal::HostKey(format!(
            "{name} offers the host key {offered}, and {} knows it by {}",
            path.display(),
            recorded.join(", ")
        )))
    }

    fn path(&self) -> Result<&Path, String> {
        self.path.as_deref().ok_or_else(|| {
            "there is no file of known hosts to verify a jump host by; name one in the host's \
             config, known_hosts under [ssh]"
                .to_owned()
        })
    }

    fn read(&self, host: &str, port: u16) -> Result<Vec<Known>, String> {
        let path = self.path()?;
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => {
                return Err(format!(
                    "the known hosts cannot be read from {}: {error}",
                    path.display()
                ));
            }
        };
        let name = name(host, port);
        let text = String::from_utf8_lossy(&bytes);
        Ok(text.lines().filter_map(|line| entry(line, &name)).collect())
    }
}

/// How known_hosts spells a host.
fn name(host: &str, port: u16) -> String {
    let host = host.to_ascii_lowercase();
    if port == 22 { host } else { format!("[{host}]:{port}") }
}

fn line(name: &str, key: &PublicKey) -> io::Result<String> {
    let mut key = key.clone();
    key.set_comment("");
    let key = key.to_openssh().map_err(io::Error::other)?;
    Ok(format!("{name} {}\n", key.trim_end()))
}

fn append(path: &Path, line: &str) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.read(true).append(true).create(true).mode(0o600).open(path)?;
    // What somebody wrote without a line end keeps its own line.
    let before = std::fs::read(path)?;
    let start = if before.last().is_none_or(|byte| *byte == b'\n') { "" } else { "\n" };
    file.write_all(format!("{start}{line}").as_bytes())
}

/// What a line says of the host `name`; none when it is of others, or no line that can be read.
fn entry(line: &str, name: &str) -> Option<Known> {
    let mut words = line.split_whitespace().peekable();
    let revoked = match words.peek()? {
        comment if comment.starts_with('#') => return None,
        // A certificate authority vouches for certificates, which are not asked for.
        marker if marker.starts_with('@') => {
            if *marker != "@revoked" {
                return None;
            }
            words.next();
            true
        }
        _ => false,
    };
    let hosts: HostPatterns = words.next()?.parse().ok()?;
    if !covers(&hosts, name) {
        return None;
    }
    let (kind, base64) = (words.next()?, words.next()?);
    let key = PublicKey::from_openssh(&format!("{kind} {base64}")).ok()?;
    Some(Known { revoked, key })
}

fn covers(hosts: &HostPatterns, name: &str) -> bool {
    match hosts {
        HostPatterns::HashedName { salt, hash } => {
            let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, salt);
            hmac::verify(&key, name.as_bytes(), hash).is_ok()
        }
        HostPatterns::Patterns(patterns) => {
            let matches =
                |pattern: &str| glob(pattern.to_ascii_lowercase().as_bytes(), name.as_bytes());
            let mut found = false;
            for pattern in patterns {
                match pattern.strip_prefix('!') {
                    Some(excluded) if matches(excluded) => return false,
                    Some(_) => {}
                    None => found |= matches(pattern),
                }
            }
            found
        }
    }
}

/// Whether a pattern with `*` and `?` takes all of `text`.
fn glob(pattern: &[u8], text: &[u8]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some((b'*', rest)) => {
            (0..=text.len()).any(|skipped| glob(rest, text.get(skipped..).unwrap_or_default()))
        }
        Some((first, rest)) => text
            .split_first()
            .is_some_and(|(c, text)| (*first == b'?' || first == c) && glob(rest, text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ED25519: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ";
    const OTHER: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA6rWI3G1sz07DnfFlrouTcysQlj2P+jpNSOEWD9OJ3X";
    /// `example.com`, hashed.
    const HASHED: &str = "|1|O33ESRMWPVkMYIwJ1Uw+n877jTo=|nuuC5vEqXlEZ/8BXQR7m619W6Ak=";

    #[test]
    fn lines_are_of_the_hosts_they_name() {
        let rows = [
            ("bastion", "bastion", true),
            ("Bastion", "bastion", true),
            ("bastion", "[bastion]:2222", false),
            ("[bastion]:2222", "[bastion]:2222", true),
            ("a,bastion,b", "bastion", true),
            ("*.example.com", "b.example.com", true),
            ("*.example.com", "example.com", false),
            ("*.example.com,!b.example.com", "b.example.com", false),
            ("bastio?", "bastion", true),
            (HASHED, "example.com", true),
            (HASHED, "example.org", false),
        ];
        for (hosts, name, of_it) in rows {
            let line = format!("{hosts}  {ED25519} a comment");
            assert_eq!(entry(&line, name).is_some(), of_it, "{hosts} {name}");
        }
    }

    #[test]
    fn what_is_no_line_is_passed_over() {
        for line in [
            "",
            "#bastion ssh-ed25519 AAAA",
            "bastion",
            "bastion ssh-ed25519",
            "bastion ssh-ed25519 AAAA",
        ] {
            assert!(entry(line, "bastion").is_none(), "{line}");
        }
        assert!(entry(&format!("@cert-authority bastion {ED25519}"), "bastion").is_none());
        assert!(entry(&format!("@revoked bastion {ED25519}"), "bastion").unwrap().revoked);
    }

    /// K3: accept-new. Who is not known is kept; who is known must show a known key.
    #[test]
    fn a_new_host_is_kept_and_a_known_one_is_held_to_its_key() {
        let folder = std::env::temp_dir().join(format!("probehost-known-{}", std::process::id()));
        let path = folder.join("ssh/known_hosts");
        let hosts = KnownHosts::new(Some(path.clone()));
        let (key, other): (PublicKey, PublicKey) =
            (ED25519.parse().unwrap(), OTHER.parse().unwrap());
        let kept = hosts.judge("Bastion", 2222, &key).unwrap().map(Path::to_owned);
        let again = hosts.judge("bastion", 2222, &key).unwrap().map(Path::to_owned);
        let changed = hosts.judge("bastion", 2222, &other);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("@revoked bastion {ED25519}")).unwrap();
        let revoked = hosts.judge("bastion", 22, &key);
        hosts.judge("bastion", 22, &other).unwrap();
        let appended = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(kept, Some(path));
        assert_eq!(again, None);
        assert_eq!(text, format!("[bastion]:2222 {ED25519}\n"));
        let Err(Refusal::HostKey(message)) = changed else { panic!("{changed:?}") };
        assert!(message.contains(&shown(&other)) && message.contains(&shown(&key)), "{message}");
        assert!(matches!(revoked, Err(Refusal::HostKey(_))), "{revoked:?}");
        assert_eq!(appended, format!("@revoked bastion {ED25519}\nbastion {OTHER}\n"));
    }
}
