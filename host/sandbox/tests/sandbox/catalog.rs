//! What can lie in a plugin directory, and how it comes and goes (contract G1, G5, G6).

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use probehost_model::Outcome;
use probehost_sandbox::{Catalog, Changes, LoadError, Options, PluginState, Sandbox, Source};
use probehost_test_plugins::{CORE_MODULE, EMPTY_COMPONENT, component};

use crate::support::{AMPLE, catalog, probe, small_sandbox};

fn write(directory: &Path, name: &str, bytes: &[u8]) {
    fs::write(directory.join(name), bytes).unwrap();
}

/// G1, G5: each file that is no plugin is told as what it is, and the good one beside them serves.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_are_no_plugins() {
    let folder = tempfile::tempdir().unwrap();
    let echo = component("echo");
    let compiled = wasmtime::Engine::default().precompile_component(EMPTY_COMPONENT).unwrap();
    let mut flipped = echo.to_vec();
    let middle = flipped.len() / 2;
    flipped[middle..middle + 64].fill(0xff);
    let cases: &[(&str, &[u8], &[&str])] = &[
        ("archive.wasm", b"PK\x03\x04rest", &["a zip archive", "--target wasm32-wasip2"]),
        ("compiled.wasm", &compiled, &["compiled code (.cwasm), which is never loaded"]),
        ("core.wasm", CORE_MODULE, &["a core Wasm module and not a component"]),
        ("data.wasm", &[1, 0, 2, 0], &["data of an unknown kind"]),
        ("elf.wasm", b"\x7fELF\x02\x01\x01\0rest", &["a native program or library (ELF)"]),
        ("empty.wasm", b"", &["an empty file"]),
        ("flipped.wasm", &flipped, &[]),
        (
            "other.wasm",
            EMPTY_COMPONENT,
            &["does not export probehost:plugin/probe@1.0.0 (it exports nothing)"],
        ),
        ("script.wasm", b"#!/bin/sh\nexit 0\n", &["a script"]),
        ("text.wasm", b"hello there\n", &["a text file"]),
        ("truncated.wasm", &echo[..echo.len() / 2], &["damaged or incomplete at byte "]),
        ("wat.wasm", b"(component)", &["WebAssembly text"]),
    ];
    for (name, bytes, _) in cases {
        write(folder.path(), name, bytes);
    }
    fs::create_dir(folder.path().join("folder.wasm")).unwrap();
    write(folder.path(), "good.wasm", echo);
    write(folder.path(), "notes.txt", b"not looked at");
    let catalog = catalog();
    let changes = catalog.load_dir(folder.path()).await.unwrap();
    assert_eq!(changes.loaded, ["echo"]);
    assert_eq!(changes.failed.len(), cases.len() + 1);
    for (name, _, words) in cases {
        let failed = changes.failed.iter().find(|(path, _)| path.ends_with(name));
        let text = &failed.unwrap_or_else(|| panic!("{name} did not fail")).1;
        for words in *words {
            assert!(text.contains(words), "{name}: {text}");
        }
    }
    let echo = catalog.get("echo").unwrap();
    assert_eq!(probe(&echo, "{}", AMPLE).await.report.outcome, Outcome::Pass);
    let listed = catalog.list();
    assert_eq!(listed.len(), cases.len() + 2);
    let ready: Vec<_> = listed.iter().filter(|info| info.state == PluginState::Ready).collect();
    let [ready] = &ready[..] else { panic!("{ready:?}") };
    assert_eq!((ready.name.as_str(), ready.version.as_deref()), ("echo", Some("0.1.0")));
    assert_eq!(ready.source, Source::File(folder.path().join("good.wasm")));
    assert_eq!(ready.size, u64::try_from(component("echo").len()).ok());
    assert!(ready.manifest.is_some() && ready.compile_time.is_some());
    // Nothing has changed, so nothing is loaded anew, and what fails is told once.
    let again = catalog.load_dir(folder.path()).await.unwrap();
    let unread = again.failed.iter().map(|(path, _)| path.file_name().unwrap()).collect::<Vec<_>>();
    assert_eq!((again.loaded.len(), unread), (0, vec!["folder.wasm".as_ref()]));
}

/// G4: a file of 200 MB is refused by its size, without reading it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_of_200_mb_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    File::create(folder.path().join("large.wasm")).unwrap().set_len(200_000_000).unwrap();
    let catalog = catalog();
    let changes = catalog.load_dir(folder.path()).await.unwrap();
    let [(_, text)] = &changes.failed[..] else { panic!("{changes:?}") };
    assert!(
        text.contains("200000000 bytes large, and the limit for a plugin is 33554432"),
        "{text}"
    );
    let [info] = &catalog.list()[..] else { panic!() };
    assert_eq!((info.name.as_str(), &info.sha256, info.size), ("large", &None, Some(200_000_000)));
}

/// G4: compiling has a limit too, and past it the catalog goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compiling_has_a_limit() {
    let compile_time = Duration::from_millis(1);
    let options = Options { instances: 1, compile_time, ..Options::default() };
    let catalog = Catalog::new(Sandbox::new(options).unwrap(), BTreeMap::new());
    let error = catalog.load_builtin("echo", component("echo")).await.unwrap_err();
    assert!(matches!(error, LoadError::CompileTime(limit) if limit == compile_time), "{error}");
    assert_eq!(catalog.list().len(), 1);
}

/// G1: a file replaces a built-in plugin, a bad version of it changes nothing, and when it is gone the
/// built-in one serves again. Who holds a version goes on with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_come_and_go() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = catalog();
    let source = |catalog: &Catalog| {
        let listed = catalog.list();
        listed.into_iter().find(|info| info.state == PluginState::Ready).map(|info| info.source)
    };
    catalog.load_builtin("echo", component("echo")).await.unwrap();
    let held = catalog.get("echo").unwrap();
    assert_eq!(source(&catalog), Some(Source::Builtin));

    let path = folder.path().join("mine.wasm");
    fs::write(&path, component("echo")).unwrap();
    assert_eq!(catalog.load_dir(folder.path()).await.unwrap().loaded, ["echo"]);
    assert_eq!(source(&catalog), Some(Source::File(path.clone())));

    fs::write(&path, "broken").unwrap();
    let changes = catalog.load_dir(folder.path()).await.unwrap();
    assert_eq!((changes.loaded.len(), changes.failed.len()), (0, 1));
    assert_eq!(source(&catalog), Some(Source::File(path.clone())));
    assert_eq!(catalog.list().len(), 2);
    let serving = catalog.get("echo").unwrap();
    assert_eq!(probe(&serving, "{}", AMPLE).await.report.outcome, Outcome::Pass);

    // Another plugin in the same file takes the place of the first.
    fs::write(&path, component("raw")).unwrap();
    assert_eq!(catalog.load_dir(folder.path()).await.unwrap().loaded, ["raw"]);
    assert_eq!(source(&catalog), Some(Source::Builtin));
    assert!(catalog.get("raw").is_some());

    fs::remove_file(&path).unwrap();
    let changes = catalog.load_dir(folder.path()).await.unwrap();
    assert_eq!(changes, Changes { removed: vec!["raw".into()], ..Changes::default() });
    assert!(catalog.get("raw").is_none());
    assert_eq!(catalog.list().len(), 1);
    for plugin in [held, serving] {
        assert_eq!(probe(&plugin, "{}", AMPLE).await.report.outcome, Outcome::Pass);
    }
}

/// G1: of two files with one name the first serves, and the other is told.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_name_is_one_plugin() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.wasm", component("echo"));
    write(folder.path(), "b.wasm", component("echo"));
    let catalog = catalog();
    let changes = catalog.load_dir(folder.path()).await.unwrap();
    assert_eq!(changes.loaded, ["echo"]);
    let [(path, text)] = &changes.failed[..] else { panic!("{changes:?}") };
    assert!(path.ends_with("b.wasm"));
    assert!(
        text.contains("calls itself echo, as ") && text.contains("a.wasm does already"),
        "{text}"
    );
    // Once the first is gone, the second serves without a change of its own.
    fs::remove_file(folder.path().join("a.wasm")).unwrap();
    let changes = catalog.load_dir(folder.path()).await.unwrap();
    assert_eq!((changes.loaded, changes.failed.len()), (vec!["echo".to_owned()], 0));
}

/// G6: a pinned kind is served by the pinned bytes alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pin_decides() {
    let sandbox = small_sandbox(2);
    let seen = Catalog::new(sandbox.clone(), BTreeMap::new());
    seen.load_builtin("echo", component("echo")).await.unwrap();
    let sha256 = seen.list()[0].sha256.clone().unwrap();

    let pinned =
        Catalog::new(sandbox.clone(), BTreeMap::from([("echo".into(), sha256.to_uppercase())]));
    pinned.load_builtin("echo", component("echo")).await.unwrap();
    pinned.load_builtin("raw", component("raw")).await.unwrap();

    let wrong = Catalog::new(sandbox, BTreeMap::from([("echo".into(), "0".repeat(64))]));
    let error = wrong.load_builtin("echo", component("echo")).await.unwrap_err();
    assert!(matches!(&error, LoadError::Pin { found, .. } if *found == sha256), "{error}");
    assert!(wrong.get("echo").is_none());
    assert!(matches!(wrong.list()[0].state, PluginState::Failed(_)));
}

/// G1: a directory that is not there is the caller's to report.
#[tokio::test]
async fn a_missing_directory_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    assert!(catalog().load_dir(&folder.path().join("none")).await.is_err());
}
