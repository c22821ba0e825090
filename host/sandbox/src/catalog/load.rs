//! From bytes to a plugin that can run: look, compile, link, ask what it is, compare with its pin.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};
use tokio::sync::oneshot;
use wasmtime::component::Component;

use crate::inspect::{Inspected, inspect};
use crate::interfaces;
use crate::load_error::LoadError;
use crate::manifest::Manifest;
use crate::plugin::{self, Loaded, Plugin};
use crate::sandbox::Sandbox;
use crate::v1::Ready;

/// A plugin, and what is known of where it came from.
#[derive(Debug)]
pub(super) struct Fresh {
    pub(super) plugin: Plugin,
    pub(super) sdk: Option<String>,
    pub(super) contract: String,
    pub(super) imports: Vec<String>,
    pub(super) compile_time: Duration,
}

/// Reads a file, unless it is over the limit: then not a byte of it.
pub(super) fn read(path: &Path, limit: u64) -> Result<Vec<u8>, LoadError> {
    let file = std::fs::File::open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(std::io::Error::other("it is not a regular file").into());
    }
    if found.len() > limit {
        return Err(LoadError::TooLarge { size: found.len(), limit });
    }
    let mut bytes = Vec::with_capacity(usize::try_from(found.len()).unwrap_or(0));
    // It may grow while it is read.
    file.take(limit + 1).read_to_end(&mut bytes)?;
    let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if size > limit { Err(LoadError::TooLarge { size, limit }) } else { Ok(bytes) }
}

/// SHA-256 in lower-case hexadecimal.
pub(super) fn sha256(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Makes a plugin of bytes, whose hash is `sha256`.
pub(super) async fn load(
    sandbox: &Sandbox,
    bytes: Arc<[u8]>,
    sha256: &str,
    pins: &BTreeMap<String, String>,
) -> Result<Fresh, LoadError> {
    let started = Instant::now();
    let limit = sandbox.options().compile_time;
    let (ready, inspected) = match tokio::time::timeout(limit, compile(sandbox, bytes)).await {
        Ok(compiled) => compiled?,
        Err(_) => return Err(LoadError::CompileTime(limit)),
    };
    let compile_time = started.elapsed();
    let raw = plugin::describe(sandbox, &ready).await.map_err(LoadError::Describe)?;
    let manifest = Manifest::try_from(raw)?;
    if let Some(pinned) = pins.get(&manifest.name).filter(|pin| !pin.eq_ignore_ascii_case(sha256)) {
        return Err(LoadError::Pin {
            name: manifest.name,
            found: sha256.to_owned(),
            pinned: pinned.clone(),
        });
    }
    let loaded = Loaded { sandbox: sandbox.clone(), ready, manifest };
    let imports = inspected.imports.iter().filter_map(|import| interfaces::capability(import));
    let mut imports: Vec<_> = imports.map(str::to_owned).collect();
    imports.sort();
    Ok(Fresh {
        plugin: Plugin(Arc::new(loaded)),
        sdk: inspected.sdk,
        contract: inspected.contract,
        imports,
        compile_time,
    })
}

type Compiled = (Ready, Inspected);

/// Compiles on a thread of its own: it takes seconds of computing when a plugin is large, and the
/// compiler can't be stopped. Past the limit the thread goes on for nobody until it is done, and a
/// host that ends does not wait for it.
async fn compile(sandbox: &Sandbox, bytes: Arc<[u8]>) -> Result<Compiled, LoadError> {
    let (done, compiled) = oneshot::channel();
    let sandbox = sandbox.clone();
    std::thread::Builder::new().name("probehost-compile".into()).spawn(move || {
        // When nobody waits any more, the result is of no use.
        let _ = done.send(compile_now(&sandbox, &bytes));
    })?;
    compiled.await.unwrap_or_else(|_| Err(LoadError::Compile("the compiler gave up".into())))
}

fn compile_now(sandbox: &Sandbox, bytes: &[u8]) -> Result<Compiled, LoadError> {
    let failed = |error: wasmtime::Error| LoadError::Compile(format!("{error:#}"));
    let inspected = inspect(bytes)?;
    // In threads that end with the work: an allocator keeps what an idle thread has freed.
    let threads = rayon::ThreadPoolBuilder::new()
        .thread_name(|_| "probehost-compile".to_owned())
        .build()
        .map_err(std::io::Error::other)?;
    let component =
        threads.install(|| Component::from_binary(sandbox.engine(), bytes)).map_err(failed)?;
    // Done now, or the first probe would pay for it.
    component.initialize_copy_on_write_image().map_err(failed)?;
    let ready = Ready::link(sandbox.linker(), &component)
        .map_err(|error| LoadError::Interface(vec![interfaces::unlinked(&format!("{error:#}"))]))?;
    Ok((ready, inspected))
}
