//! Hostile and odd plugins for tests, compiled to Wasm components by the build.
//!
//! Each is one file in `guests/examples`, whose first lines say what it does. That each has
//! a test can be made a condition for compiling:
//!
//! ```
//! mod tests {
//! #   macro_rules! stand_in { ($name:ident) => { fn $name() {} } }
//! #   probehost_test_plugins::for_each_fixture!(stand_in);
//!     macro_rules! has_test {
//!         ($name:ident) => {
//!             use self::$name as _;
//!         };
//!     }
//!     probehost_test_plugins::for_each_fixture!(has_test);
//! }
//! ```

/// A plugin for tests.
#[derive(Debug, Clone, Copy)]
pub struct Fixture {
    /// The name of its file: `loop_in_check`. As a probe kind it is `loop-in-check`.
    pub name: &'static str,
    /// The component.
    pub bytes: &'static [u8],
}

/// Every fixture that the build compiles.
pub const ALL: &[Fixture] = include!(concat!(env!("OUT_DIR"), "/components.rs"));

include!(concat!(env!("OUT_DIR"), "/for_each_fixture.rs"));

/// A core module, and a good one, but no component.
pub const CORE_MODULE: &[u8] = b"\0asm\x01\0\0\0";

/// A component that neither imports nor exports anything.
pub const EMPTY_COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

/// The component of a fixture.
///
/// # Panics
///
/// There is no fixture of that name.
#[must_use]
#[allow(clippy::panic, reason = "it serves tests, where this is a failure like any other")]
pub fn component(name: &str) -> &'static [u8] {
    let found = ALL.iter().find(|fixture| fixture.name == name);
    let Some(fixture) = found else { panic!("there is no fixture {name:?}") };
    fixture.bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fixture_is_a_component() {
        for fixture in ALL {
            assert!(fixture.bytes.starts_with(EMPTY_COMPONENT), "{}", fixture.name);
            assert_eq!(component(fixture.name).len(), fixture.bytes.len());
        }
    }

    /// G5: the SDK names itself and its contract in the component, for the host to read first.
    #[test]
    fn the_sdk_names_itself_in_what_it_builds() {
        let section = b"\rprobehost:sdksdk=0.1.0;wit=1.0.0";
        let has_section = |name| component(name).windows(section.len()).any(|at| at == section);
        assert!(has_section("echo") && has_section("trap"));
        assert!(!has_section("raw"));
    }

    #[test]
    fn the_macro_names_every_fixture() {
        let mut names = Vec::new();
        macro_rules! push {
            ($name:ident) => {
                names.push(stringify!($name));
            };
        }
        for_each_fixture!(push);
        assert_eq!(names, ALL.iter().map(|fixture| fixture.name).collect::<Vec<_>>());
    }
}
