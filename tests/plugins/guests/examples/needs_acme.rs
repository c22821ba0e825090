//! Needs an interface that no host of probehost has, `acme:odd/thing@1.0.0`.

use probehost_test_guests::{Context, Odd, Report, pass};

struct Fixture;

#[allow(unsafe_code, missing_docs, unreachable_pub, reason = "generated")]
mod bindings {
    wit_bindgen::generate!({
        inline: "package acme:odd@1.0.0; interface thing { touch: func(); } world odd { import thing; }",
        type_section_suffix: "needs_acme",
    });
}

impl Odd for Fixture {
    fn check(_: String, _: Context) -> Report {
        bindings::acme::odd::thing::touch();
        pass()
    }
}

probehost_test_guests::odd!(Fixture);
