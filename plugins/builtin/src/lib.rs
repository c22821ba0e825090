//! The built-in plugins, compiled to Wasm components by the build.
//!
//! They have no privilege that a third party's plugin could not be granted, and a file of
//! the same name in the plugin directory takes precedence over each.

/// A plugin that comes with the host.
#[derive(Debug, Clone, Copy)]
pub struct Builtin {
    /// The probe kind.
    pub name: &'static str,
    /// The component.
    pub bytes: &'static [u8],
}

/// Every built-in plugin.
pub const BUILTIN: &[Builtin] = include!(concat!(env!("OUT_DIR"), "/components.rs"));

#[cfg(test)]
mod tests {
    use super::*;

    /// What every component begins with: the magic, and version 13 of layer 1.
    const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

    #[test]
    fn built_in_plugins_are_components() {
        let names: Vec<_> = BUILTIN.iter().map(|builtin| builtin.name).collect();
        assert_eq!(names, ["container-inspect", "http-head", "mcp-readiness", "ssh-handshake"]);
        assert!(BUILTIN.iter().all(|builtin| builtin.bytes.starts_with(COMPONENT)));
    }
}
