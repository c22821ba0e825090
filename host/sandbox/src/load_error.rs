//! Why a plugin can't be used, in words for whoever put it there.

use std::time::Duration;

use crate::fault::Fault;

/// Why a plugin can't be used. The text says what the file is, what is wrong with it and what to
/// do; the file itself is named by what holds the error (contract G1, G5).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// It can't be read.
    #[error("it can't be read: {0}")]
    Io(#[from] std::io::Error),
    /// Over the limit; it was not read.
    #[error(
        "it is {size} bytes large, and the limit for a plugin is {limit}; build it optimised and \
             stripped, or raise the limit"
    )]
    TooLarge {
        /// Of the file, in bytes.
        size: u64,
        /// In bytes.
        limit: u64,
    },
    /// Something else altogether.
    #[error(
        "it is not a Wasm component but {0}; build the plugin with: cargo build --release --target wasm32-wasip2"
    )]
    NotWasm(&'static str),
    /// Wasm, but without the component around it.
    #[error(
        "it is a core Wasm module and not a component; build it for wasm32-wasip2, or wrap it with: \
             wasm-tools component new"
    )]
    CoreModule,
    /// Compiled code, which could hold anything.
    #[error(
        "it is compiled code (.cwasm), which is never loaded; give the .wasm file it was made from"
    )]
    Precompiled,
    /// Truncated or damaged.
    #[error("it is damaged or incomplete at byte {offset}: {text}; copy or build it again")]
    Broken {
        /// Where, in bytes from the beginning.
        offset: usize,
        /// What was expected there.
        text: String,
    },
    /// A component for something else.
    #[error(
        "it is a component but no plugin: it does not export {}@{}{}; build it with the SDK, or for that world",
        crate::interfaces::PROBE,
        crate::CONTRACT_VERSION,
        instead(exports)
    )]
    NoProbe {
        /// What it exports.
        exports: Vec<String>,
    },
    /// It needs what the host does not have.
    #[error("it {}", .0.join("; it "))]
    Interface(Vec<String>),
    /// It uses Wasm that the host has turned off, or is too large for an instance.
    #[error(
        "it can't be compiled for this host: {0}; build it for wasm32-wasip2 with default features"
    )]
    Compile(String),
    /// It took too long to compile.
    #[error("it took longer than {} ms to compile, the limit; build it smaller, or raise the limit", .0.as_millis())]
    CompileTime(Duration),
    /// It can't say what it is.
    #[error("it can't describe itself: {0}")]
    Describe(Fault),
    /// What it says of itself can't be.
    #[error("its manifest is wrong: {0}")]
    Manifest(#[from] crate::manifest::ManifestError),
    /// Not the file that the operator has pinned.
    #[error(
        "its SHA-256 is {found}, and the pin of {name} says {pinned}; put the pinned file there, or change the pin"
    )]
    Pin {
        /// The plugin.
        name: String,
        /// Of the file, in hexadecimal.
        found: String,
        /// What was expected.
        pinned: String,
    },
    /// Another file has that name already.
    #[error("it calls itself {name}, as {other} does already; remove one of them")]
    Duplicate {
        /// The plugin.
        name: String,
        /// The file that is used.
        other: String,
    },
}

impl LoadError {
    /// Whether the same bytes may load another time.
    pub(crate) const fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::Io(_)
                | Self::CompileTime(_)
                | Self::Duplicate { .. }
                | Self::Describe(Fault::Host(_) | Fault::Slow)
        )
    }
}

fn instead(exports: &[String]) -> String {
    match exports {
        [] => " (it exports nothing)".to_owned(),
        [first, ..] => format!(" (it exports {first})"),
    }
}
