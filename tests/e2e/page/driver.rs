//! The few calls of the WebDriver protocol that the tests of the page make.

use probehost_test_support::http::JsonClient;
use probehost_test_support::wait::eventually;
use serde_json::{Value, json};

use crate::host::LIMIT;

/// How the protocol calls the id of an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A session of a chromedriver.
#[derive(Debug)]
pub(super) struct Driver {
    client: JsonClient,
    session: String,
}

impl Driver {
    /// A session with the browser whose DevTools listen at this address.
    pub(super) async fn attach(port: u16, debugger: &str) -> Self {
        let client = JsonClient::new(&format!("http://127.0.0.1:{port}")).unwrap();
        let options = json!({ "debuggerAddress": debugger });
        let wanted =
            json!({ "capabilities": { "alwaysMatch": { "goog:chromeOptions": options } } });
        let answer = client.post("/session", &wanted).await.unwrap();
        assert_eq!(answer.status, 200, "{answer:?}");
        let session = answer.json().unwrap()["value"]["sessionId"].as_str().unwrap().to_owned();
        Self { client, session }
    }

    /// One call of the session; its value, or the protocol's error as a panic.
    pub(super) async fn ask(&self, call: &str, body: Value) -> Value {
        let (status, value) = self.try_ask(call, body).await;
        assert_eq!(status, 200, "{call}: {value}");
        value
    }

    async fn try_ask(&self, call: &str, body: Value) -> (u16, Value) {
        let path = format!("/session/{}/{call}", self.session);
        let answer = self.client.post(&path, &body).await.unwrap();
        (answer.status, answer.json().unwrap()["value"].clone())
    }

    /// Clicks the first element of this kind, once it is there and can be clicked: a page that is
    /// drawn anew meanwhile takes an element away.
    pub(super) async fn click(&self, using: &str, value: &str) {
        let what = format!("{value} can be clicked");
        let look = || async {
            let (status, found) =
                self.try_ask("element", json!({ "using": using, "value": value })).await;
            if status != 200 {
                return (status, found);
            }
            let id = found[ELEMENT].as_str().unwrap_or_default().to_owned();
            self.try_ask(&format!("element/{id}/click"), json!({})).await
        };
        eventually(&what, LIMIT, look, |(status, _)| *status == 200).await;
    }

    /// Presses keys, one after the other, wherever the focus is.
    pub(super) async fn keys(&self, keys: &str) {
        let press = |key: char| {
            let key = key.to_string();
            [json!({ "type": "keyDown", "value": key }), json!({ "type": "keyUp", "value": key })]
        };
        let actions: Vec<Value> = keys.chars().flat_map(press).collect();
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": actions });
        self.ask("actions", json!({ "actions": [keyboard] })).await;
    }
}
