//! What to do about a problem, for people.

use crate::problem::Problem;

impl Problem {
    /// What to do about it; empty when the text itself says so.
    #[must_use]
    pub fn help(&self) -> String {
        match self {
            Self::Unreadable(_) => "check the path and who may read it".into(),
            Self::TooBig => "take targets out, or run a second host for them".into(),
            Self::NotUtf8 => "save the file as UTF-8".into(),
            Self::Syntax(message) if message.contains("duplicate") => {
                "a key or [table] may stand once; write [[targets]] with two brackets for one more"
                    .into()
            }
            Self::Syntax(_) => "mend the line; texts need quotes, and tables a closing ]".into(),
            Self::TooDeep => "give the table a [header] of its own, or take levels out".into(),
            Self::UnknownKey { key, known } => suggest(key, known),
            Self::MissingKey { example, .. } => format!("add a line such as: {example}"),
            Self::WrongType { help: Some(help), .. } => (*help).into(),
            Self::WrongType { expected, .. } => format!("write {expected}"),
            Self::NotPositive { range, .. } | Self::OutOfRange { range, .. } => {
                format!("write {range}")
            }
            Self::BadNumber(_) => "write an ordinary number".into(),
            Self::NotOneOf { given, known, .. } => suggest(given, known),
            Self::BadId { .. } => "ids stand in URLs, metrics and logs just as they are".into(),
            Self::Empty { help, .. } => (*help).into(),
            Self::Duplicate { .. } => "rename one of the two".into(),
            Self::BothGiven { one, other } => format!("take out `{one}` or `{other}`"),
            Self::BadDatabaseUrl => {
                "write \"postgres://user@host:5432/database\", or `path` for an SQLite file".into()
            }
            Self::BadEngine => {
                "write one such as \"unix:///var/run/docker.sock\" or \"tcp://127.0.0.1:2375\""
                    .into()
            }
            Self::BadArgument => "take the \\u0000 out".into(),
            Self::BadVariable(_) => "write letters, digits and underscores".into(),
            Self::NoRuntime => {
                "write container = \"search-mcp\", or command = \"a name under [commands]\"".into()
            }
            Self::BadContainer(_) => {
                "write it as `docker ps` shows it: letters, digits, '.', '_' or '-'".into()
            }
            Self::UnknownCommand { known, .. } if known.is_empty() => {
                "add it to the configuration file, under [commands]".into()
            }
            Self::UnknownCommand { given, known } => suggest(given, known),
            Self::UnknownSink { known, .. } if known.is_empty() => {
                "add it to the configuration file, as [notify.sinks.NAME]".into()
            }
            Self::UnknownSink { given, known } => suggest(given, known),
            Self::BadSinkUrl { email: true } => {
                "write one such as \"smtps://mail.example.com\", or { secret = \"name\" }".into()
            }
            Self::BadSinkUrl { email: false } => {
                "write one such as \"https://hooks.example.com/x\", or { secret = \"name\" }".into()
            }
            Self::NotForSink { wanted, .. } => {
                format!("take it out; it is for sinks of the kind `{wanted}`")
            }
            Self::BadMailAddress => "write one such as \"oncall@example.com\"".into(),
            Self::BadTime => "write one such as 2026-12-01T02:00:00Z or …+01:00".into(),
            Self::BadClock => "write hours and minutes, such as \"02:00\"".into(),
            Self::BadZone(_) => "write one such as \"Europe/Berlin\" or \"UTC\"".into(),
            Self::EndsFirst => "write an `until` that is later than `from`".into(),
            Self::NotManaged => {
                "add [targets.runtime] with a container or a command, or take this out".into()
            }
            Self::NoLiveness => {
                "give a check the role \"liveness\", which is the default, or take the runtime out"
                    .into()
            }
            Self::Policy(error) => values(error.key()).into(),
            Self::Contradiction { origins, .. } => origins.clone(),
            Self::NoChecks => "add [[targets.checks]] with a kind below the target".into(),
            Self::BadAddress => "write one such as \"127.0.0.1:9640\" or \"[::1]:9640\"".into(),
            Self::BadDigest => "write the 64 hexadecimal digits that sha256sum prints".into(),
            Self::BadGrant(_) => String::new(),
            Self::TakenName(_) => "give the plugin's file another name".into(),
            Self::Schema { help, .. } => help.clone(),
            Self::PluginSchema { .. } => "tell the plugin's author, or take the plugin out".into(),
            Self::Plan { kind, .. } => format!("this is what the plugin `{kind}` answered"),
        }
    }
}

/// What to write for a key of a policy.
fn values(key: &str) -> &'static str {
    match key {
        "base" => "write seconds, such as 1 or 0.5",
        "multiplier" => "write a number, such as 2 or 1.5",
        "jitter" => "write a part of 1, such as 0.2",
        "max_restarts" => "write a whole number, such as 5",
        "quarantine_retry" => "write seconds, such as 3600, or 0 to turn it off",
        _ => "write seconds, such as 300",
    }
}

/// The nearest of the known words when one is near, and all of them otherwise.
pub(crate) fn suggest(given: &str, known: &[impl AsRef<str>]) -> String {
    let near = known
        .iter()
        .map(AsRef::as_ref)
        // A longer one is no slip of the pen, and would take long to compare.
        .filter(|_| given.len() <= 64)
        .map(|word| (strsim::damerau_levenshtein(&given.to_lowercase(), word), word))
        .filter(|(distance, word)| *distance <= (word.len() / 3).max(1))
        .min();
    match near {
        Some((_, word)) => format!("did you mean `{word}`?"),
        None => {
            let words: Vec<_> = known.iter().map(|word| format!("`{}`", word.as_ref())).collect();
            match words.as_slice() {
                [] => "nothing can stand here; take it out".into(),
                [only] => format!("only {only} can stand here"),
                _ => format!("known here: {}", words.join(", ")),
            }
        }
    }
}
