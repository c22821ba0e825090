//! `probehost audit`: the audit of a running host is verified and written out from beside it
//! (contract A3).

use std::fs;
use std::path::Path;

use probehost_test_support::postgres::{Postgres, skip_unless_installed};
use probehost_test_support::upstream::Upstream;
use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;

use crate::host::{BY_HAND, Config, Host, run};

/// `probehost audit …` with the host's own config; code, standard output, standard error.
fn audit(host: &Host, args: &[&str]) -> (i32, String, String) {
    let config = host.host.config_path();
    let ran = run(&[&["audit"], args, &["--config", config.to_str().unwrap()]].concat());
    (ran.code, ran.stdout, ran.stderr)
}

fn verify_file(path: &Path, more: &[&str]) -> (i32, String, String) {
    let file = path.to_str().unwrap();
    let ran = run(&[&["audit", "verify", "--file", file], more].concat());
    (ran.code, ran.stdout, ran.stderr)
}

/// The hash that a look has printed.
fn head(printed: &str) -> String {
    let line = printed.lines().find_map(|line| line.strip_prefix("head: ")).unwrap();
    line.split(' ').next().unwrap().to_owned()
}

/// A3: while the host runs, the audit is found whole; a kept head and an export are too. What is
/// changed in the database or in the export is found, with exit code 1.
#[tokio::test]
async fn the_audit_of_a_running_host() {
    let upstream = Upstream::status(200);
    let host = Config::new().head("web", BY_HAND, &upstream.url()).start();
    for _ in 0..3 {
        host.probe("web").await;
    }
    let (code, kept, stderr) = audit(&host, &["verify"]);
    assert_eq!((code, stderr.as_str()), (0, ""));
    assert!(kept.starts_with("the audit is as it was written: 4 rows, 1 to 4\n"), "{kept}");
    host.probe("web").await;
    let (code, whole, _) = audit(&host, &["verify", "--expect", &head(&kept)]);
    assert_eq!(code, 0, "{whole}");
    assert_ne!(head(&whole), head(&kept));
    let (code, _, told) = audit(&host, &["verify", "--expect", &"0f".repeat(32)]);
    assert!(code == 1 && told.contains("no row has the hash"), "{told}");

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("audit.jsonl");
    let (code, lines, _) = audit(&host, &["export"]);
    assert_eq!((code, lines.lines().count()), (0, 5));
    fs::write(&file, &lines).unwrap();
    let (code, told, _) = verify_file(&file, &["--expect", &head(&whole)]);
    assert!(code == 0 && head(&told) == head(&whole), "{told}");
    let (_, rest, _) = audit(&host, &["export", "--after", "3"]);
    assert_eq!(rest, lines.split_inclusive('\n').skip(3).collect::<String>());
    fs::write(&file, &rest).unwrap();
    assert_eq!(verify_file(&file, &[]).0, 0);
    fs::write(&file, lines.replacen("\"local\"", "\"eve\"", 1)).unwrap();
    let (code, _, told) = verify_file(&file, &[]);
    assert!(code == 1 && told.contains("row 2 was changed"), "{told}");
    fs::write(&file, format!("{lines}and so on\n")).unwrap();
    let (code, _, told) = verify_file(&file, &[]);
    assert!(code == 1 && told.contains("line 6 is no audit row"), "{told}");

    let options = SqliteConnectOptions::new().filename(host.database());
    let mut conn = options.connect().await.unwrap();
    let harm = "DROP TRIGGER audit_keep; UPDATE audit SET principal = 'eve' WHERE id = 3";
    sqlx::raw_sql(harm).execute(&mut conn).await.unwrap();
    let (code, stdout, told) = audit(&host, &["verify"]);
    assert_eq!((code, stdout.as_str()), (1, ""));
    assert!(told.contains("row 3 was changed"), "{told}");
    // The host goes on.
    assert_eq!(host.probe("web").await["recorded"], true);
}

/// A3, R6: the same on a server.
#[tokio::test]
async fn the_audit_on_a_server() {
    if skip_unless_installed() {
        return;
    }
    let server = Postgres::start().unwrap();
    let upstream = Upstream::status(200);
    let store = format!("[store]\nurl = \"{}\"", server.url("postgres"));
    let host = Config::new().section(&store).head("web", BY_HAND, &upstream.url()).start();
    host.probe("web").await;
    let (code, told, stderr) = audit(&host, &["verify"]);
    assert!(code == 0 && told.contains("2 rows, 1 to 2"), "{told}{stderr}");
    assert_eq!(audit(&host, &["export"]).1.lines().count(), 2);
}

/// What can't be read says so.
#[test]
fn what_cannot_be_verified() {
    let ran = run(&["audit", "verify", "--file", "/nowhere/audit.jsonl"]);
    assert!(ran.code == 1 && ran.stderr.contains("/nowhere/audit.jsonl can't be read"), "{ran:?}");
    let ran = run(&["audit", "verify", "--expect", "abc"]);
    assert!(ran.code == 64 && ran.stderr.contains("64 lower-case"), "{ran:?}");
}
