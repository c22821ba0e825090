//! The custom section that names the SDK and the contract a component was built with.
//! A host reads it before it compiles anything.

/// The section's name.
pub const NAME: &str = "probehost:sdk";

/// The section's text: the versions of the SDK and of the WIT package.
pub const TEXT: &str = concat!("sdk=", env!("CARGO_PKG_VERSION"), ";wit=1.0.0");

#[cfg(target_arch = "wasm32")]
#[used]
#[allow(unsafe_code, reason = "a custom section holds plain text that nothing executes")]
#[unsafe(link_section = "probehost:sdk")]
static SECTION: [u8; TEXT.len()] = {
    let mut bytes = [0; TEXT.len()];
    bytes.copy_from_slice(TEXT.as_bytes());
    bytes
};
