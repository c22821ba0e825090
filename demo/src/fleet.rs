//! The running fleet.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::{Duration, Instant};

use probehost_test_support::certs::{Ca, CertError};
use probehost_test_support::upstream::{
    ClosedPort, Response, Script, Setup, Upstream, UpstreamError,
};

use crate::roster::{Behaviour, DOWN_SECONDS, ELSEWHERE, HANDSHAKE_SECONDS, UP_SECONDS, placed};

/// Why the fleet did not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FleetError {
    /// A port is taken.
    #[error(
        "{source}\nThe fleet needs the ports {first} to {last} on 127.0.0.1. End what uses them (perhaps another \
         demo-fleet), or choose others with --base-port."
    )]
    Start {
        /// The first port of the range.
        first: u16,
        /// The last one.
        last: u16,
        /// Which one failed, and why.
        source: UpstreamError,
    },
    /// A certificate could not be made.
    #[error(transparent)]
    Certificate(#[from] CertError),
}

/// Every upstream of the fleet. Dropping it ends them all.
#[derive(Debug)]
pub(crate) struct Fleet {
    ca: Ca,
    _members: Vec<Running>,
}

/// What keeps one port as it is.
#[derive(Debug)]
enum Running {
    Upstream(#[expect(dead_code, reason = "held for its drop")] Upstream),
    Closed(#[expect(dead_code, reason = "held for its drop")] ClosedPort),
}

impl Fleet {
    /// Starts every member, from this port on.
    pub(crate) fn start(base_port: u16) -> Result<Self, FleetError> {
        let ca = Ca::new()?;
        let mut members = Vec::new();
        let last = placed(base_port).last().map_or(base_port, |(_, port)| port);
        for (member, port) in placed(base_port) {
            let running =
                start(member.behaviour, SocketAddrV4::new(Ipv4Addr::LOCALHOST, port), &ca)?;
            members.push(running.map_err(|source| FleetError::Start {
                first: base_port,
                last,
                source,
            })?);
        }
        Ok(Self { ca, _members: members })
    }

    /// The certificate of the authority that signed the fleet's certificates.
    pub(crate) fn ca_pem(&self) -> String {
        self.ca.pem()
    }
}

fn start(
    behaviour: Behaviour,
    address: SocketAddrV4,
    ca: &Ca,
) -> Result<Result<Running, UpstreamError>, CertError> {
    let setup = match behaviour {
        Behaviour::Refused => return Ok(ClosedPort::reserve_at(address).map(Running::Closed)),
        Behaviour::Healthy => Setup::http(|_| Response::new(200)),
        Behaviour::NoHead => Setup::http(|request| match request.method.as_str() {
            "HEAD" => Response::new(405).header("allow", "GET"),
            _ => Response::new(200),
        }),
        Behaviour::Missing => Setup::http(|_| Response::new(404)),
        Behaviour::Recovering => {
            let begun = Instant::now();
            Setup::http(move |_| Response::new(recovering_status(begun.elapsed())))
        }
        Behaviour::Hanging => Setup::script(Script::hang()),
        Behaviour::SlowTls => Setup::http(|_| Response::new(200))
            .tls(ca.good()?.server_config()?)
            .handshake_delay(Duration::from_secs(HANDSHAKE_SECONDS)),
        Behaviour::Expired => {
            Setup::http(|_| Response::new(200)).tls(ca.expired()?.server_config()?)
        }
        Behaviour::Astray => Setup::http(|_| Response::redirect(302, ELSEWHERE)),
    };
    Ok(setup.start_at(address.into()).map(Running::Upstream))
}

/// The recovering member's status this long after its start.
fn recovering_status(running: Duration) -> u16 {
    if running.as_secs() % (DOWN_SECONDS + UP_SECONDS) < DOWN_SECONDS { 503 } else { 200 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recovering_member_goes_down_and_up() {
        let rows = [(0, 503), (39, 503), (40, 200), (99, 200), (100, 503), (139, 503), (140, 200)];
        for (second, status) in rows {
            assert_eq!(recovering_status(Duration::from_secs(second)), status, "second {second}");
        }
    }
}
