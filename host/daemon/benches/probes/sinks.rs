//! How punctual probes are while those who are told of them answer badly or not at all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;

use crate::hosts::{self, Home};
use crate::{Failed, report};

const TARGETS: usize = 200;
/// How often each is probed, in seconds: 40 probes a second, each of which is a transition.
const INTERVAL: u32 = 5;
/// Not watched, in seconds: the start.
const BEFORE: u64 = 10;
/// How long it is watched, in seconds.
const WATCHED: u64 = 25;

/// How a sink behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sink {
    /// There is none, and no rule.
    None,
    Prompt,
    /// It takes each message and never answers.
    Stuck,
    /// It answers 429, and asks to wait for a second.
    Throttling,
    /// Nobody listens where it should be.
    Down,
}

const SINKS: [(&str, Sink); 5] = [
    ("nobody to tell", Sink::None),
    ("a sink that answers at once", Sink::Prompt),
    ("one that never answers", Sink::Stuck),
    ("one that says 429", Sink::Throttling),
    ("one that is down", Sink::Down),
];

/// When each path was asked for.
type Arrivals = Arc<Mutex<HashMap<String, Vec<Instant>>>>;

pub(crate) fn bench() -> Result<(), Failed> {
    report::part(
        "How late 40 probes a second are, each a transition that is told: half of them, 99 of 100",
    );
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut alone = None;
        for (what, sink) in SINKS {
            let late = watch(sink).await?;
            let most = at(&late, 99);
            let alone = *alone.get_or_insert(most);
            let figure = format!(
                "{:.2} ms, {most:.2} ms ({:.1} ×); {} probes",
                at(&late, 50),
                most / alone.max(f64::MIN_POSITIVE),
                late.len()
            );
            report::figure(what, &figure);
        }
        Ok(())
    })
}

/// How much later than its cadence each probe came, in milliseconds, sorted.
async fn watch(sink: Sink) -> Result<Vec<f64>, Failed> {
    let arrivals = Arrivals::default();
    let probed = TcpListener::bind(("127.0.0.1", 0)).await?;
    let url = format!("http://{}", probed.local_addr()?);
    let told = TcpListener::bind(("127.0.0.1", 0)).await?;
    let further = match sink {
        Sink::None => String::new(),
        _ => rules(&format!("http://{}", told.local_addr()?)),
    };
    let seen = Arc::clone(&arrivals);
    let probed = tokio::spawn(async move {
        while let Ok((stream, _)) = probed.accept().await {
            // A client that goes away is its own affair.
            tokio::spawn(turn(stream, Arc::clone(&seen)));
        }
    });
    let told = tokio::spawn(async move {
        if sink == Sink::Down {
            return;
        }
        while let Ok((stream, _)) = told.accept().await {
            tokio::spawn(be_told(stream, sink));
        }
    });
    let home = Home {
        targets: TARGETS,
        interval: INTERVAL,
        check: "failure_threshold = 1\n",
        further: &further,
    };
    let home = hosts::home(&url, &home)?;
    let host = hosts::probehost(&home)?;
    tokio::time::sleep(Duration::from_secs(BEFORE)).await;
    arrivals.lock().unwrap_or_else(PoisonError::into_inner).clear();
    tokio::time::sleep(Duration::from_secs(WATCHED)).await;
    drop(host);
    probed.abort();
    told.abort();
    let arrivals = arrivals.lock().unwrap_or_else(PoisonError::into_inner);
    let cadence = f64::from(INTERVAL);
    let mut late: Vec<f64> = arrivals
        .values()
        .flat_map(|times| times.windows(2))
        .filter_map(|pair| Some(pair.last()?.duration_since(*pair.first()?).as_secs_f64()))
        .map(|apart| (apart - cadence).max(0.0) * 1e3)
        .collect();
    late.sort_by(f64::total_cmp);
    Ok(late)
}

/// Everything is told to one webhook, as fast as it takes it.
fn rules(url: &str) -> String {
    // Half of the targets fail at any time, which is not the host's own fault here.
    format!(
        "[notify]\nown_fault_min = 10000\ngroup_wait = 0\n\
         [notify.sinks.told]\nkind = \"webhook\"\nurl = \"{url}\"\nrate = 1000\n\
         [[notify.rules]]\nsinks = [\"told\"]\n"
    )
}

/// Answers 200 and 500 in turn to each path.
async fn turn(mut stream: TcpStream, arrivals: Arrivals) -> std::io::Result<()> {
    let head = request(&mut stream).await?;
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let count = {
        let mut arrivals = arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        let times = arrivals.entry(path).or_default();
        times.push(Instant::now());
        times.len()
    };
    let status = if count % 2 == 0 { "200 OK" } else { "500 Internal Server Error" };
    respond(&mut stream, status, "").await
}

async fn be_told(mut stream: TcpStream, sink: Sink) -> std::io::Result<()> {
    request(&mut stream).await?;
    match sink {
        Sink::Stuck => {
            // Until the host gives up.
            stream.read_to_end(&mut Vec::new()).await?;
            Ok(())
        }
        Sink::Throttling => {
            respond(&mut stream, "429 Too Many Requests", "Retry-After: 1\r\n").await
        }
        Sink::Prompt | Sink::Down | Sink::None => respond(&mut stream, "204 No Content", "").await,
    }
}

/// Reads a request, and gives its head.
async fn request(stream: &mut TcpStream) -> std::io::Result<String> {
    let mut read = Vec::with_capacity(512);
    loop {
        let text = String::from_utf8_lossy(&read).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
            });
            if body.len() >= length.unwrap_or(0) {
                return Ok(head.to_owned());
            }
        }
        if stream.read_buf(&mut read).await? == 0 {
            return Ok(text);
        }
    }
}

async fn respond(stream: &mut TcpStream, status: &str, headers: &str) -> std::io::Result<()> {
    let text =
        format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n{headers}Connection: close\r\n\r\n");
    stream.write_all(text.as_bytes()).await?;
    stream.shutdown().await
}

/// Of sorted values the one that so many of 100 are within.
fn at(values: &[f64], percent: usize) -> f64 {
    let place = values.len().saturating_sub(1) * percent / 100;
    values.get(place).copied().unwrap_or_default()
}
