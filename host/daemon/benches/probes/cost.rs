//! CPU time and memory, of this process and of others.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::Failed;

/// What something took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    /// User and system time of the process that did it.
    pub(crate) cpu: Duration,
    /// By the clock on the wall.
    pub(crate) took: Duration,
}

impl Cost {
    /// CPU time of each of `count`, in microseconds; this is also the milliseconds of 1,000.
    pub(crate) fn micros_each(self, count: usize) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / count as f64
    }

    /// How many of `count` there were in a second.
    pub(crate) fn a_second(self, count: usize) -> f64 {
        count as f64 / self.took.as_secs_f64()
    }
}

/// What begins now, by the CPU time that `cpu` reads.
pub(crate) struct Meter<F> {
    cpu: F,
    cpu_before: Duration,
    began: Instant,
}

impl<F: Fn() -> Result<Duration, Failed>> Meter<F> {
    pub(crate) fn start(cpu: F) -> Result<Self, Failed> {
        Ok(Self { cpu_before: cpu()?, began: Instant::now(), cpu })
    }

    pub(crate) fn stop(self) -> Result<Cost, Failed> {
        let took = self.began.elapsed();
        Ok(Cost { cpu: (self.cpu)()?.saturating_sub(self.cpu_before), took })
    }
}

/// CPU time of this process so far, all threads, no children.
pub(crate) fn own() -> Result<Duration, Failed> {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Ok(Duration::new(u64::try_from(time.tv_sec)?, u32::try_from(time.tv_nsec)?))
}

/// CPU time of a process so far. Linux tells it in hundredths of a second.
pub(crate) fn of(pid: u32) -> Result<Duration, Failed> {
    ticks(&pid.to_string(), 11)
}

/// CPU time of all children of this process that have ended and were waited for.
pub(crate) fn ended_children() -> Result<Duration, Failed> {
    ticks("self", 13)
}

/// User and system time, which stand from the field `first` after the name of the program.
fn ticks(process: &str, first: usize) -> Result<Duration, Failed> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name of the program, in parentheses, may hold spaces.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks = fields.skip(first).take(2).map(str::parse::<u64>).sum::<Result<u64, _>>()?;
    Ok(Duration::from_millis(ticks * 10))
}

/// A figure of `/proc/PID/FILE` in KiB, such as `VmRSS` of `status`.
pub(crate) fn kib(pid: u32, file: &str, name: &str) -> Result<u64, Failed> {
    let path = format!("/proc/{pid}/{file}");
    let text = std::fs::read_to_string(&path)?;
    let value = text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key == name).then(|| value.trim().trim_end_matches(" kB"))
    });
    let value = value.ok_or_else(|| format!("{path} does not tell of {name}"))?;
    Ok(value.parse()?)
}
