//! What the operator reads when something is wrong with the file: one snapshot a case.

#![allow(clippy::expect_used, clippy::panic, reason = "helpers of tests fail the test")]

use std::path::Path;
use std::time::Duration;

use probehost_config::{Config, KindRules};
use probehost_model::{CheckId, IntervalBounds};
use serde_json::json;

fn parse(text: &str) -> Result<Config, probehost_config::ConfigErrors> {
    Config::parse(text, Path::new("probehost.toml"), &|_| None)
}

/// A target with one check that holds these lines besides its kind.
fn check(lines: &str) -> String {
    format!("[[targets]]\nid = \"web\"\n[[targets.checks]]\nkind = \"http-head\"\n{lines}\n")
}

/// What the file's own errors look like.
#[track_caller]
fn refused(name: &str, text: &str) {
    let errors = parse(text).expect_err("this must be refused");
    snapshot(name, &errors.to_string());
}

/// What the errors look like that only the plugin's schema finds.
#[track_caller]
fn refused_by_schema(name: &str, text: &str) {
    let config = parse(text).unwrap_or_else(|errors| panic!("{errors}"));
    let resolved = config.resolve(&|kind| (kind == "http-head").then(http_head));
    assert!(!resolved.errors.is_empty(), "this must be refused");
    snapshot(name, &resolved.errors.to_string());
}

fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

fn http_head() -> KindRules {
    KindRules {
        interval: IntervalBounds { default: 60, minimum: 1, maximum: 86_400 },
        timeout: Duration::from_secs(10),
        threshold: 2,
        schema: json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "required": ["url"],
            "additionalProperties": false,
            "properties": {
                "url": { "type": "string", "format": "uri", "description": "The base URL." },
                "path": { "type": ["string", "null"], "pattern": "^/" },
                "redirects": { "type": "integer", "minimum": 0, "maximum": 10 },
                "method": { "enum": ["head", "get"] },
                "headers": { "type": "array", "items": { "$ref": "#/$defs/Header" } },
            },
            "$defs": {
                "Header": {
                    "type": "object",
                    "required": ["name", "value"],
                    "additionalProperties": false,
                    "properties": {
                        "name": { "type": "string" },
                        "value": { "anyOf": [
                            { "type": "string" },
                            { "type": "object", "required": ["secret"], "additionalProperties": false,
                              "properties": { "secret": { "type": "string" } } },
                        ] },
                    },
                },
            },
        }),
    }
}

#[test]
fn broken_toml() {
    refused("toml_unclosed_text", "[server]\nlisten = \"127.0.0.1:9640\n[store]\n");
    refused("toml_missing_value", "[probes]\ntimeout =\n");
    refused("toml_duplicate_key", "[probes]\ntimeout = 1\ntimeout = 2\n");
    refused("toml_duplicate_table", "[probes]\ntimeout = 1\n[probes]\ninterval = 2\n");
    refused("toml_unclosed_header", "[[targets]\nid = \"a\"\n");
}

#[test]
fn files_that_are_none() {
    let missing = Config::load(Path::new("/nonexistent/probehost.toml")).expect_err("is missing");
    snapshot("file_missing", &missing.to_string());
    let odd =
        Config::parse_bytes(b"[log]\nlevel = \"\xff\"", Path::new("probehost.toml"), &|_| None)
            .expect_err("is not text");
    snapshot("file_not_utf8", &odd.to_string());
    let big = "#".repeat((16 << 20) + 1);
    snapshot("file_too_big", &parse(&big).expect_err("is too big").to_string());
}

#[test]
fn unknown_keys_at_every_level() {
    refused(
        "unknown_near",
        "[servers]\n[server]\nlitsen = \"127.0.0.1:1\"\n[store]\npaht = \"a\"\n[probes]\nintervall = 3\n[tls]\nca_file = []\n[log]\nlevels = \"info\"\n",
    );
    refused(
        "unknown_far",
        "hello = 1\n[server]\nhost = \"a\"\n[log]\ncolour = true\n[tls]\nx = 1\n",
    );
    refused("unknown_in_plugin", "[plugins.http-head]\nalow = []\n[plugins.ssh]\nmemory = 1\n");
    refused(
        "unknown_in_target",
        "[[targets]]\nid = \"a\"\nenable = true\nzone = \"x\"\n[[targets.checks]]\nkind = \"k\"\ntimout = 3\nretries = 1\n",
    );
    refused("unknown_odd_name", "[log]\n\"a \\u0007 b\" = 1\n");
}

#[test]
fn plugin_tables() {
    refused("plugin_not_a_table", "[plugins]\ndirectry = \"p\"\nhttp-head = 4\n");
    refused("plugin_taken_name", "[plugins.cache]\nallow = []\n");
    refused("plugin_bad_name", "[plugins.\"a/b\"]\n");
    refused(
        "plugin_bad_values",
        "[plugins.http-head]\nallow = [\"https://a.example\", 4, \"a.example\", \"https://u:hunter2@b\"]\nconcurrency = 0\nsha256 = \"abc\"\n",
    );
}

#[test]
fn wrong_types() {
    refused(
        "types_top",
        "server = 1\nstore = []\nprobes = \"a\"\nplugins = 1.5\nlog = true\n[targets.web]\nid = \"web\"\n",
    );
    refused(
        "types_settings",
        "[server]\nlisten = 9640\n[store]\npath = true\nsynchronous = 1\n[probes]\nconcurrency = \"many\"\ninterval = 1.5\ntimeout = \"10s\"\nfailure_threshold = 2.0\n[tls]\nca_files = \"a.pem\"\n[log]\nlevel = 1979-05-27\n",
    );
    refused(
        "types_target",
        "[[targets]]\nid = 1\nname = 2\nenabled = \"yes\"\nlabels = { team = 1 }\nchecks = 4\n",
    );
    refused(
        "types_check",
        &check(
            "role = 1\ninterval = \"30\"\ntimeout = true\nfailure_threshold = {}\nconfig = \"url\"",
        ),
    );
}

/// P10: a timeout or threshold that is not above zero is refused, with its path.
#[test]
fn non_positive_numbers() {
    refused(
        "numbers_probes",
        "[probes]\nconcurrency = 0\ntimeout = -1\nfailure_threshold = 0\ninconclusive_threshold = -3\n",
    );
    refused(
        "numbers_check",
        &check("timeout = 0\nfailure_threshold = -1\ninconclusive_threshold = 0"),
    );
    refused("numbers_check_fraction", &check("timeout = -0.5"));
}

#[test]
fn numbers_out_of_range() {
    refused(
        "numbers_large",
        "[probes]\nconcurrency = 10001\ntimeout = 3601\nfailure_threshold = 4294967296\ninterval = 99999999999999999999\n",
    );
    refused("numbers_odd", &check("timeout = nan"));
    refused("numbers_small", &check("timeout = 0.0001"));
    refused("numbers_json", &check("config = { a = inf, b = [nan] }"));
}

#[test]
fn words_and_addresses() {
    refused(
        "words",
        "[log]\nlevel = \"wran\"\nformat = \"xml\"\n[store]\nsynchronous = \"Full\"\n",
    );
    refused("words_role", &check("role = \"ready\""));
    refused("address_bad", "[server]\nlisten = \"localhost\"\n");
    refused(
        "texts_empty",
        "[store]\npath = \"\"\n[tls]\nca_files = [\" \"]\n[[targets]]\nid = \"\"\nname = \"\"\nchecks = []\n",
    );
}

/// R6: a database by path or by URL, not by both; what is no URL does not show its password.
#[test]
fn databases() {
    refused("database_twice", "[store]\npath = \"a.db\"\nurl = \"postgres://ada@db/probes\"\n");
    refused("database_unknown", "[store]\nurl = \"mysql://ada:hunter2@db/probes\"\n");
    refused("database_slip", "[store]\nurl = \"postgres:/ada:hunter2@db/probes\"\n");
    refused("database_empty", "[store]\nurl = \"sqlite:\"\n");
}

/// E4: a certificate without its key is no use, and nothing else could be meant.
#[test]
fn a_certificate_needs_its_key() {
    refused("server_tls_no_key", "[server.tls]\ncertificate = \"a.pem\"\n");
    refused("server_tls_empty", "[server.tls]\n");
    refused("server_tls_no_table", "[server]\ntls = \"a.pem\"\n");
    refused("server_tls_slip", "[server.tls]\ncert = \"a.pem\"\nkey = \" \"\n");
}

#[test]
fn ids_and_names() {
    refused("id_missing", "[[targets]]\nname = \"a\"\n[[targets.checks]]\nname = \"x\"\n");
    refused(
        "id_bad",
        "[[targets]]\nid = \"a b\"\n[[targets.checks]]\nkind = \"../x\"\nname = \"-\"\n",
    );
    refused(
        "id_twice",
        "[[targets]]\nid = \"web\"\nchecks = [{ kind = \"k\" }]\n\n[[targets]]\nid = \"api\"\nchecks = [{ kind = \"k\" }]\n\n[[targets]]\nid = \"web\"\nchecks = [{ kind = \"k\" }]\n",
    );
    refused(
        "check_twice",
        "[[targets]]\nid = \"web\"\n[[targets.checks]]\nkind = \"k\"\n[[targets.checks]]\nname = \"k\"\nkind = \"other\"\n[[targets.checks]]\nkind = \"k\"\n",
    );
    refused("no_checks", "[[targets]]\nid = \"web\"\n");
}

#[test]
fn schema_violations() {
    refused_by_schema("schema_missing", &check("config = { path = \"/x\" }"));
    refused_by_schema("schema_no_config", &check(""));
    refused_by_schema(
        "schema_unknown",
        &check("[targets.checks.config]\nurl = \"https://a.example\"\npth = \"/x\"\nzzz = 1"),
    );
    refused_by_schema(
        "schema_deep",
        &check(
            "[targets.checks.config]\nurl = \"https://a.example\"\nheaders = [\n  { name = \"a\", value = \"b\" },\n  { name = 5, value = \"b\" },\n  { name = \"c\", value = { secrte = \"env:C\" } },\n  { name = \"d\", value = 7 },\n]",
        ),
    );
    refused_by_schema(
        "schema_values",
        &check(
            "[targets.checks.config]\nurl = \"not a url\"\npath = \"x\"\nredirects = 11\nmethod = \"put\"",
        ),
    );
    refused_by_schema(
        "schema_fraction",
        &check("config = { url = \"https://a.example\", redirects = 1.5, path = 4 }"),
    );
}

#[test]
fn several_at_once_in_the_order_of_the_file() {
    refused(
        "several",
        "[probes]\ntimeout = -1\nconcurency = 3\n\n[[targets]]\nid = \"a b\"\n[[targets.checks]]\nkind = \"k\"\nrole = \"live\"\n\n[server]\nlisten = \"10.0.0.1:80\"\n",
    );
    let many: String = (0..35).map(|n| format!("k{n} = 1\n")).collect();
    refused("many", &format!("[log]\n{many}"));
}

#[test]
fn secrets_are_not_shown() {
    let secret = "hunter2";
    let cases = [
        check("timeout = 0 # password = \"hunter2\""),
        check("config = { url = \"https://me:hunter2@a.example\", redirects = inf }"),
        check("config = { password = \"hunter2\", n = nan }"),
        check("[targets.checks.config.token]\ntext = [\"hunter2\", nan]\n"),
        check("config = { password = \"hunter2"),
        check("config = { password = \"\"\"\nhunter2 \" \nhunter2"),
        "[plugins.p]\nallow = [\"https://me:hunter2@a.example/x\"]\n".to_owned(),
        "[log]\nlevel = \"token=hunter2\"\n".to_owned(),
        "[store]\npath = 1\nurl = \"postgres://ada:hunter2@db/p\"\n".to_owned(),
        "[store]\nurl = \"postgres:ada:hunter2@db/p\"\n".to_owned(),
        "[store]\nurl = \"postgres://ada:hunter2@db/p\nurl = 1\n".to_owned(),
    ];
    for text in &cases {
        let errors = parse(text).expect_err("this must be refused").to_string();
        assert!(!errors.contains(secret), "{text}\n{errors}");
    }
    let by_schema = [
        check("config = { url = \"https://a.example\", password = \"hunter2\" }"),
        check(
            "config = { url = \"https://a.example\", headers = [{ name = \"x-api-key\", value = \"hunter2\", odd = 1 }] }",
        ),
        check(
            "[targets.checks.config]\nurl = \"https://a.example\"\n[targets.checks.config.password]\ntext = \"hunter2\"",
        ),
        check("config = { url = \"://me:hunter2@a\" }"),
    ];
    for text in &by_schema {
        let resolved = parse(text).unwrap().resolve(&|_| Some(http_head()));
        let errors = resolved.errors.to_string();
        assert!(!resolved.errors.is_empty() && !errors.contains(secret), "{text}\n{errors}");
    }
    let config = parse(&by_schema[3]).unwrap();
    let id = CheckId::new("web", "http-head");
    let error = config.plan_error(&id, "url", "no scheme in \"://me:hunter2@a\"").to_string();
    assert!(error.contains("config.url") && !error.contains(secret), "{error}");
}

#[test]
fn errors_of_a_plan_have_their_line() {
    let text = check(
        "[targets.checks.config]\nurl = \"ftp://a\"\nheaders = [{ name = \"a\" }, { name = \"b c\" }]",
    );
    let config = parse(&text).unwrap();
    let id = CheckId::new("web", "http-head");
    let place = |path: &str| {
        let at = config.locate(&id, path);
        (at.line, at.column, at.key)
    };
    let key = |rest: &str| format!("targets[0].checks[0].config{rest}");
    assert_eq!(place("url"), (6, 7, key(".url")));
    assert_eq!(place("/headers/1/name"), (7, 37, key(".headers[1].name")));
    assert_eq!(place("headers[1].value"), (7, 28, key(".headers[1].value")));
    assert_eq!(place(""), (5, 1, key("")));
    assert_eq!(config.locate(&CheckId::new("web", "none"), "url").line, 0);
    let errors =
        ["headers[1].name", "url"].map(|path| config.plan_error(&id, path, "can't be used"));
    let mut resolved = config.resolve(&|_| None);
    resolved.errors.extend(errors);
    snapshot("plan", &resolved.errors.to_string());
}
