//! What a plugin makes of configs: of those that can't be, and of the one that was given.

use probehost_config::Schema;
use probehost_sandbox::PlanError;
use serde_json::{Map, Value, json};

use super::Report;
use crate::cli::plugin::loaded::Loaded;

/// A key that no plugin has.
const NO_SUCH_KEY: &str = "no-such-key-of-any-plugin";

/// Asks for plans (contract P2): none of them reaches a network. Says whether the given config can
/// be probed with.
pub(super) async fn check(loaded: &Loaded, config: Option<&Value>, report: &mut Report) -> bool {
    let manifest = loaded.plugin.manifest();
    let Ok(schema) = Schema::compile(&manifest.config_schema) else { return false };
    for text in ["", "[]", "null", "\"text\"", "{"] {
        let what = format!("a config that is no object ({text:?})");
        match loaded.plugin.plan(text).await {
            Err(PlanError::Config { .. }) => report.good(&format!("plan refuses {what}")),
            Err(error) => {
                report.wrong(&format!("plan of {what}: {error}"), "answer with a config-error")
            }
            Ok(_) => report.wrong(&format!("plan accepts {what}"), "answer with a config-error"),
        }
    }
    let base = config.cloned().unwrap_or_else(|| Value::Object(Map::new()));
    for (what, wrong) in unfit(&manifest.config_schema, &base, &schema) {
        refused(loaded, &schema, &what, &wrong, report).await;
    }
    match config {
        Some(config) => given(loaded, &schema, config, report).await,
        None => false,
    }
}

/// Configs that can't be, each with a name: nothing, an unknown key, and each key with a value of
/// another type.
fn unfit(manifest: &Value, base: &Value, schema: &Schema) -> Vec<(String, Value)> {
    let with = |key: &str, value: Value| {
        let mut config = base.clone();
        if let Some(config) = config.as_object_mut() {
            config.insert(key.to_owned(), value);
        }
        config
    };
    let mut unfit = Vec::new();
    let required = manifest.get("required").and_then(Value::as_array);
    if required.is_some_and(|keys| !keys.is_empty()) {
        unfit.push(("an empty config".to_owned(), json!({})));
    }
    unfit.push((format!("the unknown key {NO_SUCH_KEY}"), with(NO_SUCH_KEY, json!(1))));
    let before = schema.refuses(base).len();
    for key in manifest.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys)
    {
        let values =
            [json!({ NO_SUCH_KEY: [] }), json!([[]]), json!("\u{0}"), json!(-0.5), json!(true)];
        let refused = |value: &Value| {
            // A key that was missing and is there with a wrong value is refused as often.
            let found = schema.refuses(&with(key, value.clone()));
            found.len() > before || found.iter().any(|text| text.starts_with(&format!("{key}: ")))
        };
        if let Some(value) = values.into_iter().find(refused) {
            let what = format!("{} as {value}", probehost_model::sanitize(key));
            unfit.push((what, with(key, value)));
        }
    }
    unfit
}

/// The schema refuses it, or the plan does; and the plan fails at none.
async fn refused(
    loaded: &Loaded,
    schema: &Schema,
    what: &str,
    config: &Value,
    report: &mut Report,
) {
    let by_schema = !schema.refuses(config).is_empty();
    match loaded.plugin.plan(&config.to_string()).await {
        Err(PlanError::Config { .. }) => report.good(&format!("plan refuses {what}")),
        Err(error) => {
            report.wrong(&format!("plan of {what}: {error}"), "answer with a config-error")
        }
        Ok(_) if by_schema => report.good(&format!("the config-schema refuses {what}")),
        Ok(_) => report.wrong(
            &format!("{what} is accepted, so that a slip of the pen goes unseen"),
            "refuse it in the config-schema (additionalProperties: false, required, type)",
        ),
    }
}

/// The config that was given has to be one, and its plan the same each time.
async fn given(loaded: &Loaded, schema: &Schema, config: &Value, report: &mut Report) -> bool {
    let refused = schema.refuses(config);
    if let Some(first) = refused.first() {
        report.wrong(
            &format!("its config-schema refuses the given config: {}", first.trim_end_matches('.')),
            "give one that fits",
        );
        return false;
    }
    let first = loaded.plugin.plan(&config.to_string()).await;
    let second = loaded.plugin.plan(&config.to_string()).await;
    match (&first, &second) {
        (Ok(one), Ok(other)) if one == other => {
            report.good("plan of the given config is the same twice");
        }
        (Err(error), _) => {
            report.wrong(&format!("plan of the given config: {error}"), "give one that it accepts");
        }
        _ => report.wrong(
            "plan of the given config is not the same twice",
            "let it depend on the config alone: the host keeps the answer",
        ),
    }
    first.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each key is given a value that its schema refuses; one that takes anything is left out.
    #[test]
    fn each_key_gets_a_value_that_does_not_fit() {
        let text = json!({
            "type": "object", "required": ["url"], "additionalProperties": false,
            "properties": { "url": { "type": "string" }, "any": {}, "on": { "type": "boolean" } },
        });
        let schema = Schema::compile(&text).unwrap();
        for base in [json!({}), json!({ "url": "http://a" })] {
            let unfit = unfit(&text, &base, &schema);
            let names: Vec<&str> =
                unfit.iter().map(|(what, _)| what.split(' ').next().unwrap()).collect();
            assert_eq!(names, ["an", "the", "on", "url"], "{unfit:?}");
            assert!(unfit.iter().all(|(_, config)| !schema.refuses(config).is_empty()));
        }
    }
}
