//! The attribute `#[probehost_sdk::config]`.

use std::str::FromStr;

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

/// What a config type derives, with the SDK's own copies of serde and schemars, so that an
/// author's Cargo.toml needs neither.
const ATTRIBUTES: &str = r#"
#[derive(::probehost_sdk::serde::Deserialize, ::probehost_sdk::schemars::JsonSchema)]
#[serde(crate = "::probehost_sdk::serde", deny_unknown_fields)]
#[schemars(crate = "::probehost_sdk::schemars")]
"#;

/// Makes a struct (or an enum inside one) a part of a check's config: it can be read from
/// JSON, its JSON Schema is derived from it, and unknown keys are refused.
///
/// The attributes of serde and schemars work on its fields: `#[serde(default)]`,
/// `#[schemars(range(max = 10))]`. Doc comments become descriptions in the schema.
///
/// # Errors
///
/// The attribute takes no arguments; with any, the crate does not compile.
#[proc_macro_attribute]
pub fn config(arguments: TokenStream, item: TokenStream) -> TokenStream {
    if !arguments.is_empty() {
        return refuse("#[probehost_sdk::config] takes no arguments");
    }
    match TokenStream::from_str(ATTRIBUTES) {
        Ok(mut tokens) => {
            tokens.extend(item);
            tokens
        }
        Err(error) => refuse(&format!("#[probehost_sdk::config] is broken: {error}")),
    }
}

/// `compile_error! { "message" }`
fn refuse(message: &str) -> TokenStream {
    let text = TokenTree::Literal(Literal::string(message));
    TokenStream::from_iter([
        TokenTree::Ident(Ident::new("compile_error", Span::call_site())),
        TokenTree::Punct(Punct::new('!', Spacing::Alone)),
        TokenTree::Group(Group::new(Delimiter::Brace, text.into())),
    ])
}
