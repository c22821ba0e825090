//! SSH handshakes with one real sshd: by the host, by `ssh-keyscan`, and by `check_ssh`, in turns.
//!
//! The two tools are a process for each handshake, as whatever runs them has it; their CPU is that
//! of their processes. The host's is all of its own. None of them logs in. `check_ssh` leaves after
//! the version lines, so it has no key exchange at all; the others have the same one.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use probehost::{Kinds, Planned, SandboxProber, Setup};
use probehost_capability::resolve::Resolver;
use probehost_capability::ssh::{Identity, Local, Request};
use probehost_capability::{Capabilities, Options, Run};
use probehost_model::grant::Grants;
use probehost_model::{CheckId, Timestamp};
use probehost_monitor::ports::{CheckSeen, Prober};
use probehost_test_support::installed::find;
use probehost_test_support::ssh::Sshd;
use tokio::runtime::Builder;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::cost::{self, Meter};
use crate::fleet::THRESHOLDS;
use crate::{Failed, report};

const KIND: &str = "ssh-handshake";
/// Handshakes of one turn.
const HANDSHAKES: usize = 100;
/// Turns of each.
const ROUNDS: usize = 5;
/// Handshakes in flight, as the kind has them.
const IN_FLIGHT: usize = 4;

/// The key exchange that they all have, by both of its names.
const CONF: &str = "KexAlgorithms curve25519-sha256,curve25519-sha256@libssh.org\nMaxStartups 200";
const AGREED: &str = "curve25519-sha256";

const AIM_RATIO: f64 = 1.0;

pub(crate) fn bench() -> Result<(), Failed> {
    report::part("SSH handshakes with one sshd, ed25519 host key, curve25519-sha256, no login");
    if find("sshd").is_none() {
        println!(
            "  sshd is not installed; for this part: \
             apt-get install --no-install-recommends openssh-server openssh-client"
        );
        return Ok(());
    }
    let sshd = Sshd::start(&["ed25519"], CONF)?;
    let tools = tools(sshd.port())?;
    Builder::new_multi_thread().enable_all().build()?.block_on(compare(&sshd, &tools))
}

/// Another program that does some of the same, once per process.
struct Tool {
    name: &'static str,
    program: PathBuf,
    arguments: Vec<String>,
}

impl Tool {
    /// One handshake, which must have gone well.
    fn run(&self) -> Result<(), Failed> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).stdin(Stdio::null()).stderr(Stdio::null());
        let output = command.output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        // ssh-keyscan ends well even when it saw nothing.
        if output.status.success() && said.contains("SSH") | said.contains("ssh-ed25519") {
            return Ok(());
        }
        Err(format!("{} came to {}: {said}", self.name, output.status).into())
    }
}

/// Those that are installed; a line for each that is not.
fn tools(port: u16) -> Result<Vec<Tool>, Failed> {
    let port = port.to_string();
    let plugin = Path::new("/usr/lib/nagios/plugins/check_ssh");
    let check_ssh = Some(plugin.to_owned()).filter(|path| path.exists()).or(find("check_ssh"));
    let words = |words: [&str; 5]| words.map(str::to_owned).to_vec();
    let all = [
        (
            "ssh-keyscan",
            find("ssh-keyscan"),
            words(["-t", "ed25519", "-p", &port, "127.0.0.1"]),
            "openssh-client",
        ),
        (
            "check_ssh",
            check_ssh,
            words(["-4", "-p", &port, "-H", "127.0.0.1"]),
            "monitoring-plugins-basic",
        ),
    ];
    let mut found = Vec::new();
    for (name, program, arguments, package) in all {
        match program {
            Some(program) => found.push(Tool { name, program, arguments }),
            None => println!(
                "  {name} is not installed; to compare with it: \
                 apt-get install --no-install-recommends {package}"
            ),
        }
    }
    Ok(found)
}

async fn compare(sshd: &Sshd, tools: &[Tool]) -> Result<(), Failed> {
    let ours = Arc::new(Ours::new(sshd).await?);
    let exchange = ours.capability().await?;
    if !exchange.starts_with(AGREED) {
        return Err(format!("the key exchange was {exchange}, not {AGREED}").into());
    }
    ours.turn(Way::Probe, HANDSHAKES / 10).await?;
    let (mut probe, mut capability) = (Vec::new(), Vec::new());
    let mut theirs = vec![Vec::new(); tools.len()];
    for _ in 0..ROUNDS {
        for (tool, costs) in tools.iter().zip(&mut theirs) {
            let meter = Meter::start(cost::ended_children)?;
            for _ in 0..HANDSHAKES {
                tool.run()?;
            }
            costs.push(meter.stop()?.micros_each(HANDSHAKES));
        }
        for (way, costs) in [(Way::Capability, &mut capability), (Way::Probe, &mut probe)] {
            let meter = Meter::start(cost::own)?;
            ours.turn(way, HANDSHAKES).await?;
            costs.push(meter.stop()?.micros_each(HANDSHAKES));
        }
    }
    let shown = |what: &str, costs: &[f64]| {
        let value = format!("{:.0} ms", report::median(costs.to_vec()));
        report::figure(&format!("CPU of 1,000, {what}"), &value);
    };
    shown("the ssh capability alone", &capability);
    shown("a probe of ssh-handshake, in the sandbox", &probe);
    for (tool, costs) in tools.iter().zip(&theirs) {
        shown(tool.name, costs);
    }
    for (tool, costs) in tools.iter().zip(&theirs) {
        let ratios = probe.iter().zip(costs).map(|(one, other)| one / other).collect();
        let what = format!("a probe to {}", tool.name);
        report::below(&what, report::median(ratios), AIM_RATIO, "×");
    }
    Ok(())
}

/// How the host makes a handshake.
#[derive(Debug, Clone, Copy)]
enum Way {
    Capability,
    Probe,
}

struct Ours {
    prober: SandboxProber,
    check: CheckSeen,
    capabilities: Capabilities,
    grants: Arc<Grants>,
    request: Request,
}

impl Ours {
    async fn new(sshd: &Sshd) -> Result<Self, Failed> {
        let (port, pin) = (sshd.port(), sshd.host_key("ed25519").pin()?);
        let setup = Setup { concurrency: 16, ..Setup::default() };
        let prober = Arc::new(Kinds::load(&setup).await?).prober(&setup)?;
        let config: Arc<str> = serde_json::json!({
            "host": "127.0.0.1", "port": port, "host_key": pin, "identity": "none",
        })
        .to_string()
        .into();
        let planned = prober.plan(KIND, &config).await.ok_or("ssh-handshake did not load")?;
        let Planned::Ready { grants, .. } = &*planned else {
            return Err(format!("the plan came to {planned:?}").into());
        };
        let check = CheckSeen {
            id: CheckId::new("bench", KIND),
            target_name: "bench".to_owned(),
            kind: KIND.to_owned(),
            config,
            interval: None,
            timeout: Duration::from_secs(10),
            thresholds: THRESHOLDS,
            seen_updated_at: Timestamp::from_micros(0),
            managed: false,
            last_attempt_at: None,
        };
        let request = Request {
            host: "127.0.0.1".to_owned(),
            port,
            user: String::new(),
            host_key: pin,
            identity: Identity::None,
            jump: None,
        };
        let resolver = Resolver::with_servers(&[([127, 0, 0, 1], 53).into()])?;
        let options = Options { resolver, system_roots: false, root_files: Vec::new() };
        let capabilities = Capabilities::with_local(options, Local::system())?;
        Ok(Self { grants: Arc::clone(grants), prober, check, capabilities, request })
    }

    async fn turn(self: &Arc<Self>, way: Way, handshakes: usize) -> Result<(), Failed> {
        let mut tasks = Vec::new();
        for first in 0..IN_FLIGHT {
            let ours = Arc::clone(self);
            tasks.push(tokio::spawn(async move {
                for _ in (first..handshakes).step_by(IN_FLIGHT) {
                    match way {
                        Way::Capability => drop(ours.capability().await?),
                        Way::Probe => ours.probe().await?,
                    }
                }
                Ok::<(), Failed>(())
            }));
        }
        for task in tasks {
            task.await??;
        }
        Ok(())
    }

    /// The key exchange that was agreed on.
    async fn capability(&self) -> Result<String, Failed> {
        let run = Run::new(KIND, Arc::clone(&self.grants), deadline());
        let report = self.capabilities.ssh().handshake(&run, self.request.clone()).await;
        Ok(report.map_err(|error| error.message)?.key_exchange)
    }

    async fn probe(&self) -> Result<(), Failed> {
        let cancel = CancellationToken::new();
        match self.prober.probe(&self.check, deadline(), &cancel).await {
            Ok(evidence) if evidence.outcome.as_str() == "pass" => Ok(()),
            other => Err(format!("a probe came to {other:?}").into()),
        }
    }
}

fn deadline() -> Instant {
    Instant::now() + Duration::from_secs(10)
}
