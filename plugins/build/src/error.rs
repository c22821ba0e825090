//! Why components could not be built.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

/// Why components could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The toolchain has no standard library for Wasm components.
    #[error(
        "the Rust target wasm32-wasip2 is missing in {sysroot}: run scripts/wasm-target.sh (or: rustup target add wasm32-wasip2), then build again"
    )]
    MissingTarget {
        /// The toolchain's folder.
        sysroot: PathBuf,
    },
    /// The compiler did not say where its files are.
    #[error("rustc --print sysroot did not say where the toolchain is; check that rustc runs")]
    Sysroot,
    /// Cargo could not be started.
    #[error("cargo could not be started to build the plugins: {source}")]
    Start {
        /// Why.
        source: io::Error,
    },
    /// Cargo failed; its own messages are above this one.
    #[error("cargo could not build the plugins ({status}); its messages say why")]
    Cargo {
        /// How it ended.
        status: ExitStatus,
    },
    /// A variable that cargo sets for build scripts is not there.
    #[error("{name} is not set or not usable; this is for build scripts, which cargo runs")]
    Environment {
        /// The variable.
        name: &'static str,
    },
    /// A file that cargo should have made cannot be read.
    #[error("{} cannot be read after the build: {source}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file in OUT_DIR cannot be written.
    #[error("{} cannot be written: {source}", file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
}
