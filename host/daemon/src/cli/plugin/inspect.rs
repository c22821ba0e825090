//! `probehost plugin inspect FILE`: what a plugin says of itself.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use probehost_sandbox::CONTRACT_VERSION;
use serde_json::Value;

use super::loaded::Loaded;
use super::size;
use crate::cli::fail;
use crate::cli::machine::MachineArgs;
use crate::cli::table::Table;

#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// The component.
    file: PathBuf,
    /// Compile it anew, to see how long that takes.
    #[arg(long)]
    cold: bool,
}

pub(crate) async fn inspect(args: &InspectArgs) -> ExitCode {
    match Loaded::load(&args.file, &MachineArgs::default(), &[], args.cold).await {
        Ok(loaded) => {
            print!("{}", text(&loaded));
            ExitCode::SUCCESS
        }
        Err(message) => fail(&message),
    }
}

fn text(loaded: &Loaded) -> String {
    let (manifest, info) = (loaded.plugin.manifest(), &loaded.info);
    let mut text = format!("{}  {}\n", loaded.plugin.title(), manifest.description);
    let mut line = |name: &str, value: &str| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {name:<14} {value}");
    };
    let wants = if info.imports.is_empty() { "none".to_owned() } else { info.imports.join(", ") };
    let built_for = info.contract.as_deref().unwrap_or_default();
    line("contract", &format!("{built_for}, and this host has {CONTRACT_VERSION}"));
    if let Some(sdk) = &info.sdk {
        line("SDK", sdk);
    }
    line("capabilities", &wants);
    let interval = manifest.interval;
    line(
        "interval",
        &format!("{} s, from {} s to {} s", interval.default, interval.minimum, interval.maximum),
    );
    line("timeout", &size::time(manifest.timeout));
    line("threshold", &format!("{} failures in a row", manifest.threshold));
    if let Some(most) = manifest.concurrency {
        line("concurrency", &format!("{most} at once"));
    }
    line("size", &size::bytes(info.size.unwrap_or_default()));
    line("SHA-256", info.sha256.as_deref().unwrap_or_default());
    line("load", &loaded.load_time());
    let mut table = Table::new(&["KEY", "TYPE", "REQUIRED", "DEFAULT", "DESCRIPTION"]);
    let mut rows = Vec::new();
    rows_of(&manifest.config_schema, &manifest.config_schema, "", 0, &mut rows);
    if rows.is_empty() {
        let _ = writeln!(text, "\nIts config has no keys.");
        return text;
    }
    rows.into_iter().for_each(|row| table.row(row));
    let _ = write!(text, "\n{table}");
    text
}

/// A schema can refer to itself.
const DEEPEST: u8 = 4;

/// One row for each key, those of a table within after the table.
fn rows_of(root: &Value, schema: &Value, above: &str, depth: u8, rows: &mut Vec<[String; 5]>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    let required = schema.get("required").and_then(Value::as_array);
    for (name, property) in properties {
        let key = format!("{above}{}", probehost_model::sanitize(name));
        let inner = resolved(root, property);
        let own = |word: &str| property.get(word).or_else(|| inner.get(word));
        let needed = required.is_some_and(|all| all.iter().any(|one| one == name));
        let said = own("description").and_then(Value::as_str).unwrap_or_default();
        rows.push([
            key.clone(),
            kind(root, inner),
            if needed { "yes".to_owned() } else { "no".to_owned() },
            own("default")
                .map(|value| probehost_model::sanitize(&value.to_string()))
                .unwrap_or_default(),
            probehost_model::sanitize(&said.split_whitespace().collect::<Vec<_>>().join(" ")),
        ]);
        if depth < DEEPEST {
            rows_of(root, inner, &format!("{key}."), depth + 1, rows);
        }
    }
}

/// What a `$ref` within the schema leads to.
fn resolved<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let pointer = schema.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix('#'));
    pointer.and_then(|pointer| root.pointer(pointer)).unwrap_or(schema)
}

/// `integer, 100 to 599`
fn kind(root: &Value, schema: &Value) -> String {
    for word in ["anyOf", "oneOf"] {
        if let Some(all) = schema.get(word).and_then(Value::as_array) {
            let mut kinds: Vec<_> = all.iter().map(|one| kind(root, resolved(root, one))).collect();
            kinds.dedup();
            return kinds.join(" or ");
        }
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let values: Vec<_> = values.iter().map(Value::to_string).collect();
        return probehost_model::sanitize(&values.join(" or "));
    }
    if let Some(only) = schema.get("const") {
        return probehost_model::sanitize(&only.to_string());
    }
    let mut text = match schema.get("type") {
        Some(Value::String(one)) => probehost_model::sanitize(one),
        Some(Value::Array(all)) => {
            let all: Vec<_> = all.iter().filter_map(Value::as_str).collect();
            probehost_model::sanitize(&all.join(" or "))
        }
        _ => "any".to_owned(),
    };
    if let Some(items) = schema.get("items") {
        text = format!("{text} of {}", kind(root, resolved(root, items)));
    }
    if let Some(format) = schema.get("format").and_then(Value::as_str) {
        text = format!("{text}, {}", probehost_model::sanitize(format));
    }
    match (schema.get("minimum"), schema.get("maximum")) {
        (Some(least), Some(most)) => format!("{text}, {least} to {most}"),
        (Some(least), None) => format!("{text}, {least} or more"),
        (None, Some(most)) => format!("{text}, {most} or less"),
        (None, None) => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// One row for each key, with what a reader needs to write it.
    #[test]
    fn a_schema_is_a_table() {
        let schema = json!({
            "required": ["url"],
            "properties": {
                "url": { "type": "string", "format": "uri", "description": "Where\nit is." },
                "status": { "type": "integer", "minimum": 100, "maximum": 599, "default": 200 },
                "login": { "$ref": "#/$defs/Login" },
                "words": { "type": "array", "items": { "type": "string" } },
                "way": { "enum": ["a", "b"] },
                "value": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
            },
            "$defs": { "Login": { "type": "object", "properties": { "user": { "type": "string" } } } },
        });
        let mut rows = Vec::new();
        rows_of(&schema, &schema, "", 0, &mut rows);
        let mut shown: Vec<String> = rows.iter().map(|row| row.join("|")).collect();
        shown.sort();
        let expected = [
            "login.user|string|no||",
            "login|object|no||",
            "status|integer, 100 to 599|no|200|",
            "url|string, uri|yes||Where it is.",
            "value|string or null|no||",
            "way|\"a\" or \"b\"|no||",
            "words|array of string|no||",
        ];
        assert_eq!(shown, expected);
    }

    /// A schema that holds itself is shown as far as a reader looks.
    #[test]
    fn a_schema_without_end_ends() {
        let schema = json!({ "properties": { "again": { "$ref": "#" } } });
        let mut rows = Vec::new();
        rows_of(&schema, &schema, "", 0, &mut rows);
        assert_eq!(rows.len(), usize::from(DEEPEST) + 1);
    }
}
