//! Asks a name server for the addresses of a name and sends a datagram, as its config says, and
//! reports how many addresses there were as `addresses` and the size of the reply as `reply`. It logs
//! the response code and the addresses.

use probehost_sdk::dns::{self, RecordType};
use probehost_sdk::udp::Datagram;
use probehost_sdk::{Address, ConfigError, Endpoint, Plan, Probe, Problem, Run, Unit, log};

#[probehost_sdk::config]
struct Config {
    /// The name to ask for.
    name: String,
    /// Where the name server and the one for datagrams are.
    host: String,
    /// The port of the name server.
    dns: u16,
    /// The port of the one for datagrams.
    udp: u16,
    /// What to send.
    text: String,
}

impl Config {
    fn server(&self) -> Address {
        Address { host: self.host.clone(), port: self.dns }
    }
}

struct Fixture;

impl Probe for Fixture {
    type Config = Config;
    const DESCRIPTION: &'static str = "Asks a name server and sends a datagram.";

    fn plan(config: &Config) -> Result<Plan, ConfigError> {
        let mut plan = Plan::dns(&config.name, Some(&config.server()));
        plan.endpoints.push(Endpoint::Udp(Address { host: config.host.clone(), port: config.udp }));
        Ok(plan)
    }

    fn check(config: &Config, run: &mut Run) -> Result<(), Problem> {
        let answer = dns::query(&config.name, RecordType::A, Some(&config.server()))?;
        log::info(&answer.code.to_string());
        for address in answer.data(RecordType::A) {
            log::info(address);
        }
        let addresses = answer.data(RecordType::A).count();
        run.measure("addresses", Unit::Number, addresses as f64);
        let reply = Datagram::new(&config.host, config.udp, config.text.as_str()).exchange()?;
        run.measure("reply", Unit::Bytes, reply.payload.len() as f64);
        Ok(())
    }
}

probehost_sdk::plugin!(Fixture);
