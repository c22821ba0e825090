//! `probehost status --watch`: the table, kept up to date in the terminal.

use std::process::ExitCode;
use std::time::Duration;

use tokio::signal::ctrl_c;
use tokio::time::{Instant, sleep, timeout};

use super::client::Client;
use super::fleet::{fetch, render};

/// Ages move on this often, also when nothing happens.
const TICK: Duration = Duration::from_secs(5);
/// Changes that come together are shown together.
const GATHER: Duration = Duration::from_millis(200);
/// Clears the terminal and begins at its top.
const CLEAR: &str = "\x1b[2J\x1b[H";

/// Shows the table until Ctrl-C; goes on when the host is away for a while.
pub(crate) async fn watch(client: &Client) -> ExitCode {
    tokio::select! {
        _ = ctrl_c() => {}
        () = show(client) => {}
    }
    println!();
    ExitCode::SUCCESS
}

async fn show(client: &Client) {
    let mut shown: Option<(String, Instant)> = None;
    loop {
        let mut events = client.stream("/events").await.ok();
        loop {
            match fetch(client).await {
                Ok(targets) => {
                    let table = render(&targets);
                    println!("{CLEAR}{table}\nCtrl-C ends");
                    shown = Some((table, Instant::now()));
                }
                Err(message) => {
                    let (table, since) = match &shown {
                        Some((table, at)) => (table.as_str(), at.elapsed().as_secs()),
                        None => ("", 0),
                    };
                    println!("{CLEAR}{table}\nNot known for {since} s: {message}");
                    sleep(TICK).await;
                    break;
                }
            }
            let Some(stream) = &mut events else {
                sleep(TICK).await;
                break;
            };
            match timeout(TICK, stream.chunk()).await {
                Ok(Ok(Some(_))) => sleep(GATHER).await,
                Ok(_) => break,
                Err(_) => {}
            }
        }
    }
}
