//! How many observations a second reach the store, each acknowledged after its commit.

use std::borrow::Cow;

use probehost_model::{CheckId, Observation, Outcome, SYSTEM_PRINCIPAL, Timestamp, Trigger};
use probehost_store::{Recorded, Store, Write};
use probehost_test_support::postgres::{self, Postgres};
use tokio::runtime::Builder;

use crate::cost::{self, Meter};
use crate::fleet::{self, CHECK, TARGETS, THRESHOLDS};
use crate::{Failed, report};

/// Observations of one figure.
const OBSERVATIONS: usize = 40_000;

const AIM_A_SECOND: f64 = 10_000.0;

/// How many record at once.
const CALLERS: [usize; 3] = [16, 64, 256];

pub(crate) fn bench() -> Result<(), Failed> {
    Builder::new_multi_thread().enable_all().build()?.block_on(async {
        report::part(
            "Observations recorded on SQLite (a file, write-ahead log), each acknowledged",
        );
        for callers in CALLERS {
            let (store, _folder) = fleet::store("http://127.0.0.1:1").await?;
            let (rate, micros) = rate(&store, callers).await?;
            let what = format!("{callers} callers, {micros:.0} µs of CPU each");
            report::above(&what, rate, AIM_A_SECOND, "a second");
            store.close().await;
        }
        report::part(
            "The same on a PostgreSQL server of this machine, which flushes nothing to the disk",
        );
        if postgres::programs().is_none() {
            report::figure("PostgreSQL is not installed", postgres::INSTALL);
            return Ok(());
        }
        for callers in CALLERS {
            let server = Postgres::start()?;
            let store =
                fleet::store_at(server.url("postgres").parse()?, "http://127.0.0.1:1").await?;
            let (rate, micros) = rate(&store, callers).await?;
            let what =
                format!("{callers} callers, {micros:.0} µs of CPU each without the server's");
            report::figure(&what, &format!("{rate:.0} a second"));
            store.close().await;
        }
        Ok(())
    })
}

/// Observations a second, and the CPU of each in microseconds.
async fn rate(store: &Store, callers: usize) -> Result<(f64, f64), Failed> {
    // Every record is there, as after the first minute of a host.
    record(store, TARGETS, 8, 1).await?;
    let meter = Meter::start(cost::own)?;
    let recorded = record(store, OBSERVATIONS, callers, 1_000_000).await?;
    let cost = meter.stop()?;
    Ok((cost.a_second(recorded), cost.micros_each(recorded)))
}

/// Records `count` observations, or a few less, from `callers` tasks, each over checks of its
/// own. Says how many.
async fn record(store: &Store, count: usize, callers: usize, from: i64) -> Result<usize, Failed> {
    let mut tasks = Vec::new();
    for caller in 0..callers {
        let store = store.clone();
        tasks.push(tokio::spawn(async move {
            let rounds = count / callers;
            for round in 0..rounds {
                let check = caller + callers * (round % (TARGETS / callers));
                let at = from + i64::try_from(round)?;
                let recorded = store.record(write(check, at)).await?;
                if !matches!(recorded, Recorded::Applied { .. }) {
                    return Err(format!("{check} was refused: {recorded:?}").into());
                }
            }
            Ok::<usize, Failed>(rounds)
        }));
    }
    let mut recorded = 0;
    for task in tasks {
        recorded += task.await??;
    }
    Ok(recorded)
}

fn write(check: usize, at: i64) -> Write {
    Write {
        check: CheckId::new(&fleet::id(check), CHECK),
        seen_updated_at: Timestamp::from_micros(0),
        observation: Observation {
            at: Timestamp::from_micros(at),
            subject: format!("target-{check}.example.com:443"),
            outcome: Outcome::Pass,
        },
        thresholds: THRESHOLDS,
        trigger: Trigger::Scheduled,
        principal: Cow::Borrowed(SYSTEM_PRINCIPAL),
        denied: Vec::new(),
    }
}
