//! From the contract's types to the product's, with everything checked that a plugin could get wrong.

use probehost_model::{
    Endpoint, IntervalBounds, Measurement, Origin, Outcome, Plan, Reason, Scheme, Unit, sanitize,
};

use super::bindings::probehost::plugin::types as wit;
use crate::fault::Fault;
use crate::manifest::Raw;
use crate::plugin::PlanError;

/// Most endpoints of a plan.
const MAX_ENDPOINTS: usize = 64;

/// Longest host name, container or command in a plan, in bytes.
const MAX_HOST: usize = 255;

/// Most measurements of a report.
const MAX_MEASUREMENTS: usize = 64;

/// Longest name of a measurement, in bytes.
const MAX_MEASUREMENT_NAME: usize = 64;

pub(crate) fn manifest(manifest: wit::Manifest) -> Raw {
    Raw {
        name: manifest.name,
        version: manifest.version,
        description: manifest.description,
        config_schema: manifest.config_schema,
        interval: IntervalBounds {
            default: manifest.interval.default,
            minimum: manifest.interval.minimum,
            maximum: manifest.interval.maximum,
        },
        timeout_ms: manifest.timeout_ms,
        threshold: manifest.threshold,
        concurrency: manifest.concurrency,
    }
}

/// What is wrong with a check's config, in the plugin's words.
pub(crate) fn config_error(error: &wit::ConfigError) -> PlanError {
    PlanError::Config { path: sanitize(&error.path), message: sanitize(&error.message) }
}

/// A plan, when there is nothing in it that could not be granted.
pub(crate) fn plan(plan: wit::Plan, limit: usize) -> Result<Plan, Fault> {
    let size = plan.subject.len() + plan.endpoints.iter().map(text_size).sum::<usize>();
    if size > limit {
        return Err(Fault::Output { limit });
    }
    let broken = |what: String| Fault::Broken(format!("its plan {what}"));
    if plan.endpoints.len() > MAX_ENDPOINTS {
        let count = plan.endpoints.len();
        return Err(broken(format!(
            "names {count} endpoints; at most {MAX_ENDPOINTS} are allowed"
        )));
    }
    let subject = sanitize(plan.subject.trim());
    if subject.is_empty() {
        return Err(broken("names no subject".into()));
    }
    let endpoints =
        plan.endpoints.into_iter().map(endpoint).collect::<Result<_, _>>().map_err(broken)?;
    Ok(Plan { subject, endpoints })
}

fn text_size(endpoint: &wit::Endpoint) -> usize {
    match endpoint {
        wit::Endpoint::Http(origin) => origin.host.len(),
        wit::Endpoint::Tcp(address) | wit::Endpoint::Udp(address) | wit::Endpoint::Ssh(address) => {
            address.host.len()
        }
        wit::Endpoint::Container(name)
        | wit::Endpoint::Process(name)
        | wit::Endpoint::Dns(name) => name.len(),
    }
}

fn endpoint(endpoint: wit::Endpoint) -> Result<Endpoint, String> {
    Ok(match endpoint {
        wit::Endpoint::Http(origin) => Endpoint::Http(Origin {
            scheme: match origin.scheme {
                wit::Scheme::Http => Scheme::Http,
                wit::Scheme::Https => Scheme::Https,
            },
            host: host(&origin.host)?,
            port: port(origin.port)?,
        }),
        wit::Endpoint::Tcp(to) => Endpoint::Tcp { host: host(&to.host)?, port: port(to.port)? },
        wit::Endpoint::Udp(to) => Endpoint::Udp { host: host(&to.host)?, port: port(to.port)? },
        wit::Endpoint::Ssh(to) => Endpoint::Ssh { host: host(&to.host)?, port: port(to.port)? },
        wit::Endpoint::Container(text) => Endpoint::Container(name(text)?),
        wit::Endpoint::Process(text) => Endpoint::Process(name(text)?),
        wit::Endpoint::Dns(text) => Endpoint::Dns(host(&text)?),
    })
}

fn port(port: u16) -> Result<u16, String> {
    if port == 0 { Err("names port 0".into()) } else { Ok(port) }
}

/// A host name in lower case, or an address without brackets.
fn host(text: &str) -> Result<String, String> {
    if text.contains(['[', ']', '/', '@', '?', '#', '*']) {
        return Err(format!(
            "names the host {:?}; give a name or an address alone",
            sanitize(text)
        ));
    }
    name(text.to_ascii_lowercase())
}

fn name(text: String) -> Result<String, String> {
    let odd = |c: char| c.is_whitespace() || c.is_control();
    if text.is_empty() || text.len() > MAX_HOST || text.contains(odd) {
        return Err(format!(
            "names {:?}; give 1 to {MAX_HOST} bytes without spaces or control characters",
            sanitize(&text)
        ));
    }
    Ok(text)
}

/// A report, and what of it had to be left out.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) outcome: Outcome,
    pub(crate) measurements: Vec<Measurement>,
    /// For the log of the run; empty when all is well.
    pub(crate) warnings: Vec<String>,
}

pub(crate) fn report(report: wit::Report, limit: usize) -> Result<Report, Fault> {
    let text = match &report.outcome {
        wit::Outcome::Pass => 0,
        wit::Outcome::Fail(failure) => failure.message.len(),
        wit::Outcome::Inconclusive(why) => why.len(),
    };
    // A name, a unit and a value take this much at least, so that many empty ones count too.
    let names = report.measurements.iter().map(|m| m.name.len() + 16).sum::<usize>();
    if text + names > limit {
        return Err(Fault::Output { limit });
    }
    let mut warnings = Vec::new();
    let mut measurements = Vec::with_capacity(report.measurements.len().min(MAX_MEASUREMENTS));
    for given in report.measurements {
        match measurement(given) {
            Ok(_) if measurements.len() == MAX_MEASUREMENTS => {
                warnings.push(format!("measurements over {MAX_MEASUREMENTS} were left out"));
                break;
            }
            Ok(twice) if measurements.iter().any(|m: &Measurement| m.name == twice.name) => {
                warnings
                    .push(format!("measurement {} was given twice; the first counts", twice.name));
            }
            Ok(good) => measurements.push(good),
            Err(why) => warnings.push(why),
        }
    }
    let outcome = match report.outcome {
        wit::Outcome::Pass => Outcome::Pass,
        wit::Outcome::Fail(failure) => Outcome::fail(reason(failure.reason), &failure.message),
        wit::Outcome::Inconclusive(why) => Outcome::inconclusive(&why),
    };
    Ok(Report { outcome, measurements, warnings })
}

fn measurement(given: wit::Measurement) -> Result<Measurement, String> {
    let words = |name: &str| {
        name.len() <= MAX_MEASUREMENT_NAME
            && name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.split('_').all(|word| {
                !word.is_empty()
                    && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
            })
    };
    if !words(&given.name) {
        return Err(format!(
            "measurement {:?} was left out: a name is lower-case words joined by underscores, at most {MAX_MEASUREMENT_NAME} bytes",
            sanitize(&given.name)
        ));
    }
    if !given.value.is_finite() {
        return Err(format!(
            "measurement {} was left out: {} is no number",
            given.name, given.value
        ));
    }
    let unit = match given.unit {
        wit::Unit::Number => Unit::Number,
        wit::Unit::Seconds => Unit::Seconds,
        wit::Unit::Bytes => Unit::Bytes,
        wit::Unit::Days => Unit::Days,
        wit::Unit::Ratio => Unit::Ratio,
    };
    Ok(Measurement { name: given.name, unit, value: given.value })
}

fn reason(reason: wit::Reason) -> Reason {
    match reason {
        wit::Reason::Config => Reason::Config,
        wit::Reason::Timeout => Reason::Timeout,
        wit::Reason::HostKey => Reason::HostKey,
        wit::Reason::Tls => Reason::Tls,
        wit::Reason::Auth => Reason::Auth,
        wit::Reason::Network => Reason::Network,
        wit::Reason::Answer => Reason::Answer,
        wit::Reason::Stopped => Reason::Stopped,
        wit::Reason::Oom => Reason::Oom,
        wit::Reason::Unknown => Reason::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn http(host: &str, port: u16) -> wit::Endpoint {
        wit::Endpoint::Http(wit::Origin { scheme: wit::Scheme::Https, host: host.into(), port })
    }

    fn planned(subject: &str, endpoints: Vec<wit::Endpoint>) -> Result<Plan, Fault> {
        plan(wit::Plan { subject: subject.into(), endpoints }, 64 << 10)
    }

    /// P2, G2: a plan that could be granted comes through, with hosts in lower case.
    #[test]
    fn good_plans_come_through() {
        let tcp = wit::Endpoint::Tcp(wit::Address { host: "::1".into(), port: 22 });
        let udp = wit::Endpoint::Udp(wit::Address { host: "NS1".into(), port: 53 });
        let planned = planned(" Web ", vec![http("Example.COM", 443), tcp, udp]).unwrap();
        assert_eq!(planned.subject, "Web");
        let shown: Vec<_> = planned.endpoints.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["https://example.com:443", "tcp://[::1]:22", "udp://ns1:53"]);
        assert!(self::planned("x", vec![http("a", 1); MAX_ENDPOINTS]).is_ok());
    }

    /// P2, G4: what no grant could be for is the plugin's fault, and the text says what.
    #[test]
    fn bad_plans_are_refused() {
        let long = "a".repeat(MAX_HOST + 1);
        for (subject, endpoints, words) in [
            ("", vec![], "names no subject"),
            ("x", vec![http("a", 0)], "names port 0"),
            ("x", vec![http("", 80)], "names \"\""),
            ("x", vec![http("[::1]", 80)], "a name or an address alone"),
            ("x", vec![http("a b", 80)], "without spaces"),
            ("x", vec![http("user@a", 80)], "a name or an address alone"),
            ("x", vec![http("*.a", 80)], "a name or an address alone"),
            ("x", vec![http(&long, 80)], "give 1 to 255 bytes"),
            ("x", vec![wit::Endpoint::Container("a\n".into())], "without spaces"),
            ("x", vec![http("a", 80); MAX_ENDPOINTS + 1], "names 65 endpoints"),
        ] {
            let fault = planned(subject, endpoints).unwrap_err();
            assert!(matches!(&fault, Fault::Broken(text) if text.contains(words)), "{fault}");
        }
        let large = vec![http(&"a".repeat(60_000), 80), http(&"a".repeat(60_000), 80)];
        assert_eq!(planned("x", large), Err(Fault::Output { limit: 64 << 10 }));
    }

    /// P8: what a plugin says is made fit for people.
    #[test]
    fn texts_are_made_fit_for_people() {
        let failure = wit::Failure { reason: wit::Reason::Tls, message: "a\u{1b}[31m\n".into() };
        let told = wit::Report { outcome: wit::Outcome::Fail(failure), measurements: vec![] };
        let told = report(told, 1024).unwrap();
        assert_eq!(told.outcome, Outcome::fail(Reason::Tls, "a\u{1b}[31m\n"));
        let error = wit::ConfigError { path: "a\nb".into(), message: "no\r".into() };
        assert_eq!(config_error(&error).to_string(), "a\\nb: no\\r");
    }
}
