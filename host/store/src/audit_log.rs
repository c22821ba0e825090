//! Reads the audit as a chain: verifies it, and gives its rows with their hashes (contract A3).
//!
//! A database that another process writes to can be read as well: nothing here waits for its
//! writer, or keeps it from writing.

use probehost_model::{ChainFault, ChainHash, ChainLink, ChainReader, ChainRow};

use crate::Location;
use crate::conn::{Readers, Row, Value};
use crate::{MAX_PAGE, Options, Store, StoreError, open, rows};

/// A page of rows after the id `$1` and up to the id `$2`, the oldest first; see [`row`].
pub(crate) const PAGE: &str = "SELECT id, at, principal, action, \"trigger\", target_id, \
     check_name, \"from\", \"to\", outcome, transition_id, hash FROM audit \
     WHERE id > $1 AND id <= $2 ORDER BY id LIMIT $3";

/// A page of rows after the id `$1`, each with the hash of the row before, or of the last that
/// retention has removed.
const EXPORT: &str = "SELECT id, at, principal, action, \"trigger\", target_id, check_name, \
     \"from\", \"to\", outcome, transition_id, hash, \
     (SELECT before.hash FROM audit AS before WHERE before.id < audit.id \
      ORDER BY before.id DESC LIMIT 1), (SELECT hash FROM audit_anchor) \
     FROM audit WHERE id > $1 ORDER BY id LIMIT $2";

/// Both ends of the chain and of the table, as of one moment; see [`ends`].
pub(crate) const ENDS: &str = "SELECT (SELECT id FROM audit_head), \
     (SELECT hash FROM audit_head), (SELECT rows FROM audit_head), \
     (SELECT id FROM audit_anchor), (SELECT hash FROM audit_anchor), \
     (SELECT rows FROM audit_anchor), (SELECT MIN(id) FROM audit), (SELECT MAX(id) FROM audit)";

/// One end of a chain: the row there, and how many there were up to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChainEnd {
    pub(crate) id: i64,
    pub(crate) hash: ChainHash,
    pub(crate) rows: i64,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) head: Option<ChainEnd>,
    pub(crate) anchor: Option<ChainEnd>,
    oldest: Option<i64>,
    newest: Option<i64>,
}

/// Reads a row of [`ENDS`].
pub(crate) fn ends(row: &Row) -> Result<Ends, StoreError> {
    let end = |first: usize| -> Result<Option<ChainEnd>, StoreError> {
        let id: Option<i64> = rows::get(row, first)?;
        let rows: Option<i64> = rows::get(row, first + 2)?;
        let hash = hash(row, first + 1)?;
        Ok(id.zip(hash).zip(rows).map(|((id, hash), rows)| ChainEnd { id, hash, rows }))
    };
    Ok(Ends {
        head: end(0)?,
        anchor: end(3)?,
        oldest: rows::get(row, 6)?,
        newest: rows::get(row, 7)?,
    })
}

/// Reads a row of [`PAGE`]: with its hash, where one stands there.
pub(crate) fn row(row: &Row) -> Result<(ChainRow, Option<ChainHash>), StoreError> {
    let chained = ChainRow {
        id: rows::get(row, 0)?,
        at: rows::get(row, 1)?,
        principal: rows::get(row, 2)?,
        action: rows::get(row, 3)?,
        trigger: rows::get(row, 4)?,
        target: rows::get(row, 5)?,
        check: rows::get(row, 6)?,
        from: rows::get(row, 7)?,
        to: rows::get(row, 8)?,
        outcome: rows::get(row, 9)?,
        transition_id: rows::get(row, 10)?,
    };
    Ok((chained, hash(row, 11)?))
}

fn hash(row: &Row, column: usize) -> Result<Option<ChainHash>, StoreError> {
    Ok(rows::get::<Option<&str>>(row, column)?.and_then(|text| text.parse().ok()))
}

/// Rows of [`PAGE`], each with the hash of the one before; the first follows `before`.
pub(crate) fn links(found: &[Row], mut before: ChainHash) -> Result<Vec<ChainLink>, StoreError> {
    let mut links = Vec::with_capacity(found.len());
    for found in found {
        let (row, hash) = row(found)?;
        links.push(ChainLink { row, hash_before: before, hash });
        before = hash.unwrap_or(ChainHash::START);
    }
    Ok(links)
}

/// What a look at the whole chain has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditReport {
    /// How many rows follow from one another: all, where nothing is wrong.
    pub rows: u64,
    /// How many rows retention has removed before them.
    pub removed: i64,
    /// The id of the first row; none where there is none.
    pub first: Option<i64>,
    /// The id of the last row that follows.
    pub last: i64,
    /// The hash of the last row that follows: the head, where nothing is wrong.
    pub head: ChainHash,
    /// The first thing that is wrong.
    pub fault: Option<ChainFault>,
    /// Whether the hash that was asked for is in the chain.
    pub expected: Option<bool>,
}

impl AuditReport {
    /// Whether the audit is what was written, and holds the hash that was asked for.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.fault.is_none() && self.expected != Some(false)
    }
}

/// The audit of a database, to be read only. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AuditLog {
    location: Location,
    readers: Readers,
}

impl AuditLog {
    /// The audit of a database that a host has opened before. Connects when it is first read.
    /// Has to be called on a tokio runtime.
    #[must_use]
    pub fn new(options: &Options) -> Self {
        Self { location: options.location.clone(), readers: open::readers(options) }
    }

    pub(crate) const fn of(location: Location, readers: Readers) -> Self {
        Self { location, readers }
    }

    /// Holds every row against the hash of the one before, from where retention has cut to the
    /// head, a page at a time; and looks whether `expect` is one of their hashes, or that of the
    /// last row that was cut.
    ///
    /// What is written meanwhile is not looked at.
    ///
    /// # Errors
    /// The database can't be read.
    pub async fn verify(&self, expect: Option<ChainHash>) -> Result<AuditReport, StoreError> {
        loop {
            let ends = self.ends().await?;
            let report = self.walk(&ends, expect).await?;
            // Retention may have removed what was about to be read: then from the new anchor.
            if report.fault.is_none() || self.ends().await?.anchor == ends.anchor {
                return Ok(report);
            }
        }
    }

    async fn walk(
        &self,
        ends: &Ends,
        expect: Option<ChainHash>,
    ) -> Result<AuditReport, StoreError> {
        let anchor = ends.anchor.unwrap_or(ChainEnd { id: 0, hash: ChainHash::START, rows: 0 });
        let last = ends.head.map_or(i64::MAX, |head| head.id);
        let mut chain = ChainReader::after(anchor.id, anchor.hash);
        let mut fault = None;
        let mut expected = expect.map(|expect| expect == anchor.hash);
        'pages: loop {
            let values =
                [Value::Whole(chain.id()), Value::Whole(last), Value::Whole(MAX_PAGE.into())];
            let links = links(&self.read(PAGE, &values).await?, chain.hash())?;
            for (place, link) in links.iter().enumerate() {
                let following = links.get(place + 1..).unwrap_or_default();
                if let Err(found) = chain.read(link, following) {
                    fault = Some(found);
                    break 'pages;
                }
                if expect == Some(chain.hash()) {
                    expected = Some(true);
                }
            }
            if links.is_empty() {
                break;
            }
        }
        Ok(AuditReport {
            rows: chain.rows(),
            removed: anchor.rows,
            first: ends.oldest,
            last: chain.id(),
            head: chain.hash(),
            fault: fault.or_else(|| ends.fault(&chain)),
            expected,
        })
    }

    /// The rows that come after that id, the oldest first, with their hashes: at most
    /// [`MAX_PAGE`].
    ///
    /// # Errors
    /// The database can't be read.
    pub async fn after(&self, id: i64) -> Result<Vec<ChainLink>, StoreError> {
        let values = [Value::Whole(id), Value::Whole(MAX_PAGE.into())];
        let found = self.read(EXPORT, &values).await?;
        let exported = |found: &Row| {
            let (row, own) = row(found)?;
            let before = hash(found, 12)?.or(hash(found, 13)?).unwrap_or(ChainHash::START);
            Ok(ChainLink { row, hash_before: before, hash: own })
        };
        found.iter().map(exported).collect()
    }

    /// Ends the connections.
    pub async fn close(&self) {
        self.readers.close().await;
    }

    async fn ends(&self) -> Result<Ends, StoreError> {
        let found = self.read(ENDS, &[]).await?;
        Ok(found.first().map(ends).transpose()?.unwrap_or_default())
    }

    async fn read(&self, text: &'static str, values: &[Value<'_>]) -> Result<Vec<Row>, StoreError> {
        let found = self.readers.fetch_all(text, values).await;
        found.map_err(|error| StoreError::from_sqlx(&self.location, &error))
    }
}

impl Ends {
    /// What is wrong at the ends of a chain that was read without a fault.
    fn fault(&self, chain: &ChainReader) -> Option<ChainFault> {
        let Some(anchor) = self.anchor else { return Some(ChainFault::NoEnd("anchor")) };
        let Some(head) = self.head else { return Some(ChainFault::NoEnd("head")) };
        let id = chain.id();
        if let Some(oldest) = self.oldest.filter(|oldest| *oldest <= anchor.id) {
            return Some(ChainFault::BeforeAnchor { id: oldest, anchor: anchor.id });
        }
        if let Some(newest) = self.newest.filter(|newest| *newest > head.id) {
            return Some(ChainFault::BeyondHead { id: newest, head: head.id });
        }
        if id < head.id {
            return Some(ChainFault::TailCut { last: id, head: head.id });
        }
        if chain.hash() != head.hash {
            return Some(ChainFault::HeadDiffers { id, what: "the head has another hash".into() });
        }
        let rows = i64::try_from(chain.rows()).unwrap_or(i64::MAX).saturating_add(anchor.rows);
        (rows != head.rows).then(|| {
            let what = format!("there are {rows} rows up to it and the head counts {}", head.rows);
            ChainFault::HeadDiffers { id, what }
        })
    }
}

impl Store {
    /// Holds the whole audit against its chain; see [`AuditLog::verify`].
    ///
    /// # Errors
    /// The database can't be read.
    pub async fn verify_audit(&self) -> Result<AuditReport, StoreError> {
        self.audit_log().verify(None).await
    }
}
