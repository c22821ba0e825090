//! What wit-bindgen makes of `wit/v1`. The rest of the SDK shows authors the parts they need.

#![allow(
    missing_docs,
    unreachable_pub,
    unsafe_code,
    unused_qualifications,
    clippy::indexing_slicing,
    clippy::unreachable,
    reason = "generated; the unsafe parts lift and lower values at the component's edge"
)]

wit_bindgen::generate!({
    path: "../wit/v1",
    world: "plugin",
    additional_derives: [PartialEq],
    pub_export_macro: true,
    default_bindings_module: "probehost_sdk::bindings",
});
