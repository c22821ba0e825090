//! The plugins of `examples/plugins`, compiled to Wasm components by the build.
//!
//! They are examples of what authors write, and no part of the host.

/// An example plugin.
#[derive(Debug, Clone, Copy)]
pub struct Example {
    /// The probe kind.
    pub name: &'static str,
    /// The component.
    pub bytes: &'static [u8],
}

/// Every example that the build compiles.
pub const EXAMPLES: &[Example] = include!(concat!(env!("OUT_DIR"), "/components.rs"));
