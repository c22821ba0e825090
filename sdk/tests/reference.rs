//! `docs/wit.md`, the reference of the contract with plugins, is made of the comments in `wit/v1`.
//!
//! `PROBEHOST_WRITE_DOCS=1 cargo test -p probehost-sdk --test reference` writes it anew.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a helper of a test fails like the test itself"
)]

use std::fmt::Write as _;
use std::path::Path;

use wit_parser::{
    Docs, Function, FunctionKind, Handle, Interface, Resolve, Type, TypeDefKind, TypeId,
};

const HEAD: &str = "# The contract with plugins

<!-- Made of the comments in wit/v1 by sdk/tests/reference.rs. -->

What a plugin exports, the types it speaks with, and what it may import. The files themselves are in
[`wit/v1`](../wit/v1); [plugins.md](plugins.md) is the way in, and [capabilities.md](capabilities.md)
says what each import is good for and how it is granted.
";

struct Page {
    resolve: Resolve,
    text: String,
}

#[test]
fn the_reference_is_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut resolve = Resolve::new();
    let (package, _) = resolve.push_dir(root.join("wit/v1")).unwrap();
    let interfaces = resolve.packages[package].interfaces.clone();
    let mut page = Page { resolve, text: HEAD.to_owned() };
    let first = ["probe", "types"];
    let others = interfaces.keys().filter(|name| !first.contains(&name.as_str()));
    let mut others: Vec<&str> = others.map(String::as_str).collect();
    others.sort_unstable();
    for name in first.into_iter().chain(others) {
        let interface = page.resolve.interfaces[interfaces[name]].clone();
        page.interface(name, &interface);
    }
    let file = root.join("docs/wit.md");
    if std::env::var_os("PROBEHOST_WRITE_DOCS").is_some() {
        std::fs::write(&file, &page.text).unwrap();
    }
    let there = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        there == page.text,
        "docs/wit.md is not what wit/v1 says; PROBEHOST_WRITE_DOCS=1 with this test writes it anew"
    );
}

impl Page {
    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn docs(&mut self, docs: &Docs) {
        if let Some(text) = &docs.contents {
            let text = text.trim().to_owned();
            self.line(&format!("\n{text}"));
        }
    }

    fn interface(&mut self, name: &str, interface: &Interface) {
        self.line(&format!("\n## `{name}`"));
        self.docs(&interface.docs);
        for (name, id) in &interface.types {
            self.type_of(name, *id, interface);
        }
        for function in interface.functions.values() {
            if matches!(function.kind, FunctionKind::Freestanding) {
                self.function("###", function, 0);
            }
        }
    }

    fn type_of(&mut self, name: &str, id: TypeId, interface: &Interface) {
        let definition = self.resolve.types[id].clone();
        let rows: Vec<(String, String, Docs)> = match &definition.kind {
            // A name that stands for another's type.
            TypeDefKind::Type(_) => return,
            TypeDefKind::Record(record) => record
                .fields
                .iter()
                .map(|field| (field.name.clone(), self.shown(&field.ty), field.docs.clone()))
                .collect(),
            TypeDefKind::Variant(variant) => variant
                .cases
                .iter()
                .map(|case| {
                    let holds = case.ty.as_ref().map(|ty| self.shown(ty));
                    (case.name.clone(), holds.unwrap_or_default(), case.docs.clone())
                })
                .collect(),
            TypeDefKind::Enum(cases) => cases
                .cases
                .iter()
                .map(|case| (case.name.clone(), String::new(), case.docs.clone()))
                .collect(),
            _ => Vec::new(),
        };
        self.line(&format!("\n### {} `{name}`", definition.kind.as_str()));
        self.docs(&definition.docs);
        if !rows.is_empty() {
            let is_record = matches!(definition.kind, TypeDefKind::Record(_));
            let head = if is_record { "| field | type | |" } else { "| case | holds | |" };
            self.line(&format!("\n{head}\n|---|---|---|"));
        }
        for (name, holds, docs) in rows {
            let holds = if holds.is_empty() { holds } else { format!("`{holds}`") };
            let docs = docs.contents.unwrap_or_default();
            let docs = docs.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
            self.line(&format!("| `{name}` | {holds} | {docs} |"));
        }
        for function in interface.functions.values() {
            match function.kind {
                FunctionKind::Method(of) if of == id => self.function("####", function, 1),
                FunctionKind::Static(of) | FunctionKind::Constructor(of) if of == id => {
                    self.function("####", function, 0);
                }
                _ => {}
            }
        }
    }

    /// `own`: how many parameters are the resource itself.
    fn function(&mut self, level: &str, function: &Function, own: usize) {
        let params: Vec<String> = function
            .params
            .iter()
            .skip(own)
            .map(|param| format!("{}: {}", param.name, self.shown(&param.ty)))
            .collect();
        let result = function.result.as_ref().map(|ty| format!(" -> {}", self.shown(ty)));
        let name = function.item_name();
        let (params, result) = (params.join(", "), result.unwrap_or_default());
        self.line(&format!("\n{level} `{name}: func({params}){result}`"));
        self.docs(&function.docs);
    }

    fn shown(&self, ty: &Type) -> String {
        let id = match ty {
            Type::Id(id) => *id,
            // `U16` is written as `u16`.
            other => return format!("{other:?}").to_lowercase(),
        };
        let definition = &self.resolve.types[id];
        if let Some(name) = &definition.name {
            return name.clone();
        }
        let mut text = String::new();
        match &definition.kind {
            TypeDefKind::Option(ty) => write!(text, "option<{}>", self.shown(ty)),
            TypeDefKind::List(ty) => write!(text, "list<{}>", self.shown(ty)),
            TypeDefKind::Result(result) => {
                let part = |ty: &Option<Type>| ty.map_or("_".to_owned(), |ty| self.shown(&ty));
                write!(text, "result<{}, {}>", part(&result.ok), part(&result.err))
            }
            TypeDefKind::Tuple(tuple) => {
                let all: Vec<String> = tuple.types.iter().map(|ty| self.shown(ty)).collect();
                write!(text, "tuple<{}>", all.join(", "))
            }
            TypeDefKind::Handle(Handle::Own(of) | Handle::Borrow(of)) => {
                write!(text, "{}", self.shown(&Type::Id(*of)))
            }
            other => write!(text, "{}", other.as_str()),
        }
        .unwrap();
        text
    }
}
