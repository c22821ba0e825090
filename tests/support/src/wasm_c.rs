//! The tools that make a component of a program in C.

use std::path::PathBuf;

use crate::installed::{SCRIPT, find, folder, skip_unless_found};

/// The compiler.
pub const CLANG: &str = "clang-19";

/// The C library for Wasm, by one of its files.
const LIBRARY: &str = "/usr/include/wasm32-wasi/stdlib.h";

/// What clang links to every program for Wasm.
const BUILTINS: &str = "/usr/lib/llvm-19/lib/clang/19/lib/wasi/libclang_rt.builtins-wasm32.a";

/// What makes a component of a module.
pub fn wasm_tools() -> PathBuf {
    folder().join("wasm-tools/bin/wasm-tools")
}

/// Says whether the calling test has to be skipped because one of the tools is not installed.
pub fn skip() -> bool {
    let at = |path: PathBuf| path.is_file().then_some(path);
    [
        ("make", find("make")),
        ("cc", find("cc")),
        (CLANG, find(CLANG)),
        ("wasm-ld-19", find("wasm-ld-19")),
        ("wasi-libc", at(LIBRARY.into())),
        ("libclang-rt-19-dev-wasm32", at(BUILTINS.into())),
        ("wasm-tools", at(wasm_tools())),
    ]
    .into_iter()
    .any(|(name, found)| skip_unless_found(found.as_deref(), name, SCRIPT))
}
