//! `kill -9` in the middle of writing: contract R3, R4, R9.

use std::io::{BufRead, BufReader, Write as _};
use std::process::{Command, Stdio};

use probehost_model::{Outcome, Reason};
use probehost_store::{Options, Store};

use crate::backend::{Backend, on_both};
use crate::common::{Fixture, fail, landed, seen};

/// Names the database for the helper process.
const DATABASE: &str = "PROBEHOST_TEST_CRASH_DATABASE";
/// How many observations are in flight at once.
const TOGETHER: i64 = 32;

/// R3, R4: after a kill every acknowledged observation is there, each transition has its audit
/// row, and the store opens and goes on; again and again on one database.
async fn a_kill_loses_nothing_acknowledged(on: Backend) {
    let mut fixture = Fixture::with_web(on).await;
    for round in 1..=8 {
        fixture.store.close().await;
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::record_until_killed", "--ignored", "--nocapture"])
            .env(DATABASE, fixture.home.location.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        // A different moment each time.
        let acknowledged = said.by_ref().filter_map(|line| number(&line)).nth(round * 7).unwrap();
        child.kill().unwrap();
        let acknowledged = said.filter_map(|line| number(&line)).last().unwrap_or(acknowledged);
        child.wait().unwrap();

        fixture = fixture.reopen().await;
        let stored = fixture.web().await.unwrap().last_attempt_at.unwrap().as_micros();
        assert!(stored >= acknowledged, "{stored} is stored, {acknowledged} was acknowledged");
        assert_eq!(fixture.store.check_integrity().await.unwrap(), Vec::<String>::new());
        // Later than what a server may still be busy with.
        landed(fixture.record(seen(stored + 2 * TOGETHER, Outcome::Pass)).await);
    }
    fixture.finish().await;
}

/// What a line acknowledges; the test harness says other things too.
fn number(line: &str) -> Option<i64> {
    line.strip_prefix("acknowledged ")?.parse().ok()
}

/// Not a test: the process that is killed. Records changes of status as fast as it can and says
/// which is the last that was acknowledged.
#[tokio::test]
#[ignore = "a helper of a_kill_loses_nothing_acknowledged"]
async fn record_until_killed() {
    let Ok(location) = std::env::var(DATABASE) else { return };
    let store = Store::open(Options::at(location.parse().unwrap())).await.unwrap();
    let check = crate::common::web();
    let last = store.record_of(&check).await.unwrap().and_then(|record| record.last_attempt_at);
    let mut now = last.map_or(0, |at| at.as_micros());
    println!();
    loop {
        let waiting: Vec<_> = (1..=TOGETHER)
            .map(|step| {
                let outcome = if step % 2 == 0 { Outcome::Pass } else { fail(Reason::Config) };
                store.record(seen(now + step, outcome))
            })
            .collect();
        for answer in waiting {
            landed(answer.await.unwrap());
        }
        now += TOGETHER;
        println!("acknowledged {now}");
        std::io::stdout().flush().unwrap();
    }
}

on_both!(a_kill_loses_nothing_acknowledged);
