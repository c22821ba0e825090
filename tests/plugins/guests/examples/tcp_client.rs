//! Connects by the standard library, as ordinary client libraries do. What it does then is said by
//! its config; it reports the bytes that came as `bytes` and the connections it had as `open`.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use probehost_sdk::{Address, ConfigError, Endpoint, Plan, Probe, Problem, Reason, Run, Unit, log};

#[probehost_sdk::config]
struct Config {
    /// A name or an address.
    host: String,
    /// Its port.
    port: u16,
    /// What to do.
    #[serde(default)]
    act: Act,
}

#[probehost_sdk::config]
#[derive(Default)]
#[serde(rename_all = "kebab-case")]
enum Act {
    /// Sends a request and reads all of the answer.
    #[default]
    Get,
    /// Reads without a request, a word at a time.
    Sip,
    /// Sends without end.
    Pour,
    /// Sleeps.
    Sleep,
    /// Computes.
    Spin,
    /// Connects again and again, and keeps all connections.
    Hoard,
    /// Listens instead of connecting.
    Listen,
    /// Takes a socket for datagrams instead.
    Datagram,
    /// Connects while it plans, and says in the subject whether it could.
    Plan,
}

struct Fixture;

impl Probe for Fixture {
    type Config = Config;
    const DESCRIPTION: &'static str = "Connects by the standard library.";

    fn plan(config: &Config) -> Result<Plan, ConfigError> {
        let Config { host, port, act } = config;
        let subject = match act {
            Act::Plan => {
                format!("connected: {}", TcpStream::connect((host.as_str(), *port)).is_ok())
            }
            _ => format!("{host}:{port}"),
        };
        let address = Address { host: host.clone(), port: *port };
        Ok(Plan { subject, endpoints: vec![Endpoint::Tcp(address)] })
    }

    fn check(config: &Config, run: &mut Run) -> Result<(), Problem> {
        act(config, run).map_err(|error| {
            log::info(&format!("{:?}: {error}", error.kind()));
            Problem::failure(Reason::Network, error.to_string())
        })
    }
}

fn act(config: &Config, run: &mut Run) -> io::Result<()> {
    let connect = || TcpStream::connect((config.host.as_str(), config.port));
    match config.act {
        Act::Listen => return TcpListener::bind(("127.0.0.1", 0))?.accept().map(drop),
        Act::Datagram => return UdpSocket::bind(("127.0.0.1", 0)).map(drop),
        _ => {}
    }
    let mut stream = connect()?;
    let mut bytes = Vec::new();
    match config.act {
        Act::Get => {
            log::info(&format!("{}", stream.peer_addr()?));
            stream.write_all(b"GET / HTTP/1.0\r\n\r\n")?;
            stream.read_to_end(&mut bytes)?;
        }
        Act::Sip => {
            let mut word = [0; 4];
            while stream.read(&mut word)? > 0 {
                bytes.push(0);
            }
        }
        Act::Pour => loop {
            stream.write_all(&[b'x'; 4096])?;
        },
        Act::Sleep => std::thread::sleep(Duration::from_secs(3600)),
        Act::Spin => {
            while std::hint::black_box(&stream).peer_addr().is_ok() {
                std::hint::black_box((0..100_000_u64).map(std::hint::black_box).sum::<u64>());
            }
        }
        Act::Hoard => {
            let mut open = vec![stream];
            while let Ok(more) = connect() {
                open.push(more);
            }
            run.measure("open", Unit::Number, open.len() as f64);
        }
        Act::Listen | Act::Datagram | Act::Plan => {}
    }
    run.measure("bytes", Unit::Bytes, bytes.len() as f64);
    Ok(())
}

probehost_sdk::plugin!(Fixture);
