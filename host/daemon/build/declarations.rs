//! TypeScript declarations of the contract, made of its WIT: as componentize-qjs maps the types.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

use wit_parser::{
    Docs, Function, FunctionKind, Handle, InterfaceId, Resolve, Type, TypeDefKind, TypeId,
    TypeOwner,
};

const HEAD: &str = "\
// Declarations of the contract between probehost and its plugins, made of its WIT.
//
// A function whose WIT says `result<T, E>` returns T. What a plugin imports throws an exception whose
// `payload` is E; what a plugin exports throws E itself. `option<T>` is T or null.
";

/// The declarations of every interface of the package in `folder`.
pub(crate) fn of(folder: &Path) -> Result<String, Box<dyn Error>> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(folder)?;
    let package = resolve.packages.get(package).ok_or("the contract has no package")?;
    let mut text = HEAD.to_owned();
    for id in package.interfaces.values() {
        Interface { resolve: &resolve, id: *id }.write(&mut text)?;
    }
    Ok(text)
}

struct Interface<'r> {
    resolve: &'r Resolve,
    id: InterfaceId,
}

impl Interface<'_> {
    fn write(&self, text: &mut String) -> Result<(), Box<dyn Error>> {
        let interface = self.resolve.interfaces.get(self.id).ok_or("an interface is missing")?;
        let name = self.resolve.id_of(self.id).ok_or("an interface has no name")?;
        writeln!(text)?;
        docs(text, "", &interface.docs)?;
        writeln!(text, "declare module {name:?} {{")?;
        for id in interface.types.values() {
            self.write_type(text, *id)?;
        }
        // What a plugin exports is an object; what it imports are functions.
        let exported = interface.name.as_deref() == Some("probe");
        if exported {
            writeln!(text, "  export interface Probe {{")?;
        }
        for function in interface.functions.values() {
            if function.kind == FunctionKind::Freestanding {
                docs(text, if exported { "    " } else { "  " }, &function.docs)?;
                let lead = if exported { "    " } else { "  export function " };
                writeln!(text, "{lead}{};", self.signature(function, camel(&function.name), 0)?)?;
            }
        }
        if exported {
            writeln!(text, "  }}")?;
        }
        writeln!(text, "}}")?;
        Ok(())
    }

    fn write_type(&self, text: &mut String, id: TypeId) -> Result<(), Box<dyn Error>> {
        let found = self.resolve.types.get(id).ok_or("a type is missing")?;
        let name = pascal(found.name.as_deref().ok_or("a type has no name")?);
        docs(text, "  ", &found.docs)?;
        match &found.kind {
            TypeDefKind::Record(record) => {
                writeln!(text, "  export interface {name} {{")?;
                for field in &record.fields {
                    docs(text, "    ", &field.docs)?;
                    writeln!(text, "    {}: {};", camel(&field.name), self.of(&field.ty)?)?;
                }
                writeln!(text, "  }}")?;
            }
            TypeDefKind::Enum(cases) => {
                writeln!(text, "  export type {name} =")?;
                for case in &cases.cases {
                    docs(text, "    ", &case.docs)?;
                    writeln!(text, "    | {:?}", case.name)?;
                }
                writeln!(text, "  ;")?;
            }
            TypeDefKind::Variant(variant) => {
                writeln!(text, "  export type {name} =")?;
                for case in &variant.cases {
                    docs(text, "    ", &case.docs)?;
                    match &case.ty {
                        Some(ty) => {
                            writeln!(
                                text,
                                "    | {{ tag: {:?}; val: {} }}",
                                case.name,
                                self.of(ty)?
                            )?;
                        }
                        None => writeln!(text, "    | {{ tag: {:?} }}", case.name)?,
                    }
                }
                writeln!(text, "  ;")?;
            }
            TypeDefKind::Flags(flags) => {
                writeln!(text, "  export interface {name} {{")?;
                for flag in &flags.flags {
                    writeln!(text, "    {}: boolean;", camel(&flag.name))?;
                }
                writeln!(text, "  }}")?;
            }
            TypeDefKind::Resource => self.write_resource(text, id, &name)?,
            TypeDefKind::Type(Type::Id(other)) => {
                writeln!(text, "  export type {name} = {};", self.named(*other)?)?;
            }
            _ => writeln!(text, "  export type {name} = {};", self.kind(&found.kind)?)?,
        }
        Ok(())
    }

    /// Its methods, and its end: a handle can be given back before the run is over.
    fn write_resource(
        &self,
        text: &mut String,
        id: TypeId,
        name: &str,
    ) -> Result<(), Box<dyn Error>> {
        let interface = self.resolve.interfaces.get(self.id).ok_or("an interface is missing")?;
        writeln!(text, "  export class {name} {{")?;
        for function in interface.functions.values() {
            let (lead, skipped) = match function.kind {
                FunctionKind::Method(of) if of == id => ("", 1),
                FunctionKind::Static(of) if of == id => ("static ", 0),
                FunctionKind::Constructor(of) if of == id => ("constructor", 0),
                _ => continue,
            };
            docs(text, "    ", &function.docs)?;
            let own = function.name.rsplit('.').next().unwrap_or(&function.name);
            let own = if lead == "constructor" { String::new() } else { camel(own) };
            writeln!(text, "    {lead}{};", self.signature(function, own, skipped)?)?;
        }
        writeln!(text, "    [Symbol.dispose](): void;\n  }}")?;
        Ok(())
    }

    fn signature(
        &self,
        function: &Function,
        name: String,
        skipped: usize,
    ) -> Result<String, Box<dyn Error>> {
        let mut params = Vec::new();
        for param in function.params.iter().skip(skipped) {
            params.push(format!("{}: {}", camel(&param.name), self.of(&param.ty)?));
        }
        let params = params.join(", ");
        let returns = match &function.result {
            _ if matches!(function.kind, FunctionKind::Constructor(_)) => {
                return Ok(format!("({params})"));
            }
            None => "void".to_owned(),
            Some(Type::Id(id)) => match self.resolve.types.get(*id).map(|found| &found.kind) {
                Some(TypeDefKind::Result(result)) => match &result.ok {
                    Some(ok) => self.of(ok)?,
                    None => "void".to_owned(),
                },
                _ => self.named(*id)?,
            },
            Some(ty) => self.of(ty)?,
        };
        Ok(format!("{name}({params}): {returns}"))
    }

    fn of(&self, ty: &Type) -> Result<String, Box<dyn Error>> {
        Ok(match ty {
            Type::Bool => "boolean".to_owned(),
            Type::Char | Type::String => "string".to_owned(),
            Type::ErrorContext => return Err("error-context has no TypeScript type".into()),
            Type::Id(id) => self.named(*id)?,
            _ => "number".to_owned(),
        })
    }

    /// By its name where it has one, and by where it stands where that is another interface.
    fn named(&self, id: TypeId) -> Result<String, Box<dyn Error>> {
        let found = self.resolve.types.get(id).ok_or("a type is missing")?;
        let Some(name) = &found.name else { return self.kind(&found.kind) };
        let name = pascal(name);
        Ok(match found.owner {
            TypeOwner::Interface(owner) if owner != self.id => {
                let module = self.resolve.id_of(owner).ok_or("an interface has no name")?;
                format!("import({module:?}).{name}")
            }
            _ => name,
        })
    }

    fn kind(&self, kind: &TypeDefKind) -> Result<String, Box<dyn Error>> {
        Ok(match kind {
            TypeDefKind::Option(ty) => format!("{} | null", self.of(ty)?),
            TypeDefKind::List(Type::U8) => "Uint8Array".to_owned(),
            TypeDefKind::List(ty) => format!("Array<{}>", self.of(ty)?),
            TypeDefKind::Type(ty) => self.of(ty)?,
            TypeDefKind::Handle(Handle::Own(id) | Handle::Borrow(id)) => self.named(*id)?,
            TypeDefKind::Tuple(tuple) => {
                let types: Result<Vec<_>, _> = tuple.types.iter().map(|ty| self.of(ty)).collect();
                format!("[{}]", types?.join(", "))
            }
            other => return Err(format!("{} has no TypeScript type here", other.as_str()).into()),
        })
    }
}

fn docs(text: &mut String, indent: &str, docs: &Docs) -> std::fmt::Result {
    let Some(contents) = &docs.contents else { return Ok(()) };
    match contents.trim().lines().collect::<Vec<_>>().as_slice() {
        [] => Ok(()),
        [line] => writeln!(text, "{indent}/** {line} */"),
        lines => {
            writeln!(text, "{indent}/**")?;
            for line in lines {
                writeln!(text, "{}", format!("{indent} * {line}").trim_end())?;
            }
            writeln!(text, "{indent} */")
        }
    }
}

/// `first-byte` is `firstByte`.
fn camel(name: &str) -> String {
    let mut made = String::new();
    for (place, word) in name.split('-').enumerate() {
        if place == 0 { made.push_str(word) } else { made.push_str(&capital(word)) }
    }
    made
}

/// `error-kind` is `ErrorKind`.
fn pascal(name: &str) -> String {
    name.split('-').map(capital).collect()
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
