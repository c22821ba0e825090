//! What an operator can set about the sandbox, and the limits that are constant.

use std::path::PathBuf;
use std::time::Duration;

/// What an operator can set about the sandbox. The default is right for most hosts.
#[derive(Debug, Clone)]
pub struct Options {
    /// How many plugins can be in a run at once, 1 to 10,000. More wait for a place.
    /// Each takes 8 GiB of address space, and memory only while it is used.
    pub instances: u32,
    /// Most linear memory of one run, in bytes; a multiple of 64 KiB, at most 4 GiB.
    pub memory: usize,
    /// Most bytes in a plugin's answer: text, names and values together.
    pub output: usize,
    /// Where compiled code is kept between starts. None: plugins are compiled at every start.
    /// Made when it is not there; see [`crate::CacheError`] for what is refused.
    pub cache: Option<PathBuf>,
    /// Largest plugin file, in bytes.
    pub file_size: u64,
    /// Longest time that one plugin may take to compile.
    pub compile_time: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            instances: 128,
            memory: 64 << 20,
            output: 64 << 10,
            cache: None,
            file_size: 32 << 20,
            compile_time: Duration::from_secs(60),
        }
    }
}

/// How often a computing guest is looked at. A loop is stopped at most this long after its time.
pub const TICK: Duration = Duration::from_millis(10);

/// After the deadline of a run, how long a guest may take to report what it knows, when a call to
/// its target was cut at the deadline. It has no use of the network any more.
pub const GRACE: Duration = Duration::from_millis(250);

/// How long `describe` and `plan` may compute. They ask nobody, so this is ample.
pub const PURE_CPU: Duration = Duration::from_secs(1);

/// How long `describe` and `plan` may take by the clock, sleep and a busy host included.
pub(crate) const PURE_WALL: Duration = Duration::from_secs(10);

/// Most bytes that one call passes from a guest to the host: a request with its body, above all.
pub(crate) const CALL_BYTES: usize = 6 << 20;

/// Most handles (streams, clocks' pollables) that a guest holds at a time.
pub(crate) const HANDLES: usize = 1024;

/// Most elements of a guest's tables, which hold its function pointers.
pub(crate) const TABLE_ELEMENTS: usize = 20_000;

/// Most bytes that a run sends and receives over the network of WASI.
pub(crate) const NETWORK_BYTES: usize = 4 << 20;

/// Most sockets that a run has open at once: each holds one of this host.
pub(crate) const SOCKETS: usize = 8;

/// Most random bytes that a guest gets in one call.
pub(crate) const RANDOM_BYTES: u64 = 1 << 20;

/// Native stack of a guest, in bytes. What is left of the fiber's stack is the host's, for calls.
pub(crate) const WASM_STACK: usize = 512 << 10;

/// Stack of the fiber that a guest and the host calls it makes run on, in bytes.
pub(crate) const FIBER_STACK: usize = 1 << 20;
