//! Which interfaces the host has, and what to say of those that it lacks (contract G5).

use semver::Version;

/// The version of the plugin contract that this host has.
pub const CONTRACT_VERSION: &str = "1.0.0";

/// The interface that every plugin exports, without its version.
pub(crate) const PROBE: &str = "probehost:plugin/probe";

/// The package of the plugin contract.
const PACKAGE: &str = "probehost:plugin/";

/// Interfaces of the contract that a plugin can import. `types` holds nothing to call.
const CAPABILITIES: [&str; 9] =
    ["container", "dns", "http", "log", "process", "ssh", "tcp", "types", "udp"];

/// The version of WASI that is linked. By it a plugin reaches what is granted to it, and nothing else.
const WASI_VERSION: &str = "0.2.12";

/// Interfaces of WASI that a plugin can import.
const WASI: [&str; 29] = [
    "cli/environment",
    "cli/exit",
    "cli/stderr",
    "cli/stdin",
    "cli/stdout",
    "cli/terminal-input",
    "cli/terminal-output",
    "cli/terminal-stderr",
    "cli/terminal-stdin",
    "cli/terminal-stdout",
    "clocks/monotonic-clock",
    "clocks/wall-clock",
    "filesystem/preopens",
    "filesystem/types",
    "http/outgoing-handler",
    "http/types",
    "io/error",
    "io/poll",
    "io/streams",
    "random/insecure",
    "random/insecure-seed",
    "random/random",
    "sockets/instance-network",
    "sockets/ip-name-lookup",
    "sockets/network",
    "sockets/tcp",
    "sockets/tcp-create-socket",
    "sockets/udp",
    "sockets/udp-create-socket",
];

/// An interface as a component names it: `probehost:plugin/http@1.0.0`.
fn split(import: &str) -> (&str, Option<Version>) {
    match import.split_once('@') {
        Some((name, version)) => (name, Version::parse(version).ok()),
        None => (import, None),
    }
}

/// The version in an interface's name, as it is written there.
pub(crate) fn version(import: &str) -> String {
    import.split_once('@').map_or_else(String::new, |(_, version)| version.to_owned())
}

/// Whether a component built for `wanted` links with a host that has `has`.
/// What is over the host's minor version shows when it is linked, function by function.
fn compatible(wanted: Option<&Version>, has: &str) -> bool {
    let (Some(wanted), Ok(has)) = (wanted, Version::parse(has)) else { return false };
    wanted.major == has.major && (has.major > 0 || wanted.minor == has.minor)
}

/// Why `import` can't be linked, with what the host has and what to do; None when it can.
pub(crate) fn lacking(import: &str) -> Option<String> {
    let (name, version) = split(import);
    let version = version.as_ref();
    if let Some(capability) = name.strip_prefix(PACKAGE) {
        if !CAPABILITIES.contains(&capability) {
            return Some(format!(
                "needs {import}, a capability that this host lacks (it has {}); update probehost, \
                 or build the plugin without it",
                offered()
            ));
        }
        return (!compatible(version, CONTRACT_VERSION)).then(|| other_version(import));
    }
    if let Some(interface) = name.strip_prefix("wasi:") {
        if WASI.contains(&interface) && compatible(version, WASI_VERSION) {
            return None;
        }
        return Some(format!(
            "needs {import}, and this host has WASI {WASI_VERSION} (cli, clocks, filesystem, http, \
             io, random, sockets); {}",
            if interface.starts_with("http/") {
                "make HTTP requests by probehost:plugin/http instead"
            } else {
                "build the plugin for wasm32-wasip2"
            }
        ));
    }
    Some(format!(
        "needs {import}, which this host does not know (it has {} and WASI {WASI_VERSION}); \
         build the plugin for the world probehost:plugin/plugin@{CONTRACT_VERSION}",
        offered()
    ))
}

/// What to say of a version of the contract that is not the host's.
pub(crate) fn other_version(interface: &str) -> String {
    let newer = split(interface).1.zip(Version::parse(CONTRACT_VERSION).ok());
    let remedy = match newer {
        Some((wanted, has)) if wanted > has => {
            "update probehost, or build the plugin with an older SDK"
        }
        _ => "build the plugin with a current SDK",
    };
    format!("needs {interface}, and this host has version {CONTRACT_VERSION} of it; {remedy}")
}

/// What to say when the names fit but something within an interface does not.
pub(crate) fn unlinked(error: &str) -> String {
    format!(
        "does not fit the interfaces of this host, which has version {CONTRACT_VERSION} of \
         probehost:plugin: {error}; update probehost, or build the plugin with an older SDK"
    )
}

/// Whether an export is the probe interface: Some(true) in the host's version, Some(false) in another.
pub(crate) fn is_probe(export: &str) -> Option<bool> {
    let (name, version) = split(export);
    (name == PROBE).then(|| compatible(version.as_ref(), CONTRACT_VERSION))
}

/// The capability that an import stands for: `http`. None for `types`, and for WASI but its
/// requests: what else is in there, most toolchains put into every plugin.
pub(crate) fn capability(import: &str) -> Option<&str> {
    match split(import).0 {
        "wasi:http/outgoing-handler" => Some("wasi:http"),
        name => name.strip_prefix(PACKAGE).filter(|name| *name != "types"),
    }
}

fn offered() -> String {
    let names = CAPABILITIES.map(|name| format!("{PACKAGE}{name}@{CONTRACT_VERSION}"));
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// G5: what links, links.
    #[test]
    fn known_interfaces_are_not_lacking() {
        for import in [
            "probehost:plugin/http@1.0.0",
            "probehost:plugin/log@1.2.3",
            "probehost:plugin/types@1.0.0",
            "wasi:io/poll@0.2.0",
            "wasi:cli/stderr@0.2.6",
            "wasi:http/outgoing-handler@0.2.0",
        ] {
            assert_eq!(lacking(import), None, "{import}");
        }
    }

    /// G5: what does not is named, with what the host has and what to do.
    #[test]
    fn unknown_interfaces_are_explained() {
        for (import, words) in [
            ("probehost:plugin/http@2.0.0", "this host has version 1.0.0 of it; update probehost"),
            ("probehost:plugin/http@0.9.0", "build the plugin with a current SDK"),
            ("probehost:plugin/mail@1.0.0", "a capability that this host lacks"),
            ("wasi:http/client@0.3.0", "by probehost:plugin/http instead"),
            ("wasi:io/poll@0.3.0", "wasm32-wasip2"),
            ("acme:tools/thing@1.0.0", "which this host does not know"),
            ("thing", "which this host does not know"),
        ] {
            let text = lacking(import).unwrap();
            assert!(text.contains(import) && text.contains(words), "{text}");
        }
    }
}
