//! Compiles every file in `guests/examples`, each of which is a plugin.

use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

use probehost_plugin_build::{examples, report, write_table};

fn main() -> io::Result<()> {
    let folder = Path::new("guests/examples");
    println!("cargo::rerun-if-changed={}", folder.display());
    println!("cargo::rerun-if-changed=build.rs");
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if let (Some(stem), true) = (path.file_stem(), path.extension().is_some_and(|e| e == "rs"))
        {
            names.push(stem.to_string_lossy().into_owned());
        }
    }
    names.sort();
    write_macro(&names)?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    report(
        examples("probehost-test-guests", "fixtures", &names)
            .and_then(|built| write_table("Fixture", &built)),
    );
    Ok(())
}

/// Writes the macro `for_each_fixture`.
fn write_macro(names: &[String]) -> io::Result<()> {
    let mut text = String::from(
        "/// Calls a macro with the name of each fixture, as an identifier.\n\
         #[macro_export]\n\
         macro_rules! for_each_fixture {\n    ($call:ident) => {\n",
    );
    for name in names {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "        $call!({name});");
    }
    text.push_str("    };\n}\n");
    let folder = std::env::var_os("OUT_DIR").unwrap_or_default();
    fs::write(Path::new(&folder).join("for_each_fixture.rs"), text)
}
