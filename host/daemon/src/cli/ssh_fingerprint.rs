//! `probehost ssh-fingerprint HOST`: the host keys that a server offers, for the first pin.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use probehost_capability::resolve::Resolver;
use probehost_capability::ssh::Offered;
use probehost_capability::{Capabilities, Options, Run};
use probehost_model::Endpoint;
use probehost_model::grant::Grants;
use tokio::time::Instant;

use super::fail;

/// How long all of it may take.
const LIMIT: Duration = Duration::from_secs(20);

/// Where SSH servers listen when nothing else is said.
const SSH_PORT: u16 = 22;

#[derive(Debug, Args)]
pub(crate) struct SshFingerprintArgs {
    /// The host, and its port when that is not 22: example.com, 192.0.2.7:2222, [2001:db8::1]:22.
    #[arg(value_name = "HOST[:PORT]", value_parser = place)]
    host: (String, u16),
}

/// Host and port. An IPv6 address before a port has brackets.
fn place(text: &str) -> Result<(String, u16), String> {
    let wrong = || format!("{text:?} is not a host, or a host and a port: example.com:22");
    let (host, port) = if let Some(rest) = text.strip_prefix('[') {
        let (host, port) = rest.split_once(']').ok_or_else(wrong)?;
        (host, port.strip_prefix(':'))
    } else {
        match text.split_once(':') {
            // More than one colon: an IPv6 address alone.
            Some((_, rest)) if rest.contains(':') => (text, None),
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        }
    };
    let port = match port {
        None => SSH_PORT,
        Some(port) => port.parse().ok().filter(|port| *port > 0).ok_or_else(wrong)?,
    };
    if host.is_empty() || host.contains(|c: char| c.is_whitespace() || "/@[]".contains(c)) {
        return Err(wrong());
    }
    Ok((host.to_ascii_lowercase(), port))
}

pub(crate) async fn ssh_fingerprint(args: &SshFingerprintArgs) -> ExitCode {
    match offered(args).await {
        Ok(offered) => {
            print!("{}", report(&args.host.0, &offered));
            ExitCode::SUCCESS
        }
        Err(message) => fail(&message),
    }
}

async fn offered(args: &SshFingerprintArgs) -> Result<Vec<Offered>, String> {
    let (host, port) = (args.host.0.clone(), args.host.1);
    let resolver = Resolver::system().map_err(|error| error.to_string())?;
    let options = Options { resolver, system_roots: false, root_files: Vec::new() };
    let capabilities = Capabilities::new(options).map_err(|error| error.to_string())?;
    let named = [Endpoint::Ssh { host: host.clone(), port }];
    let run = Run::new("ssh-fingerprint", Grants::new(named, Vec::new()), Instant::now() + LIMIT);
    capabilities.ssh().offered(&run, &host, port).await.map_err(|error| error.to_string())
}

fn report(host: &str, offered: &[Offered]) -> String {
    let mut text = String::new();
    for key in offered {
        text.push_str(&key.host_key);
        if let Some(bits) = key.bits {
            text.push_str(&format!("  ({bits} bits)"));
        }
        text.push('\n');
    }
    text.push_str(&format!(
        "\nUNVERIFIED: this is what answers for {host} here and now; nothing vouches for it.\n\
         Compare it with what the server says itself, on its console or by a way that you trust:\n  \
         for key in /etc/ssh/ssh_host_*_key.pub; do ssh-keygen -l -f $key; done\n\
         Then pin one in the check's config, with its type:\n"
    ));
    if let Some(first) = offered.first() {
        text.push_str(&format!("  host_key = \"{}\"\n", first.host_key));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_a_port_or_none() {
        let rows = [
            ("Example.com", "example.com", 22),
            ("example.com:2222", "example.com", 2222),
            ("192.0.2.7", "192.0.2.7", 22),
            ("2001:db8::1", "2001:db8::1", 22),
            ("[2001:db8::1]", "2001:db8::1", 22),
            ("[2001:db8::1]:2222", "2001:db8::1", 2222),
        ];
        for (text, host, port) in rows {
            assert_eq!(place(text), Ok((host.to_owned(), port)), "{text}");
        }
        for wrong in ["", ":22", "a:0", "a:b", "a:70000", "user@a", "ssh://a", "[::1", "a b"] {
            assert!(place(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_offered_is_called_unverified() {
        let offered = [
            Offered { host_key: "ssh-ed25519 SHA256:abc".to_owned(), bits: None },
            Offered { host_key: "ssh-rsa SHA256:def".to_owned(), bits: Some(3072) },
        ];
        let text = report("db", &offered);
        assert!(
            text.starts_with("ssh-ed25519 SHA256:abc\nssh-rsa SHA256:def  (3072 bits)\n"),
            "{text}"
        );
        assert!(text.contains("UNVERIFIED: this is what answers for db"), "{text}");
        assert!(text.ends_with("  host_key = \"ssh-ed25519 SHA256:abc\"\n"), "{text}");
    }
}
