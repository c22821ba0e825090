//! `probehost audit`: verifies the chain of the audit, and writes it out (contract A3).

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use probehost_config::Config;
use probehost_model::{ChainHash, ChainLink, ChainReader};
use probehost_store::{AuditLog, AuditReport};

use super::fail;
use crate::app::{AppError, store_options};

/// How many rows of a file are looked at together.
const PAGE: usize = 1000;
/// A line of a file that is longer is no row.
const LONGEST_LINE: u64 = 1 << 20;

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Hold every audit row against the hash of the one before, and say which is not as it was
    /// written. Works while a host runs.
    ///
    /// Prints the head of the chain: keep it where nobody who can write to the database can
    /// reach, and give it to a later `--expect`. Exits with 1 when something is wrong.
    Verify(VerifyArgs),
    /// Print audit rows with their hashes as JSON lines, the oldest first. Works while a host
    /// runs.
    Export(ExportArgs),
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The config file of the host whose audit it is.
    #[arg(long, short, value_name = "FILE", default_value = "probehost.toml")]
    config: PathBuf,
    /// A head that an earlier `verify` has printed: it has to be in the chain still.
    #[arg(long, value_name = "HASH")]
    expect: Option<ChainHash>,
    /// Verify a file that `export` has written, in place of the database.
    #[arg(long, value_name = "FILE", conflicts_with = "config")]
    file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The config file of the host whose audit it is.
    #[arg(long, short, value_name = "FILE", default_value = "probehost.toml")]
    config: PathBuf,
    /// Only rows with a larger id: the last id of an earlier export.
    #[arg(long, value_name = "ID", default_value_t = 0)]
    after: i64,
}

pub(crate) async fn audit(command: AuditCommand) -> ExitCode {
    match command {
        AuditCommand::Verify(args) => match &args.file {
            Some(file) => print(verify_file(file, args.expect)),
            None => print(verify(&args.config, args.expect).await),
        },
        AuditCommand::Export(args) => match export(&args.config, args.after).await {
            Ok(()) => ExitCode::SUCCESS,
            Err(message) => fail(&message),
        },
    }
}

fn print(told: Result<String, String>) -> ExitCode {
    match told {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(message) => fail(&message),
    }
}

fn open(config: &Path) -> Result<AuditLog, AppError> {
    let config = Config::load(config)?;
    Ok(AuditLog::new(&store_options(&config)?))
}

async fn verify(config: &Path, expect: Option<ChainHash>) -> Result<String, String> {
    let log = open(config).map_err(|error| error.to_string())?;
    let report = log.verify(expect).await;
    log.close().await;
    let report = report.map_err(|error| error.to_string())?;
    tell("the audit", expect, &report)
}

/// What a look at a chain has found, for people.
fn tell(what: &str, expect: Option<ChainHash>, report: &AuditReport) -> Result<String, String> {
    let AuditReport { rows, removed, first, last, head, fault, .. } = report;
    if let Some(fault) = fault {
        return Err(format!(
            "{what} is not what was written: {fault}\n{rows} rows before that are as they were \
             written; the last of them is {last}"
        ));
    }
    if let Some(expect) = expect.filter(|_| report.expected == Some(false)) {
        return Err(format!(
            "{what} follows from row to row, but no row has the hash {expect}: it was written anew \
             since that was the head, or retention has removed that row ({removed} rows are \
             removed)\nhead: {head} (row {last})"
        ));
    }
    let first = first.map_or(String::new(), |first| format!(", {first} to {last}"));
    let removed = match removed {
        0 => String::new(),
        removed => format!("; retention has removed {removed} before them"),
    };
    Ok(format!(
        "{what} is as it was written: {rows} rows{first}{removed}\nhead: {head} (row {last})\n"
    ))
}

async fn export(config: &Path, mut after: i64) -> Result<(), String> {
    let log = open(config).map_err(|error| error.to_string())?;
    let mut out = BufWriter::new(io::stdout().lock());
    let exported = async {
        loop {
            let links = log.after(after).await.map_err(|error| error.to_string())?;
            let Some(last) = links.last() else { break };
            after = last.row.id;
            for link in &links {
                let line = serde_json::to_string(link).map_err(|error| error.to_string())?;
                writeln!(out, "{line}").map_err(|error| format!("the output failed: {error}"))?;
            }
        }
        out.flush().map_err(|error| format!("the output failed: {error}"))
    }
    .await;
    log.close().await;
    exported
}

/// Verifies what `export` wrote, some rows at a time.
fn verify_file(path: &Path, expect: Option<ChainHash>) -> Result<String, String> {
    let shown = path.display();
    let cannot = |error: io::Error| format!("{shown} can't be read: {error}");
    let mut lines = Lines { file: BufReader::new(File::open(path).map_err(cannot)?), number: 0 };
    let mut chain: Option<ChainReader> = None;
    let mut report = AuditReport {
        rows: 0,
        removed: 0,
        first: None,
        last: 0,
        head: ChainHash::START,
        fault: None,
        expected: expect.map(|_| false),
    };
    loop {
        let links = lines.next_page().map_err(|error| format!("{shown}: {error}"))?;
        let Some(first) = links.first() else { break };
        // What stood before the first row, the file alone knows.
        let chain = chain.get_or_insert_with(|| {
            report.first = Some(first.row.id);
            ChainReader::after(first.row.id.saturating_sub(1), first.hash_before)
        });
        for (place, link) in links.iter().enumerate() {
            let read = chain.read(link, links.get(place + 1..).unwrap_or_default());
            (report.rows, report.last, report.head) = (chain.rows(), chain.id(), chain.hash());
            if let Err(fault) = read {
                report.fault = Some(fault);
                return tell(&shown.to_string(), expect, &report);
            }
            if expect == Some(chain.hash()) {
                report.expected = Some(true);
            }
        }
    }
    tell(&shown.to_string(), expect, &report)
}

/// The lines of an exported file.
struct Lines<R> {
    file: R,
    number: usize,
}

impl<R: BufRead> Lines<R> {
    /// The next rows; none at the end of the file.
    fn next_page(&mut self) -> Result<Vec<ChainLink>, String> {
        let mut links = Vec::new();
        let mut line = Vec::new();
        while links.len() < PAGE {
            line.clear();
            let mut limited = io::Read::take(&mut self.file, LONGEST_LINE);
            if limited.read_until(b'\n', &mut line).map_err(|error| error.to_string())? == 0 {
                break;
            }
            self.number += 1;
            let link = serde_json::from_slice(&line).map_err(|error| {
                format!("line {} is no audit row as `audit export` writes it: {error}", self.number)
            })?;
            links.push(link);
        }
        Ok(links)
    }
}
