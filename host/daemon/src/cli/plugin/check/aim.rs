//! Puts another address into a config, in place of the host that it names.

use std::net::SocketAddr;

use probehost_model::Endpoint;
use serde_json::Value;

/// A host and a port that a plan reaches. None: it reaches something that has none.
pub(super) fn place(endpoint: &Endpoint) -> Option<(String, u16)> {
    match endpoint {
        Endpoint::Http(origin) => Some((origin.host.clone(), origin.port)),
        Endpoint::Tcp { host, port }
        | Endpoint::Udp { host, port }
        | Endpoint::Ssh { host, port } => Some((host.clone(), *port)),
        _ => None,
    }
}

/// The config with every mention of `places` pointed at `to`. `port` says that the schema has a key
/// of this name, where a bare host may have its port.
pub(super) fn aim(config: &Value, places: &[(String, u16)], to: SocketAddr, port: bool) -> Value {
    let mut aimed = replaced(config, places, to);
    if port
        && let Some(config) = aimed.as_object_mut()
        && !config.contains_key("port")
    {
        config.insert("port".to_owned(), to.port().into());
    }
    aimed
}

fn replaced(value: &Value, places: &[(String, u16)], to: SocketAddr) -> Value {
    match value {
        Value::String(text) => Value::String(text_at(text, places, to)),
        Value::Number(number) => {
            let named = |(_, port): &(String, u16)| number.as_u64() == Some((*port).into());
            if places.iter().any(named) { to.port().into() } else { value.clone() }
        }
        Value::Array(items) => items.iter().map(|item| replaced(item, places, to)).collect(),
        Value::Object(entries) => entries
            .iter()
            .map(|(key, value)| (key.clone(), replaced(value, places, to)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Null | Value::Bool(_) => value.clone(),
    }
}

/// A URL, `host:port` or a host alone, with the new address; any other text as it is.
fn text_at(text: &str, places: &[(String, u16)], to: SocketAddr) -> String {
    let (scheme, rest) = match text.find("://") {
        Some(end) => text.split_at(end + 3),
        None => ("", text),
    };
    let end = if scheme.is_empty() { None } else { rest.find(['/', '?', '#']) };
    let (authority, path) = rest.split_at(end.unwrap_or(rest.len()));
    let (user, address) = match authority.rfind('@') {
        Some(at) => authority.split_at(at + 1),
        None => ("", authority),
    };
    let (host, port) = match address.rsplit_once(':') {
        // An IPv6 address without brackets has colons of its own.
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port)),
        _ => (address, None),
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    if !places.iter().any(|(named, _)| named.eq_ignore_ascii_case(bare)) {
        return text.to_owned();
    }
    if scheme.is_empty() && port.is_none() {
        return to.ip().to_string();
    }
    format!("{scheme}{user}{to}{path}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Every way in which a config names a host.
    #[test]
    fn each_mention_is_replaced() {
        let to: SocketAddr = "127.0.0.1:7".parse().unwrap();
        let places = [("db.example".to_owned(), 5432), ("::1".to_owned(), 80)];
        for (text, expected) in [
            ("http://db.example/x?y=db.example", "http://127.0.0.1:7/x?y=db.example"),
            ("https://u@DB.example:5432", "https://u@127.0.0.1:7"),
            ("db.example:5432", "127.0.0.1:7"),
            ("db.example", "127.0.0.1"),
            ("http://[::1]/", "http://127.0.0.1:7/"),
            ("[::1]:80", "127.0.0.1:7"),
            ("::1", "127.0.0.1"),
            ("other.example", "other.example"),
            ("see db.example", "see db.example"),
        ] {
            assert_eq!(text_at(text, &places, to), expected, "{text}");
        }
        let config = json!({ "host": "db.example", "ports": [5432, 1], "on": true });
        let aimed = json!({ "host": "127.0.0.1", "ports": [7, 1], "on": true, "port": 7 });
        assert_eq!(aim(&config, &places, to, true), aimed);
    }
}
