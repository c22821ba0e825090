//! The chain of the audit: its encoding, and what a reader finds wrong.

use super::*;

fn row(id: i64) -> ChainRow {
    ChainRow {
        id,
        at: 1_000 + id,
        principal: "ada".into(),
        action: "probe".into(),
        trigger: Some("manual".into()),
        target: "web".into(),
        check: Some("head".into()),
        from: Some("unknown".into()),
        to: Some("healthy".into()),
        outcome: format!("pass {id}"),
        transition_id: Some(id),
    }
}

fn chain(rows: i64) -> Vec<ChainLink> {
    let mut hash_before = ChainHash::START;
    let mut links = Vec::new();
    for id in 1..=rows {
        let hash = row(id).hash_after(hash_before);
        links.push(ChainLink { row: row(id), hash_before, hash: Some(hash) });
        hash_before = hash;
    }
    links
}

fn read(links: &[ChainLink]) -> Result<ChainReader, ChainFault> {
    let mut reader = ChainReader::after(0, ChainHash::START);
    for (place, link) in links.iter().enumerate() {
        reader.read(link, &links[place + 1..])?;
    }
    Ok(reader)
}

/// A3: the hash is of exactly these bytes, on every machine and in every version.
#[test]
fn the_encoding_stays_as_it_is() {
    let mut bytes = vec![0; 32];
    bytes.push(1);
    for number in [7_i64, 1_007] {
        bytes.push(1);
        bytes.extend(number.to_be_bytes());
    }
    for text in ["ada", "probe", "manual", "web", "", "unknown", "healthy", "pass 7"] {
        if text.is_empty() {
            bytes.push(0);
            continue;
        }
        bytes.push(2);
        bytes.extend((text.len() as u64).to_be_bytes());
        bytes.extend(text.as_bytes());
    }
    bytes.push(0);
    let row = ChainRow { check: None, transition_id: None, ..row(7) };
    let expected = ChainHash(Sha256::digest(&bytes).into());
    assert_eq!(row.hash_after(ChainHash::START), expected);
    assert_eq!(
        expected.to_string(),
        "af147baa62daf4fa7f52f5b59617c635f1993c5b82d8b97ac4f96e073ce73a19"
    );
}

/// A3: what moves from one column into its neighbour, and what is missing instead of empty,
/// makes another hash.
#[test]
fn no_two_rows_are_encoded_alike() {
    let rows = [
        row(1),
        ChainRow { principal: "adap".into(), action: "robe".into(), ..row(1) },
        ChainRow { check: None, ..row(1) },
        ChainRow { check: Some(String::new()), ..row(1) },
        ChainRow { from: None, to: Some("unknown".into()), ..row(1) },
        ChainRow { transition_id: None, ..row(1) },
        ChainRow { at: 1, ..row(1) },
        ChainRow { id: 2, ..row(1) },
    ];
    let mut hashes: Vec<_> =
        rows.iter().map(|row| row.hash_after(ChainHash::START).to_string()).collect();
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), rows.len());
}

/// A3: what is as it was written is read to its end.
#[test]
fn a_whole_chain_is_read() {
    let links = chain(5);
    let reader = read(&links).unwrap();
    assert_eq!((reader.id(), reader.rows(), Some(reader.hash())), (5, 5, links[4].hash));
}

/// A3: each kind of fault is told, with the id.
#[test]
fn faults_are_told_apart() {
    type Harm = fn(&mut Vec<ChainLink>);
    let cases: [(Harm, ChainFault); 8] = [
        (|links| links[2].row.outcome = "pass".into(), ChainFault::Changed { id: 3 }),
        (|links| links[2].hash = Some(ChainHash::START), ChainFault::Changed { id: 3 }),
        (|links| links[2].hash = None, ChainFault::NoHash { id: 3 }),
        // Changed with the hash made anew: what follows does not follow any more.
        (
            |links| {
                links[2].row.outcome = "pass".into();
                links[2].hash = links[1].hash.map(|hash| links[2].row.hash_after(hash));
            },
            ChainFault::Changed { id: 4 },
        ),
        (|links| drop(links.remove(0)), ChainFault::Missing { after: 0, before: 2 }),
        (|links| drop(links.drain(1..3)), ChainFault::Missing { after: 1, before: 4 }),
        (
            |links| {
                links.swap(1, 3);
                links[1].row.id = 2;
                links[3].row.id = 4;
            },
            ChainFault::Reordered { id: 2, stands_at: 4 },
        ),
        // One removed, and those after it moved up.
        (
            |links| {
                links.remove(1);
                for (id, link) in (1..).zip(links) {
                    link.row.id = id;
                }
            },
            ChainFault::Changed { id: 2 },
        ),
    ];
    for (harm, fault) in cases {
        let mut links = chain(5);
        harm(&mut links);
        assert_eq!(read(&links).unwrap_err(), fault);
    }
}

/// A row goes through JSON and back; what is not a row is refused.
#[test]
fn an_exported_row_is_read_again() {
    let link = chain(1).remove(0);
    let text = serde_json::to_string(&link).unwrap();
    assert_eq!(serde_json::from_str::<ChainLink>(&text).unwrap(), link);
    let more = text.replacen('{', "{\"note\":1,", 1);
    assert!(serde_json::from_str::<ChainLink>(&more).is_err());
}

#[test]
fn a_hash_is_64_small_digits() {
    let text = row(1).hash_after(ChainHash::START).to_string();
    assert_eq!(text.parse::<ChainHash>().unwrap().to_string(), text);
    for wrong in ["", "00", &text.to_uppercase(), &format!("{text}00"), &text.replace('0', "g")] {
        assert!(wrong.parse::<ChainHash>().is_err(), "{wrong}");
    }
}
