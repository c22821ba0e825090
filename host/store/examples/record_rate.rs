//! How many observations a second reach the disk, and what each costs in CPU.
//!
//! `cargo run --release -p probehost-store --example record_rate [observations] [folder]`
//! prints one line per number of concurrent callers. The file lies in `folder`, or in the
//! folder for temporary files. CPU is that of the whole process, callers included.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use probehost_model::{
    Check, CheckId, Observation, Outcome, Reason, Role, SYSTEM_PRINCIPAL, Source, Target,
    Thresholds, Timestamp, Trigger,
};
use probehost_store::{Options, Recorded, Store, Write};

const CHECKS: usize = 1_000;
const THRESHOLDS: Thresholds = Thresholds { failure: 2, inconclusive: 2 };

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let count = arguments.next().map_or(Ok(50_000), |text| text.parse::<usize>())?;
    let parent = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    println!("callers  of 100 fail  observations/s  CPU µs each");
    for (callers, failing) in [(1, 0), (16, 0), (64, 0), (256, 0), (256, 10)] {
        let folder = tempfile::tempdir_in(&parent)?;
        let store = Store::open(Options::new(folder.path().join("rate.db"))).await?;
        let targets = (0..CHECKS).map(target).collect();
        store.sync_file_targets(targets, HashMap::new(), Timestamp::from_micros(0), "file").await?;
        // Every record is there, as after the first minute of a host.
        run(&store, CHECKS, 8, 0, 1).await?;
        let (begun, cpu) = (Instant::now(), cpu_time()?);
        run(&store, count, callers, failing, 1_000_000).await?;
        let (took, cpu) = (begun.elapsed(), cpu_time()?.saturating_sub(cpu));
        println!(
            "{callers:7}  {failing:11}  {:14.0}  {:11.1}",
            count as f64 / took.as_secs_f64(),
            cpu.as_secs_f64() * 1e6 / count as f64
        );
        store.close().await;
    }
    Ok(())
}

/// Records `count` observations from `callers` tasks, each over checks of its own.
async fn run(
    store: &Store,
    count: usize,
    callers: usize,
    failing: usize,
    from: i64,
) -> Result<(), Box<dyn Error>> {
    let mut tasks = Vec::new();
    for caller in 0..callers {
        let store = store.clone();
        tasks.push(tokio::spawn(async move {
            let own = CHECKS / callers;
            for round in 0..count / callers {
                let check = caller + callers * (round % own);
                let at = from + i64::try_from(round)?;
                let fails = (round / own + check) % 100 < failing;
                let recorded = store.record(write(check, at, fails)).await?;
                if !matches!(recorded, Recorded::Applied { .. }) {
                    return Err(format!("{check} was refused: {recorded:?}").into());
                }
            }
            Ok::<_, Box<dyn Error + Send + Sync>>(())
        }));
    }
    for task in tasks {
        task.await?.map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn target(number: usize) -> Target {
    Target {
        id: format!("target-{number}"),
        name: format!("Target {number}"),
        labels: BTreeMap::new(),
        enabled: true,
        source: Source::File,
        updated_at: Timestamp::from_micros(0),
        managed: None,
        checks: vec![Check {
            name: "head".to_owned(),
            kind: "http-head".to_owned(),
            role: Role::Liveness,
            config: serde_json::json!({ "url": format!("https://target-{number}.example.com") }),
            interval: Some(Duration::from_secs(60)),
            timeout: Duration::from_secs(10),
            thresholds: THRESHOLDS,
        }],
    }
}

fn write(check: usize, at: i64, fails: bool) -> Write {
    let outcome = if fails {
        Outcome::fail(Reason::Network, "target.example.com:443: connection refused")
    } else {
        Outcome::Pass
    };
    Write {
        check: CheckId::new(&format!("target-{check}"), "head"),
        seen_updated_at: Timestamp::from_micros(0),
        observation: Observation {
            at: Timestamp::from_micros(at),
            subject: format!("target-{check}.example.com:443"),
            outcome,
        },
        thresholds: THRESHOLDS,
        trigger: Trigger::Scheduled,
        principal: Cow::Borrowed(SYSTEM_PRINCIPAL),
        denied: Vec::new(),
    }
}

/// User and system time of this process. Linux counts it in hundredths of a second.
fn cpu_time() -> Result<Duration, Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks = fields.skip(11).take(2).map(str::parse::<u64>).sum::<Result<u64, _>>()?;
    Ok(Duration::from_millis(ticks * 10))
}
