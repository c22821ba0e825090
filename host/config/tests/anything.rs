//! No file makes the reader panic, however odd or large it is.

use std::fmt::Write as _;
use std::path::Path;

use probehost_config::Config;
use proptest::prelude::*;

/// Reads, shows what is wrong or resolves: everything that a file can reach.
fn read(bytes: &[u8]) {
    match Config::parse_bytes(bytes, Path::new("a.toml"), &|_| None) {
        Ok(config) => {
            let resolved = config.resolve(&|_| None);
            for (target, check) in
                resolved.targets.iter().flat_map(|t| t.checks.iter().map(move |c| (t, c)))
            {
                config.locate(&target.check_id(check), "a.b[0]").to_string();
            }
        }
        Err(errors) => {
            assert!(!errors.is_empty());
            errors.to_string();
        }
    }
}

/// Pieces of which files are made, good and bad.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("[[targets]]\n".to_owned()),
        Just("[[targets.checks]]\n".to_owned()),
        Just("[targets.checks.config]\n".to_owned()),
        Just("[targets.runtime]\n".to_owned()),
        Just("[targets.lifecycle]\n".to_owned()),
        Just("[lifecycle]\n".to_owned()),
        Just("[plugins.a.lifecycle]\n".to_owned()),
        Just("[probes]\n".to_owned()),
        Just("[plugins.a]\n".to_owned()),
        Just("[a.password]\n".to_owned()),
        (
            "id|name|kind|role|container|command|runtime|lifecycle|base|cap|max_restarts|interval|timeout|config|checks|targets|labels|allow|token|ünï|\"\"",
            "[a-c]|-1|1.5|nan|inf|0x7f|99999999999999999999|true|1979-05-27|\"[a-c]\"|\"ü\"|'https://u:p@h'|\"\"\"\nx\"\"\"|\\[\\]|\\[1, \"a\"\\]|\\{\\}|\\{ kind = \"a\" \\}|\\[\\{ kind = 'b' \\}\\]",
        )
            .prop_map(|(key, value)| format!("{key} = {value}\n")),
        "[\\[\\]{}=\"'#.,:@/ \\\\\r\n\t\u{0}-\u{7f}ü\u{2028}]{0,8}",
    ]
}

proptest! {
    #[test]
    fn bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        read(&bytes);
    }

    #[test]
    fn texts(text in "\\PC{0,200}") {
        read(text.as_bytes());
    }

    #[test]
    fn nearly_good_files(pieces in proptest::collection::vec(piece(), 0..30)) {
        read(pieces.concat().as_bytes());
    }
}

#[test]
fn deep_nesting_is_no_danger() {
    let many = 100_000;
    for text in [
        format!("a = {}", "[".repeat(many)),
        format!("a = {}", "{ a = ".repeat(many)),
        format!("[{}a]", "a.".repeat(many)),
        format!("{}a = 1", "a.".repeat(many)),
        // As deep as the parser lets it be.
        {
            let path = "a.".repeat(70);
            format!(
                "[[targets]]\nid = 'a'\n[[targets.checks]]\nkind = 'k'\n[targets.checks.config.{path}x]\n{}1{}\n",
                format!("{path}a = {{ ").repeat(70) + "a = ",
                " }".repeat(70)
            )
        },
    ] {
        read(text.as_bytes());
    }
}

#[test]
fn ten_thousand_targets_load() {
    let mut text = String::new();
    for n in 0..10_000 {
        write!(
            text,
            "[[targets]]\nid = \"t{n}\"\nlabels = {{ team = \"a\" }}\n[[targets.checks]]\nkind = \"k\"\n\
             timeout = 3\nconfig = {{ url = \"https://h{n}.example.com\", path = \"/health\" }}\n"
        )
        .unwrap();
    }
    let config = Config::parse(&text, Path::new("a.toml"), &|_| None).unwrap();
    let resolved = config.resolve(&|_| None);
    assert_eq!(resolved.targets.len(), 10_000);
    assert_eq!(resolved.missing_kinds.len(), 10_000);
    // As many errors as targets.
    let broken =
        Config::parse(&text.replace("timeout = 3", "timeout = 0"), Path::new("a"), &|_| None);
    assert_eq!(broken.unwrap_err().len(), 10_000);
}
