//! Memory of the release binary that watches 100 targets.

use std::time::Duration;

use crate::upstream::Upstream;
use crate::{Failed, cost, hosts, report};

const TARGETS: usize = 100;
/// How often each is probed, in seconds: the least that a kind allows.
const INTERVAL: u32 = 5;
/// How long it is watched, in seconds.
const SECONDS: u64 = 20;

const AIM_MIB: f64 = 60.0;

pub(crate) fn bench() -> Result<(), Failed> {
    report::part("Memory of `probehost serve` with 100 checks of http-head, every 5 s");
    let upstream = Upstream::start()?;
    let host = hosts::probehost(&upstream.url(), TARGETS, Some(INTERVAL))?;
    let mib = |file: &str, name: &str| {
        Ok::<f64, Failed>(cost::kib(host.pid(), file, name)? as f64 / 1024.0)
    };
    let mut most: f64 = 0.0;
    for _ in 0..SECONDS {
        std::thread::sleep(Duration::from_secs(1));
        most = most.max(mib("status", "VmRSS")?);
    }
    let (resident, anonymous) = (mib("status", "VmRSS")?, mib("status", "RssAnon")?);
    let proportional = mib("smaps_rollup", "Pss")?;
    let cpu = cost::of(host.pid())?.as_secs_f64();
    report::below(&format!("resident, the most in {SECONDS} s"), most, AIM_MIB, "MiB");
    let parts = format!("{resident:.1} MiB, of which {anonymous:.1} MiB are no files");
    report::figure("resident at the end", &parts);
    report::figure("shared pages counted in proportion (PSS)", &format!("{proportional:.1} MiB"));
    let peak = mib("status", "VmHWM")?;
    report::figure("at its most, while the plugin was compiled", &format!("{peak:.1} MiB"));
    report::figure(
        "CPU, the start and the compiling of the plugin included",
        &format!("{cpu:.2} s"),
    );
    Ok(())
}
