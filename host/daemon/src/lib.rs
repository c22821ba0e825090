//! A health-monitoring daemon whose probes are sandboxed Wasm components.
