//! Needs the http capability in a version to come, `probehost:plugin/http@2.0.0`.

use probehost_test_guests::{Context, Odd, Report, pass};

struct Fixture;

#[allow(unsafe_code, missing_docs, unreachable_pub, reason = "generated")]
mod bindings {
    wit_bindgen::generate!({
        inline: "package probehost:plugin@2.0.0; interface http { touch: func(); } world odd { import http; }",
        type_section_suffix: "needs_http_2",
    });
}

impl Odd for Fixture {
    fn check(_: String, _: Context) -> Report {
        bindings::probehost::plugin::http::touch();
        pass()
    }
}

probehost_test_guests::odd!(Fixture);
