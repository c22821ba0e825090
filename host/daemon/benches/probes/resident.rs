//! Memory of the release binary that watches 100 targets.

use std::time::Duration;

use tempfile::TempDir;

use crate::hosts::{self, Home};
use crate::upstream::Upstream;
use crate::{Failed, cost, report};

const TARGETS: usize = 100;
/// How often each is probed, in seconds: the least that a kind allows.
const INTERVAL: u32 = 5;
/// How long it is watched, in seconds.
const SECONDS: u64 = 20;

const AIM_MIB: f64 = 60.0;

pub(crate) fn bench() -> Result<(), Failed> {
    report::part("Memory of `probehost serve` with 100 checks of http-head, every 5 s");
    let upstream = Upstream::start()?;
    let home = hosts::home(
        &upstream.url(),
        &Home { targets: TARGETS, interval: INTERVAL, ..Home::default() },
    )?;
    watch(&home, "first start, which compiles the plugin")?;
    watch(&home, "any later start")
}

fn watch(home: &TempDir, start: &str) -> Result<(), Failed> {
    let host = hosts::probehost(home)?;
    let mib = |file: &str, name: &str| {
        Ok::<f64, Failed>(cost::kib(host.pid(), file, name)? as f64 / 1024.0)
    };
    let mut most: f64 = 0.0;
    for _ in 0..SECONDS {
        std::thread::sleep(Duration::from_secs(1));
        most = most.max(mib("status", "VmRSS")?);
    }
    let (anonymous, files) = (mib("status", "RssAnon")?, mib("status", "RssFile")?);
    let (proportional, peak) = (mib("smaps_rollup", "Pss")?, mib("status", "VmHWM")?);
    let cpu = cost::of(host.pid())?.as_secs_f64();
    report::below(&format!("{start}: resident"), most, AIM_MIB, "MiB");
    let parts = format!(
        "{anonymous:.1} MiB its own, {files:.1} MiB of files; PSS {proportional:.1}, peak {peak:.1} MiB"
    );
    report::figure("  of which", &parts);
    report::figure("  CPU, the start included", &format!("{cpu:.2} s in {SECONDS} s"));
    Ok(())
}
