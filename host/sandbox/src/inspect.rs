//! A look into a plugin's bytes before anything is compiled.

use wasmparser::{Parser, Payload};

use crate::interfaces;
use crate::load_error::LoadError;

/// The custom section that the SDK leaves, in the component or in a module within.
const SDK_SECTION: &str = "probehost:sdk";

/// What a component says of itself.
#[derive(Debug, Default)]
pub(crate) struct Inspected {
    /// The version of the plugin contract that it was built for.
    pub(crate) contract: String,
    /// The interfaces it imports, with their versions.
    pub(crate) imports: Vec<String>,
    /// The SDK it was built with: name and version, as the SDK wrote them.
    pub(crate) sdk: Option<String>,
}

/// Looks at what is exported and imported at the outermost level.
pub(crate) fn inspect(bytes: &[u8]) -> Result<Inspected, LoadError> {
    kind(bytes)?;
    let mut found = Inspected::default();
    let mut probe = None;
    let mut other_exports = Vec::new();
    let mut depth = 0_u32;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(|error| broken(&error))? {
            Payload::Version { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 1 => {
                for import in section {
                    let import = import.map_err(|error| broken(&error))?;
                    found.imports.push(import.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if depth == 1 => {
                for export in section {
                    let export = export.map_err(|error| broken(&error))?;
                    match interfaces::is_probe(export.name.name) {
                        Some(fits) => probe = Some((export.name.name.to_owned(), fits)),
                        None => other_exports.push(export.name.name.to_owned()),
                    }
                }
            }
            Payload::CustomSection(section) if section.name() == SDK_SECTION => {
                found.sdk = sdk_text(section.data());
            }
            _ => {}
        }
    }
    match probe {
        Some((export, true)) => found.contract = interfaces::version(&export),
        Some((export, false)) => {
            return Err(LoadError::Interface(vec![interfaces::other_version(&export)]));
        }
        None => return Err(LoadError::NoProbe { exports: other_exports }),
    }
    let lacking: Vec<_> =
        found.imports.iter().filter_map(|import| interfaces::lacking(import)).collect();
    if lacking.is_empty() { Ok(found) } else { Err(LoadError::Interface(lacking)) }
}

/// Tells a component from what people put into a plugin directory by mistake.
fn kind(bytes: &[u8]) -> Result<(), LoadError> {
    // Compiled code is an ELF file, so it is asked for first.
    if wasmtime::Engine::detect_precompiled(bytes).is_some() {
        return Err(LoadError::Precompiled);
    }
    if Parser::is_component(bytes) {
        return Ok(());
    }
    if Parser::is_core_wasm(bytes) {
        return Err(LoadError::CoreModule);
    }
    Err(LoadError::NotWasm(match bytes {
        [] => "an empty file",
        [b'\0', b'a', b's', b'm', ..] => "a Wasm file of an unknown version",
        [0x7f, b'E', b'L', b'F', ..] => "a native program or library (ELF)",
        [b'#', b'!', ..] => "a script",
        [b'P', b'K', 3, 4, ..] => "a zip archive",
        [0x1f, 0x8b, ..] => "a gzip archive",
        _ => match std::str::from_utf8(bytes.get(..64.min(bytes.len())).unwrap_or(bytes)) {
            Ok(text) if text.trim_start().starts_with("(component") => "WebAssembly text",
            Ok(text) if text.trim_start().starts_with("(module") => "WebAssembly text",
            Ok(text) if !text.contains('\0') => "a text file",
            _ => "data of an unknown kind",
        },
    }))
}

fn broken(error: &wasmparser::Error) -> LoadError {
    LoadError::Broken { offset: error.offset(), text: error.message().to_owned() }
}

/// The section's text, when it is one and short.
fn sdk_text(data: &[u8]) -> Option<String> {
    const LONGEST: usize = 128;
    let text = std::str::from_utf8(data).ok().filter(|text| text.len() <= LONGEST)?;
    Some(probehost_model::sanitize(text.trim()))
}
