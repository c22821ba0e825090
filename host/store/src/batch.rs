//! Records a batch of observations, each exactly as if it had come alone and in its order.

use std::collections::HashMap;

use probehost_model::{Refusal, Trigger};

use crate::conn::{Conn, Value};
use crate::failure::Failure;
use crate::history;
use crate::observe::{self, Lands, Recorded, Write};
use crate::rows;

/// Lands what leaves the status and the reason as they are, and so leaves no history. None stands for what did
/// not land: it is still to be recorded.
pub(crate) async fn land_quietly(
    conn: &mut Conn,
    writes: &[&Write],
) -> Result<Vec<Option<Recorded>>, Failure> {
    let mut landed: Vec<Option<Recorded>> = writes.iter().map(|_| None).collect();
    let mut rounds = rounds(writes).into_iter();
    // Only the first of each check: a later one has to wait for what becomes of it.
    if let Some(mut round) = rounds.next() {
        round.retain(|place| {
            let write = writes.get(*place);
            write.is_some_and(|write| write.trigger != Trigger::Manual && write.denied.is_empty())
        });
        if !round.is_empty() {
            decide(conn, writes, &round, Lands::Quietly, &mut landed).await?;
        }
    }
    Ok(landed)
}

/// Records all of them, with their history, inside a transaction that has begun.
pub(crate) async fn record(conn: &mut Conn, writes: &[&Write]) -> Result<Vec<Recorded>, Failure> {
    let mut landed: Vec<Option<Recorded>> = writes.iter().map(|_| None).collect();
    for round in rounds(writes) {
        decide(conn, writes, &round, Lands::Always, &mut landed).await?;
    }
    let mut results = explained(conn, writes, landed).await?;
    history::of_batch(conn, writes, &mut results).await?;
    Ok(results)
}

/// One statement may touch a record once; so each round has at most one observation of a
/// check, and observations of one check stay in their order.
fn rounds(writes: &[&Write]) -> Vec<Vec<usize>> {
    let mut rounds: Vec<Vec<usize>> = Vec::with_capacity(1);
    let mut of_check: HashMap<(&str, &str), usize> = HashMap::with_capacity(writes.len());
    for (place, write) in writes.iter().enumerate() {
        let count = of_check.entry((&write.check.target, &write.check.check)).or_insert(0);
        match rounds.get_mut(*count) {
            Some(round) => round.push(place),
            None => rounds.push(vec![place]),
        }
        *count += 1;
    }
    rounds
}

/// Runs the deciding statement over one round.
async fn decide(
    conn: &mut Conn,
    writes: &[&Write],
    round: &[usize],
    lands: Lands,
    results: &mut [Option<Recorded>],
) -> Result<(), Failure> {
    let members = || round.iter().filter_map(|place| Some((*place, *writes.get(*place)?)));
    let seen: Vec<_> = members().map(|(_, write)| observe::encode(write)).collect();
    let seen = serde_json::to_string(&seen)?;
    let values = [Value::Text(&seen), Value::Whole(lands.parameter())];
    let landed = conn.fetch_all(observe::UPSERT.of(conn.dialect()), &values).await?;
    let places: HashMap<(&str, &str), usize> = members()
        .map(|(place, write)| ((write.check.target.as_str(), write.check.check.as_str()), place))
        .collect();
    for row in &landed {
        let place = places.get(&(rows::get(row, 0)?, rows::get(row, 1)?));
        if let Some(result) = place.and_then(|place| results.get_mut(*place)) {
            *result = Some(observe::decode(row)?);
        }
    }
    Ok(())
}

/// Gives what did not land its refusal: overtaken where the target is as the probe saw it,
/// else changed. The extra look is only taken when something was refused.
async fn explained(
    conn: &mut Conn,
    writes: &[&Write],
    landed: Vec<Option<Recorded>>,
) -> Result<Vec<Recorded>, Failure> {
    let refused: Vec<_> = writes
        .iter()
        .zip(&landed)
        .enumerate()
        .filter(|(_, (_, result))| result.is_none())
        .map(|(place, (write, _))| {
            let seen = write.seen_updated_at.as_micros();
            (place, &write.check.target, &write.check.check, seen)
        })
        .collect();
    let standing = if refused.is_empty() {
        Vec::new()
    } else {
        let refused = serde_json::to_string(&refused)?;
        conn.fetch_all(observe::STANDING.of(conn.dialect()), &[Value::Text(&refused)]).await?
    };
    let mut results: Vec<Recorded> = landed
        .into_iter()
        .map(|result| result.unwrap_or(Recorded::Refused(Refusal::Changed)))
        .collect();
    for row in &standing {
        let place = usize::try_from(rows::get::<i64>(row, 0)?).ok();
        if let Some(result) = place.and_then(|place| results.get_mut(place)) {
            *result = Recorded::Refused(Refusal::Overtaken);
        }
    }
    Ok(results)
}
