//! Hostile plugins that take C to write: what they do stands below what Rust's own bindings let
//! through. P5 and G4 through the whole host.

use std::fs;
use std::path::Path;
use std::process::Command;

use probehost_test_support::upstream::{Step, Upstream};
use probehost_test_support::wasm_c;

use crate::host::{Config, PluginDir, text};
use crate::plugin_road::ran;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Each with what its fault is called.
const HOSTILE: [(&str, &str); 2] = [
    ("reentrant_realloc", "trapped: cannot leave component instance"),
    ("table_growth", "wanted a table of more than 20000 elements"),
];

/// Compiles one of them, on the bindings and the config of the example in C.
fn component(name: &str, kind: &str) -> Vec<u8> {
    let dist = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile-c").join(name);
    let _ = fs::remove_dir_all(&dist);
    let wit = dist.join("wit");
    let contract = wit.join("deps/probehost");
    fs::create_dir_all(&contract).unwrap();
    let example = format!("{ROOT}/examples/plugins/tcp-banner");
    fs::copy(format!("{example}/wit/world.wit"), wit.join("world.wit")).unwrap();
    for file in fs::read_dir(format!("{ROOT}/wit/v1")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), contract.join(file.file_name())).unwrap();
    }
    let [module, typed, component] =
        ["module.wasm", "typed.wasm", "plugin.wasm"].map(|file| dist.join(file));

    let mut clang = Command::new(wasm_c::CLANG);
    clang.args(["--target=wasm32-wasi", "-mexec-model=reactor", "-mreference-types", "-std=c11"]);
    clang.args(["-Os", "-Wall", "-Wextra"]).arg(format!("-DNAME=\"{kind}\""));
    for own in ["plugin", name] {
        clang.arg(format!("{ROOT}/tests/e2e/hostile_c/{own}.c"));
    }
    clang.arg(format!("{example}/src/config.c")).arg(format!("{example}/bindings/tcp_banner.c"));
    makes(clang.arg("-o").arg(&module));
    let mut embed = Command::new(wasm_c::wasm_tools());
    embed.args(["component", "embed"]).arg(&wit).args(["--world", "tcp-banner"]);
    makes(embed.arg(&module).arg("-o").arg(&typed));
    let mut new = Command::new(wasm_c::wasm_tools());
    makes(new.args(["component", "new"]).arg(&typed).arg("-o").arg(&component));
    fs::read(component).unwrap()
}

/// It ends well, without a warning.
fn makes(command: &mut Command) {
    let made = ran(command);
    assert_eq!((made.code, made.stderr.as_str()), (0, ""), "{made:?}");
}

/// P5, G4: one that grows a table without end, and one that calls the host back while the host
/// writes a result into it, are inconclusive and named; the checks beside them go on.
#[tokio::test]
async fn what_takes_c_is_contained_too() {
    if wasm_c::skip() {
        return;
    }
    let plugins = PluginDir::new(&[]);
    let banner = Upstream::script([Step::Send("220 here".into()), Step::Hang]);
    let web = Upstream::status(200);
    let address = format!("host = \"127.0.0.1\", port = {}", banner.port());
    let mut config = Config::new().plugins(plugins.path());
    for (name, _) in HOSTILE {
        let kind = name.replace('_', "-");
        plugins.put(&format!("{kind}.wasm"), &component(name, &kind));
        config = config.target(&kind, &kind, "interval = 1\ntimeout = 20", &address);
    }
    let mut host = config.head("well", "interval = 5", &web.url()).start();

    for (name, fault) in HOSTILE {
        let target = name.replace('_', "-");
        let check = host
            .until("the hostile one is past its threshold", &target, |check| {
                check["inconclusive_streak"].as_u64() >= Some(3)
            })
            .await;
        assert_eq!((&check["status"], &check["reason"]), (&"unknown".into(), &().into()));
        let said = text(&check["last_error"]);
        assert!(said.contains(&format!("plugin {target} 0.1.0: it {fault}")), "{said}");
        assert!(host.transitions(&target).await.is_empty());
    }
    let before = host.check("well").await["checked_at"].clone();
    let again = host
        .until("it was probed again amid all that", "well", |check| check["checked_at"] != before)
        .await;
    assert_eq!((&again["status"], &again["stale"]), (&"healthy".into(), &false.into()));
    assert_eq!(host.transitions("well").await, ["unknown>healthy"]);
    assert!(host.host.process().status().unwrap().is_none(), "the host lives");
    host.stop();
    assert!(!host.output().contains("panicked at host/"), "{}", host.output());
}
