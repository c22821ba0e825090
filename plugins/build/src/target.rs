//! Whether the toolchain can build components at all.

use std::path::Path;
use std::process::Command;

use crate::{BuildError, env};

/// The target that plugins are built for.
pub(crate) const TARGET: &str = "wasm32-wasip2";

/// Looks before cargo does, whose message about a missing `core` names no remedy.
pub(crate) fn check() -> Result<(), BuildError> {
    let output = Command::new(env::rustc()).args(["--print", "sysroot"]).output();
    let sysroot = match output {
        Ok(output) if output.status.success() => {
            String::from_utf8(output.stdout).map_err(|_| BuildError::Sysroot)?
        }
        Ok(_) | Err(_) => return Err(BuildError::Sysroot),
    };
    check_in(Path::new(sysroot.trim_end()))
}

fn check_in(sysroot: &Path) -> Result<(), BuildError> {
    let libraries = sysroot.join("lib/rustlib").join(TARGET).join("lib");
    if libraries.is_dir() {
        Ok(())
    } else {
        Err(BuildError::MissingTarget { sysroot: sysroot.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_target_is_one_sentence_that_says_what_to_do() {
        let error = check_in(Path::new("/no/such/toolchain")).unwrap_err();
        let expected = "the Rust target wasm32-wasip2 is missing in /no/such/toolchain: run \
                        scripts/wasm-target.sh (or: rustup target add wasm32-wasip2), then build again";
        assert_eq!(error.to_string(), expected);
    }
}
