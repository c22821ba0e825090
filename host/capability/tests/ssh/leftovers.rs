//! Neither a socket nor a task outlives a probe, whatever its server does.

use std::time::Duration;

use probehost_capability::ssh::{ErrorKind, Identity, Request};
use probehost_test_support::ssh::skip;
use probehost_test_support::wait::eventually;
use tokio::runtime::{Builder, Handle};

use crate::scripted::{Script, server};
use crate::support::{AMPLE, NOBODY, company, jump, key_file, on_machine, request, run};

/// How many probes go to each server.
const PROBES: usize = 100;

/// Starts the servers on a runtime of their own, so that the tasks of the test are the probes'.
pub(crate) fn servers(scripts: &[Script]) -> Vec<u16> {
    let (send, receive) = std::sync::mpsc::channel();
    let scripts = scripts.to_vec();
    std::thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut ports = Vec::new();
            for script in scripts {
                ports.push(server(script).await);
            }
            send.send(ports).unwrap();
            std::future::pending::<()>().await;
        });
    });
    receive.recv().unwrap()
}

/// The sockets of this process that lead to `ports`.
fn sockets_to(ports: &[u16]) -> usize {
    let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
    let mine: Vec<String> = std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
        .filter_map(|link| {
            Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())
        })
        .collect();
    let port = |field: &str| u16::from_str_radix(field.rsplit(':').next()?, 16).ok();
    table
        .lines()
        .skip(1)
        .filter(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            port(fields[2]).is_some_and(|remote| ports.contains(&remote))
                && mine.iter().any(|inode| inode == fields[9])
        })
        .count()
}

/// Waits until neither is there; the tasks of the library end soon after their connection.
pub(crate) async fn nothing_is_left(ports: &[u16]) {
    let look = || async { (Handle::current().metrics().num_alive_tasks(), sockets_to(ports)) };
    let limit = Duration::from_secs(10);
    eventually("no task and no socket is left", limit, look, |left| *left == (0, 0)).await;
}

/// P3, P4: a probe that is cut at its deadline, and one that is dropped long before, leave nothing.
#[test]
fn nothing_outlives_a_probe() {
    let scripts = [
        Script::Silent,
        Script::Drips,
        Script::Says("SSH-2.0-Stalls\r\n"),
        Script::Ends(""),
        Script::Resets,
        Script::Odd,
    ];
    let ports = servers(&scripts);
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let capabilities = on_machine(None, None);
        for (port, script) in ports.iter().zip(scripts) {
            let waits = matches!(script, Script::Silent | Script::Drips | Script::Says(_));
            let probes = (0..PROBES).map(|_| {
                let request = request(*port, NOBODY, Identity::None);
                let (run, capabilities) =
                    (run(&request, Duration::from_millis(300)), &capabilities);
                async move { capabilities.ssh().handshake(&run, request).await.unwrap_err().kind }
            });
            for kind in join_all(probes).await {
                assert_eq!(kind == ErrorKind::Timeout, waits, "{script:?}: {kind:?}");
            }
            nothing_is_left(&ports).await;
        }
        // Dropped while they wait in the handshake.
        for port in &ports[..3] {
            let probes = (0..PROBES).map(|_| {
                let request = request(*port, NOBODY, Identity::None);
                let (run, capabilities) = (run(&request, AMPLE), &capabilities);
                async move { capabilities.ssh().handshake(&run, request).await.is_ok() }
            });
            let all = join_all(probes);
            assert!(tokio::time::timeout(Duration::from_millis(200), all).await.is_err());
            nothing_is_left(&ports).await;
        }
    });
}

/// K3, P3: nor behind a jump host, where both hops have a task.
#[test]
fn nothing_outlives_a_probe_through_a_jump_host() {
    if skip() {
        return;
    }
    let company = company();
    let mut ports = servers(&[Script::Silent, Script::Says("SSH-2.0-Stalls\r\n")]);
    let stalls = ports.clone();
    ports.push(company.sshd.port());
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let dir = probehost_test_support::ssh::folder().unwrap();
        let capabilities = on_machine(Some(dir.path().join("known_hosts")), None);
        for (port, behind) in stalls.iter().flat_map(|port| [(*port, true), (*port, false)]) {
            let probes = (0..8).map(|_| {
                let identity = key_file(&company.ed25519);
                let through = if behind { company.sshd.port() } else { port };
                let to = if behind { port } else { company.sshd.port() };
                let request = Request {
                    jump: Some(jump(through, identity)),
                    ..request(to, NOBODY, Identity::None)
                };
                let budget = Duration::from_millis(if behind { 3000 } else { 300 });
                let (run, capabilities) = (run(&request, budget), &capabilities);
                async move { capabilities.ssh().handshake(&run, request).await.unwrap_err() }
            });
            for error in join_all(probes).await {
                assert_eq!(error.kind, ErrorKind::Timeout, "{error}");
            }
            nothing_is_left(&ports).await;
        }
    });
}

/// Runs them together on the current task.
pub(crate) async fn join_all<T>(futures: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut futures: Vec<_> = futures.map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(|cx| {
        let mut pending = false;
        for (future, done) in &mut futures {
            if done.is_none() {
                match future.as_mut().poll(cx) {
                    std::task::Poll::Ready(value) => *done = Some(value),
                    std::task::Poll::Pending => pending = true,
                }
            }
        }
        if pending { std::task::Poll::Pending } else { std::task::Poll::Ready(()) }
    })
    .await;
    futures.into_iter().filter_map(|(_, done)| done).collect()
}
