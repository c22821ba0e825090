//! A headless Chromium with a profile of its own, and the chromedriver that drives it.

use std::ffi::OsString;

use probehost_test_support::installed::{find, skip_unless_installed};
use probehost_test_support::process::Process;
use probehost_test_support::wait::eventually;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::driver::Driver;
use crate::host::LIMIT;

/// Keys as WebDriver writes them.
pub(crate) const ENTER: &str = "\u{e007}";
pub(crate) const ESCAPE: &str = "\u{e00c}";
pub(crate) const DOWN: &str = "\u{e015}";

/// Nothing of the machine's display, network or other profiles.
const FLAGS: [&str; 12] = [
    "--headless=new",
    "--remote-debugging-port=0",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-sync",
    "--disable-component-update",
    "--disable-background-networking",
    "--no-first-run",
    "--no-default-browser-check",
    "--window-size=1280,900",
];

/// What a page did that it should not, from before its first script.
const WATCH: &str = "window.problems = [];
    addEventListener('error', (event) => problems.push(`error: ${event.message}`), true);
    addEventListener('unhandledrejection', (event) => problems.push(`rejected: ${event.reason}`));
    addEventListener('securitypolicyviolation', (event) => problems.push(`policy: ${event.violatedDirective} ${event.blockedURI}`));";

/// A browser. Dropping it ends both processes and removes the profile.
#[derive(Debug)]
pub(crate) struct Browser {
    driver: Driver,
    _chromedriver: Process,
    _chromium: Process,
    _profile: TempDir,
}

impl Browser {
    /// Whether the calling test has to be skipped, because there is no browser here.
    pub(crate) fn skip() -> bool {
        const INSTALL: &str = "apt-get install -y --no-install-recommends chromium chromium-driver";
        skip_unless_installed("chromium", INSTALL) || skip_unless_installed("chromedriver", INSTALL)
    }

    /// Starts one.
    pub(crate) async fn open() -> Self {
        let profile = tempfile::tempdir().unwrap();
        let mut args: Vec<OsString> = FLAGS.map(OsString::from).into();
        args.push(format!("--user-data-dir={}", profile.path().display()).into());
        args.push("about:blank".into());
        // Started here and not by the driver, so that its guard ends it whatever becomes of that.
        let mut chromium = Process::run(&find("chromium").unwrap(), args).unwrap();
        let debugger = |line: &str| {
            let (_, rest) = line.split_once("DevTools listening on ws://")?;
            Some(rest.split('/').next()?.to_owned())
        };
        let debugger = chromium.wait_for_line(LIMIT, debugger).unwrap();
        let mut chromedriver =
            Process::run(&find("chromedriver").unwrap(), ["--port=0".into()]).unwrap();
        let port = |line: &str| {
            let (_, rest) = line.split_once("started successfully on port ")?;
            rest.trim_end_matches('.').parse::<u16>().ok()
        };
        let port = chromedriver.wait_for_line(LIMIT, port).unwrap();
        let driver = Driver::attach(port, &debugger).await;
        let browser =
            Self { driver, _chromedriver: chromedriver, _chromium: chromium, _profile: profile };
        browser.devtools("Page.addScriptToEvaluateOnNewDocument", json!({ "source": WATCH })).await;
        browser
    }

    /// A command of the DevTools protocol.
    pub(crate) async fn devtools(&self, command: &str, params: Value) -> Value {
        self.driver.ask("goog/cdp/execute", json!({ "cmd": command, "params": params })).await
    }

    pub(crate) async fn go(&self, url: &str) {
        self.driver.ask("url", json!({ "url": url })).await;
    }

    /// Opens a further tab and goes on in it. What it is called, for [`Browser::turn_to`].
    pub(crate) async fn tab(&self) -> String {
        let opened = self.driver.ask("window/new", json!({ "type": "tab" })).await;
        let tab = opened["handle"].as_str().unwrap().to_owned();
        self.turn_to(&tab).await;
        tab
    }

    /// Turns to a tab, which is the one in sight then.
    pub(crate) async fn turn_to(&self, tab: &str) {
        self.driver.ask("window", json!({ "handle": tab })).await;
        self.devtools("Page.bringToFront", json!({})).await;
    }

    /// Loads the page anew, as a person does.
    pub(crate) async fn reload(&self) {
        self.driver.ask("refresh", json!({})).await;
    }

    /// What a script returns; `arguments` are these.
    pub(crate) async fn run_with(&self, script: &str, args: &[&str]) -> Value {
        self.driver.ask("execute/sync", json!({ "script": script, "args": args })).await
    }

    /// What a script returns.
    pub(crate) async fn run(&self, script: &str) -> Value {
        self.run_with(script, &[]).await
    }

    /// What a script gives to its one argument, a function.
    pub(crate) async fn run_async(&self, script: &str) -> Value {
        self.driver.ask("execute/async", json!({ "script": script, "args": [] })).await
    }

    /// The whole document as it is now.
    pub(crate) async fn source(&self) -> String {
        let source = self.run("return document.documentElement.outerHTML").await;
        source.as_str().unwrap_or_default().to_owned()
    }

    /// The text that is shown at the first place of this selector; empty where there is none.
    pub(crate) async fn text(&self, place: &str) -> String {
        let script = "return document.querySelector(arguments[0])?.innerText ?? ''";
        let text = self.run_with(script, &[place]).await;
        text.as_str().unwrap_or_default().to_owned()
    }

    /// The texts of all places of this selector.
    pub(crate) async fn texts(&self, place: &str) -> Vec<String> {
        let script =
            "return [...document.querySelectorAll(arguments[0])].map((one) => one.innerText)";
        serde_json::from_value(self.run_with(script, &[place]).await).unwrap()
    }

    /// Waits until the text at a place is as wanted, and gives it.
    #[track_caller]
    pub(crate) fn until(
        &self,
        what: &str,
        place: &str,
        holds: impl Fn(&str) -> bool,
    ) -> impl Future<Output = String> {
        eventually(what, LIMIT, || self.text(place), move |text: &String| holds(text))
    }

    /// Waits until a text is shown at a place, and gives all that is shown there.
    #[track_caller]
    pub(crate) fn shows(&self, place: &str, text: &str) -> impl Future<Output = String> {
        self.until(text, place, move |seen| seen.contains(text))
    }

    /// Clicks the first place of this selector, once it is there.
    pub(crate) async fn click(&self, place: &str) {
        self.driver.click("css selector", place).await;
    }

    /// Clicks the first button that is called so.
    pub(crate) async fn press(&self, button: &str) {
        let path = format!("//button[normalize-space()='{button}']");
        self.driver.click("xpath", &path).await;
    }

    /// Types into whatever has the focus.
    pub(crate) async fn keys(&self, keys: &str) {
        self.driver.keys(keys).await;
    }

    /// Chooses a value of a select, as a person does.
    pub(crate) async fn choose(&self, select: &str, value: &str) {
        let script =
            "const select = document.querySelector(arguments[0]); select.value = arguments[1];
            select.dispatchEvent(new Event('change', { bubbles: true }))";
        self.run_with(script, &[select, value]).await;
    }

    /// The row of a target in the fleet.
    pub(crate) fn row(target: &str) -> String {
        format!("a.row[href='#/targets/{target}']")
    }

    /// Waits until what is shown is live.
    #[track_caller]
    pub(crate) fn live(&self) -> impl Future<Output = String> {
        self.shows("[data-connection]", "live")
    }

    /// What went wrong on the page since it was loaded.
    pub(crate) async fn problems(&self) -> Value {
        self.run("return window.problems").await
    }
}
