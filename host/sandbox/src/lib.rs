//! Plugins as sandboxed Wasm components: catalog, limits, one run.
