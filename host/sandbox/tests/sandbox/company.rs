//! Many at once: the well-behaved are not disturbed, and memory stays bounded (contract P5, G4).

use std::time::Duration;

use probehost_model::Outcome;
use probehost_sandbox::Fault;
use tokio::task::JoinSet;

use crate::support::{AMPLE, load, probe};

/// P5: loops on every worker, and every well-behaved probe comes through beside them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn loops_disturb_nobody() {
    let (looping, echo) = (load("loop_in_check").await, load("echo").await);
    let mut loops = JoinSet::new();
    for _ in 0..6 {
        let looping = looping.clone();
        loops.spawn(async move { probe(&looping, "{}", Duration::from_secs(2)).await });
    }
    let mut good = JoinSet::new();
    for number in 0..100 {
        let echo = echo.clone();
        good.spawn(async move {
            let config = format!(r#"{{"measurements":{}}}"#, number % 8);
            (number % 8, probe(&echo, &config, AMPLE).await)
        });
    }
    while let Some(done) = good.join_next().await {
        let (number, probed) = done.unwrap();
        assert_eq!(probed.report.outcome, Outcome::Pass);
        assert_eq!(probed.report.measurements.len(), number);
    }
    while let Some(done) = loops.join_next().await {
        assert_eq!(done.unwrap().fault().0, &Fault::Looping);
    }
}

/// G4: forty memory bombs, four at a time, leave the host as large as it was, and change.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_stays_bounded() {
    let bomb = load("memory_bomb").await;
    for _ in 0..10 {
        let mut bombs = JoinSet::new();
        for _ in 0..4 {
            let bomb = bomb.clone();
            bombs.spawn(async move { probe(&bomb, "{}", AMPLE).await });
        }
        while let Some(done) = bombs.join_next().await {
            assert_eq!(done.unwrap().fault().0, &Fault::Memory { limit: 64 << 20 });
        }
    }
    // They took 2.5 GiB in all. The tests beside this one take a few hundred MiB at most.
    let resident = resident_bytes();
    assert!(resident < 1 << 30, "{} MiB", resident >> 20);
}

fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kilobytes: usize = line.trim().trim_end_matches(" kB").parse().unwrap();
    kilobytes << 10
}
