//! The MCP server as a container: an image of the program and its libraries, and what runs of it.

use std::collections::BTreeSet;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use probehost_test_support::engine::{Engine, EngineError};
use serde_json::{Value, json};

/// The container's name, and its image's.
pub(crate) const NAME: &str = "probehost-demo-mcp";

/// How long the container may take until it listens.
const START_LIMIT: Duration = Duration::from_secs(10);

/// How long to rest between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// Why there is no container.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ContainerError {
    /// The engine did not do it.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A program that the image is made with could not be run.
    #[error("could not run {program}: {source}")]
    Run {
        /// The program.
        program: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// It did not do its work.
    #[error("{program} failed: {said}")]
    Failed {
        /// The program.
        program: &'static str,
        /// What it printed.
        said: String,
    },
    /// The server in it does not answer.
    #[error("the container {what}")]
    Silent {
        /// What it does.
        what: String,
    },
}

/// Makes the image, runs it, and waits until the server listens on this port of the host.
pub(crate) fn start(engine: &Engine, program: &Path, port: u16) -> Result<(), ContainerError> {
    remove(engine)?;
    let libraries = libraries(program)?;
    engine.import(NAME, "latest", &tar(program, &libraries)?)?;
    // The image has no list of the folders that its loader is to look into.
    let folders: BTreeSet<_> =
        libraries.iter().filter_map(|file| file.parent()?.to_str()).collect();
    let folders = folders.into_iter().collect::<Vec<_>>().join(":");
    let body = json!({
        "Image": NAME,
        "Entrypoint": ["/demo-mcp"],
        "Cmd": ["serve", "--port", port.to_string()],
        "Env": [format!("LD_LIBRARY_PATH={folders}")],
        "User": "65534:65534",
        "HostConfig": { "NetworkMode": "host", "CapDrop": ["ALL"], "ReadonlyRootfs": true },
    });
    engine.post(&format!("/containers/create?name={NAME}"), Some(&body))?;
    engine.post(&format!("/containers/{NAME}/start"), None)?;
    until_it_listens(engine, port)
}

/// Removes the container and its image, as far as they are there.
pub(crate) fn remove(engine: &Engine) -> Result<(), EngineError> {
    for path in [format!("/containers/{NAME}?force=true"), format!("/images/{NAME}?force=true")] {
        match engine.delete(&path) {
            Ok(()) | Err(EngineError::Refused { status: 404, .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// An engine on another machine, or in a virtual one, has another network: there it never does.
fn until_it_listens(engine: &Engine, port: u16) -> Result<(), ContainerError> {
    let begun = Instant::now();
    loop {
        let state = engine.get(&format!("/containers/{NAME}/json"))?;
        let state = state.get("State").unwrap_or(&Value::Null);
        if state.get("Running") != Some(&Value::Bool(true)) {
            let code = state.get("ExitCode").unwrap_or(&Value::Null);
            return Err(ContainerError::Silent { what: format!("ended with code {code}") });
        }
        if TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)), START_LIMIT)
            .is_ok()
        {
            return Ok(());
        }
        if begun.elapsed() > START_LIMIT {
            let what = format!("does not answer on 127.0.0.1:{port}");
            return Err(ContainerError::Silent { what });
        }
        thread::sleep(PAUSE);
    }
}

/// The shared libraries of a program, the loader among them.
fn libraries(program: &Path) -> Result<Vec<PathBuf>, ContainerError> {
    let output = run("ldd", Command::new("ldd").arg(program))?;
    // That there are none counts as a failure with some.
    let none = String::from_utf8_lossy(&output.stderr).contains("not a dynamic executable");
    if !output.status.success() && !none {
        return Err(failed("ldd", &output));
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().filter_map(library).collect())
}

/// The file of one line of ldd: `libc.so.6 => /lib/libc.so.6 (0x…)` or `/lib64/ld-linux.so.2 (0x…)`.
fn library(line: &str) -> Option<PathBuf> {
    let file = line.split_once("=>").map_or(line, |(_, file)| file);
    let (file, _) = file.trim().rsplit_once(" (")?;
    file.starts_with('/').then(|| PathBuf::from(file))
}

/// A file system of the program at its root, and the libraries in their own places.
fn tar(program: &Path, libraries: &[PathBuf]) -> Result<Vec<u8>, ContainerError> {
    let mut command = Command::new("tar");
    // What a link points to, under the name of the link.
    command.args(["--create", "--dereference", "--file=-"]);
    command.arg("--directory").arg(program.parent().unwrap_or(Path::new("/"))).arg("demo-mcp");
    command.args(["--directory", "/"]);
    command.args(libraries.iter().filter_map(|file| file.strip_prefix("/").ok()));
    let output = run("tar", &mut command)?;
    if output.status.success() { Ok(output.stdout) } else { Err(failed("tar", &output)) }
}

fn run(program: &'static str, command: &mut Command) -> Result<Output, ContainerError> {
    // In English, as its output is read.
    command.env("LC_ALL", "C").output().map_err(|source| ContainerError::Run { program, source })
}

fn failed(program: &'static str, output: &Output) -> ContainerError {
    let said = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    ContainerError::Failed { program, said: said.concat().trim().replace('\n', "; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_lines_of_ldd() {
        let rows = [
            ("\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f97b611e000)", true),
            ("\t/lib64/ld-linux-x86-64.so.2 (0x00007f97b6a1e000)", true),
            ("\tlinux-vdso.so.1 (0x00007f97b6a1c000)", false),
            ("\tlibodd.so => not found", false),
        ];
        for (line, is) in rows {
            assert_eq!(library(line).is_some(), is, "{line}");
        }
        assert_eq!(
            library(rows[0].0).as_deref(),
            Some(Path::new("/lib/x86_64-linux-gnu/libc.so.6"))
        );
    }
}
