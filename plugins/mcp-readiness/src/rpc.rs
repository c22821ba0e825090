//! JSON-RPC: what is sent, and which of the messages that come is the answer.

use probehost_sdk::{Problem, Reason};
use serde_json::{Map, Value, json};

/// Longest message of a server that is repeated, in characters.
const MAX_SAID: usize = 120;

/// The error of a server that does not speak the revision that it was asked for.
pub(crate) const UNSUPPORTED_VERSION: i64 = -32022;

/// A request that is answered under its id.
pub(crate) fn request(id: u64, method: &str, params: Map<String, Value>) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// A message that is not answered.
pub(crate) fn notification(method: &str) -> Value {
    json!({ "jsonrpc": "2.0", "method": method })
}

/// The JSON-RPC error of a server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    message: String,
    data: Value,
}

impl RpcError {
    /// The revisions that a server says it speaks.
    pub(crate) fn supported(&self) -> Vec<&str> {
        let list = self.data.get("supported").and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// `answer`, with the code and what the server said (contract M5).
    pub(crate) fn problem(&self, who: &str, method: &str) -> Problem {
        let said: String = self.message.chars().take(MAX_SAID).collect();
        let said = if said.is_empty() { said } else { format!(": {said}") };
        let text = format!("{who} answered {method} with the JSON-RPC error {}{said}", self.code);
        Problem::failure(Reason::Answer, text)
    }
}

/// What a message is to the request of an id.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Message {
    /// Its answer.
    Result(Value),
    /// Its answer, that it failed.
    Error(RpcError),
    /// A notification, a request of the server's own, or another request's answer.
    Other,
}

/// Reads the messages in a text (one, or a list of them) until one is the answer to `id`.
///
/// # Errors
///
/// The text is no JSON.
pub(crate) fn find(text: &str, id: u64) -> Result<Message, serde_json::Error> {
    Ok(match serde_json::from_str(text)? {
        Value::Array(all) => {
            let mut read = all.into_iter().map(|message| classify(message, id));
            read.find(|message| *message != Message::Other).unwrap_or(Message::Other)
        }
        message => classify(message, id),
    })
}

fn classify(mut message: Value, id: u64) -> Message {
    let Some(object) = message.as_object_mut() else { return Message::Other };
    if object.contains_key("method") {
        return Message::Other;
    }
    let theirs = object.get("id").filter(|id| !id.is_null());
    // Some servers answer with the id as a text.
    let same = |theirs: &Value| {
        theirs.as_u64() == Some(id) || theirs.as_str().is_some_and(|text| text == id.to_string())
    };
    if let Some(error) = object.get("error") {
        // A server that could not read the request knows no id.
        if theirs.is_none_or(same) {
            return Message::Error(rpc_error(error));
        }
        return Message::Other;
    }
    if !theirs.is_some_and(same) {
        return Message::Other;
    }
    object.remove("result").map_or(Message::Other, Message::Result)
}

fn rpc_error(error: &Value) -> RpcError {
    RpcError {
        code: error.get("code").and_then(Value::as_i64).unwrap_or_default(),
        message: error.get("message").and_then(Value::as_str).unwrap_or_default().to_owned(),
        data: error.get("data").cloned().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(code: i64, message: &str) -> Message {
        Message::Error(RpcError { code, message: message.to_owned(), data: Value::Null })
    }

    /// M2, M5: the answer is found by its id, whatever comes before it.
    #[test]
    fn the_answer_is_found_by_its_id() {
        let rows = [
            (r#"{"jsonrpc":"2.0","id":3,"result":{"a":1}}"#, Message::Result(json!({"a": 1}))),
            (r#"{"id":"3","result":{}}"#, Message::Result(json!({}))),
            (r#"{"id":2,"result":{}}"#, Message::Other),
            (r#"{"id":3,"method":"ping"}"#, Message::Other),
            (r#"{"method":"notifications/message","params":{}}"#, Message::Other),
            (r#"{"id":3,"error":{"code":-32601,"message":"no"}}"#, failed(-32601, "no")),
            (r#"{"id":null,"error":{"code":-32700,"message":"parse"}}"#, failed(-32700, "parse")),
            (r#"{"error":{"code":-32600}}"#, failed(-32600, "")),
            (r#"{"id":4,"error":{"code":1,"message":"x"}}"#, Message::Other),
            (r#"[{"method":"x"},{"id":3,"result":7}]"#, Message::Result(json!(7))),
            ("[]", Message::Other),
            ("7", Message::Other),
        ];
        for (text, expected) in rows {
            assert_eq!(find(text, 3).unwrap(), expected, "{text}");
        }
        assert!(find("<html>", 3).is_err());
    }

    /// M5, P8: the code is told, and the message as far as it is short.
    #[test]
    fn a_long_message_is_cut() {
        let error = RpcError { code: -1, message: "x".repeat(1000), data: Value::Null };
        let Problem::Failure(failure) = error.problem("a:1", "tools/list") else { panic!() };
        assert_eq!(failure.reason, Reason::Answer);
        assert!(
            failure.message.starts_with("a:1 answered tools/list with the JSON-RPC error -1: x")
        );
        assert!(failure.message.len() < 200);
    }
}
