//! Whether a config names an endpoint. A plugin computes its endpoints itself and may lie,
//! so the host looks for itself (contract G2).

use serde_json::Value;
use url::Url;

use super::host::Host;
use crate::Endpoint;

/// Whether `config` names `endpoint`. For a network endpoint some string of the config must
/// name the host, as a URL, as `host:port` or bare; and the port must stand with it, or be the
/// default of that URL's scheme or of the endpoint's where the string has none, or be some
/// whole number of the config. For a container, process or DNS name, some string must be the name.
///
/// A host inside a longer text is not named, nor is one in a key.
#[must_use]
pub fn named_in(config: &Value, endpoint: &Endpoint) -> bool {
    let (host, port, default) = match endpoint {
        Endpoint::Http(origin) => (&origin.host, origin.port, Some(origin.scheme.default_port())),
        Endpoint::Tcp { host, port } | Endpoint::Udp { host, port } => (host, *port, None),
        Endpoint::Ssh { host, port } => (host, *port, Some(22)),
        Endpoint::Container(name) | Endpoint::Process(name) => {
            return any(config, &mut |value| value.as_str() == Some(name));
        }
        Endpoint::Dns(name) => {
            let Some(name) = Host::parse(name) else { return false };
            return any(config, &mut |value| {
                value.as_str().and_then(Host::parse).as_ref() == Some(&name)
            });
        }
    };
    let Some(host) = Host::parse(host) else { return false };
    let mut host_is_named = false;
    let with_port = any(config, &mut |value| {
        let Some(mention) = value.as_str().and_then(mention) else { return false };
        if mention.host != host {
            return false;
        }
        host_is_named = true;
        match mention.port {
            Some(named) => named == port,
            None => mention.default == Some(port) || default == Some(port),
        }
    });
    with_port
        || (host_is_named && any(config, &mut |value| value.as_u64() == Some(u64::from(port))))
}

/// Every string of a config, each once; keys are none.
#[must_use]
pub fn texts_in(config: &Value) -> Vec<Box<str>> {
    let mut texts: Vec<Box<str>> = Vec::new();
    any(config, &mut |value| {
        if let Some(text) = value.as_str()
            && !texts.iter().any(|known| **known == *text)
        {
            texts.push(text.into());
        }
        false
    });
    texts
}

/// A host as a string of a config names it.
struct Mention {
    host: Host,
    /// The port that is written with it.
    port: Option<u16>,
    /// The default port of the URL's scheme.
    default: Option<u16>,
}

fn mention(text: &str) -> Option<Mention> {
    if text.contains("://") {
        let url = Url::parse(text).ok()?;
        let host = Host::parse(url.host_str()?)?;
        let default = match url.scheme() {
            "http" | "ws" => Some(80),
            "https" | "wss" => Some(443),
            "ssh" => Some(22),
            _ => None,
        };
        return Some(Mention { host, port: url.port(), default });
    }
    if let Some(host) = Host::parse(text) {
        return Some(Mention { host, port: None, default: None });
    }
    let (host, port) = text.rsplit_once(':')?;
    // An IPv6 address before a port has brackets, else the port could be its last group.
    if host.contains(':') && !host.starts_with('[') {
        return None;
    }
    Some(Mention { host: Host::parse(host)?, port: Some(port.parse().ok()?), default: None })
}

/// Whether `accept` takes some value inside `value`.
fn any(value: &Value, accept: &mut impl FnMut(&Value) -> bool) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| any(item, accept)),
        Value::Object(entries) => entries.values().any(|item| any(item, accept)),
        leaf => accept(leaf),
    }
}
