//! What a probe costs: `make bench`, or a part of it with
//! `cargo bench -p probehost --bench probes -- run probes records resident blackbox ssh company
//! languages lists sinks`.
//!
//! Every figure that is compared with another comes from the same run of this program, since
//! what else a machine does changes figures by half and ratios by little. CPU is user and
//! system time of the process that does the work. The upstream that is probed is a process of
//! its own (this program again, see [`upstream`]), so its CPU counts for nobody.

mod blackbox;
mod company;
mod cost;
mod fleet;
mod hosts;
mod languages;
mod lists;
mod probes;
mod records;
mod report;
mod resident;
mod run;
mod sinks;
mod ssh;
mod upstream;

use std::error::Error;
use std::process::ExitCode;

/// What went wrong; the program ends with it.
type Failed = Box<dyn Error + Send + Sync>;

/// The parts, in the order in which they run.
const PARTS: [&str; 10] = [
    "run",
    "probes",
    "records",
    "resident",
    "blackbox",
    "ssh",
    "company",
    "languages",
    "lists",
    "sinks",
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = if arguments.iter().any(|word| word == upstream::ROLE) {
        upstream::serve()
    } else {
        bench(&arguments)
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("probes: {error}");
            ExitCode::FAILURE
        }
    }
}

fn bench(arguments: &[String]) -> Result<(), Failed> {
    // What the library that probes are compared with needs of a TLS that it does not use here.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // Cargo adds --bench.
    let asked: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|word| !word.starts_with("--")).collect();
    if let Some(odd) = asked.iter().find(|word| !PARTS.contains(word)) {
        return Err(format!("there is no part {odd:?}; there are {}", PARTS.join(", ")).into());
    }
    println!(
        "CPU is user and system time. {} cores; ratios within this run are what counts.",
        std::thread::available_parallelism()?
    );
    for part in PARTS {
        if !asked.is_empty() && !asked.contains(&part) {
            continue;
        }
        match part {
            "run" => run::bench()?,
            "probes" => probes::bench()?,
            "records" => records::bench()?,
            "resident" => resident::bench()?,
            "blackbox" => blackbox::bench()?,
            "ssh" => ssh::bench()?,
            "company" => company::bench()?,
            "languages" => languages::bench()?,
            "lists" => lists::bench()?,
            _ => sinks::bench()?,
        }
    }
    Ok(())
}
