//! One run of a check: what the host says about it, and what was measured.

use std::time::Duration;

use crate::bindings::probehost::plugin::types::{Context, Measurement, Unit};
use crate::{http, ssh, tcp};

/// One run of a check.
#[derive(Debug)]
pub struct Run {
    context: Context,
    measurements: Vec<Measurement>,
}

impl Run {
    pub(crate) fn new(context: Context) -> Self {
        Self { context, measurements: Vec::new() }
    }

    pub(crate) fn into_measurements(self) -> Vec<Measurement> {
        self.measurements
    }

    /// The id of the target.
    #[must_use]
    pub fn target(&self) -> &str {
        &self.context.target
    }

    /// The name of the check.
    #[must_use]
    pub fn check(&self) -> &str {
        &self.context.check
    }

    /// The time that was left until the deadline when the run began.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.context.timeout_ms.into())
    }

    /// Reports one number. The name is of lower-case words joined by underscores
    /// (`first_byte`), the value is finite; a report holds at most 64.
    pub fn measure(&mut self, name: impl Into<String>, unit: Unit, value: f64) {
        self.measurements.push(Measurement { name: name.into(), unit, value });
    }

    /// Reports what an HTTP call measured, and hands its result on:
    /// `status` (0 when there was no answer), `dns`, `connect`, `tls` and `first_byte` as far
    /// as it got, `total` (all in seconds), and `certificate_days`, the days until the
    /// server's certificate expires.
    ///
    /// # Errors
    ///
    /// The error that it was given.
    pub fn record(
        &mut self,
        result: Result<http::Response, http::Error>,
    ) -> Result<http::Response, http::Error> {
        let (status, timings, certificate) = match &result {
            Ok(response) => (response.status, &response.timings, response.certificate.as_ref()),
            Err(error) => (0, &error.timings, error.certificate.as_deref()),
        };
        self.measurements.reserve(7);
        self.measure("status", Unit::Number, status.into());
        let phases = [
            ("dns", timings.dns),
            ("connect", timings.connect),
            ("tls", timings.tls),
            ("first_byte", timings.first_byte),
            ("total", Some(timings.total)),
        ];
        for (name, seconds) in phases {
            if let Some(seconds) = seconds {
                self.measure(name, Unit::Seconds, seconds);
            }
        }
        if let Some(certificate) = certificate {
            self.measure("certificate_days", Unit::Days, certificate.days_left);
        }
        result
    }

    /// Reports how long a connection took to open, and hands it on: `dns` and `connect` as far as it
    /// got, in seconds.
    ///
    /// # Errors
    ///
    /// The error that it was given.
    pub fn record_tcp(
        &mut self,
        result: Result<tcp::Connection, tcp::Error>,
    ) -> Result<tcp::Connection, tcp::Error> {
        let timings = match &result {
            Ok(connection) => connection.timings(),
            Err(error) => error.timings,
        };
        for (name, seconds) in [("dns", timings.dns), ("connect", timings.connect)] {
            if let Some(seconds) = seconds {
                self.measure(name, Unit::Seconds, seconds);
            }
        }
        result
    }

    /// Reports what the TLS handshake of a connection measured: `tls`, in seconds, and
    /// `certificate_days`, the days until the server's certificate expires, whether it is good or was
    /// refused.
    ///
    /// # Errors
    ///
    /// The error that it was given.
    pub fn record_tls(
        &mut self,
        connection: &tcp::Connection,
        result: Result<(), tcp::Error>,
    ) -> Result<(), tcp::Error> {
        let (seconds, certificate) = match &result {
            Ok(()) => (connection.timings().tls, connection.certificate()),
            Err(error) => (error.timings.tls, error.certificate.as_deref().cloned()),
        };
        if let Some(seconds) = seconds {
            self.measure("tls", Unit::Seconds, seconds);
        }
        if let Some(certificate) = certificate {
            self.measure("certificate_days", Unit::Days, certificate.days_left);
        }
        result
    }

    /// Reports what an SSH handshake measured, and hands its result on: `dns`, `connect`, `jump`,
    /// `handshake` and `login` as far as it got, and `total`, all in seconds.
    ///
    /// # Errors
    ///
    /// The error that it was given.
    pub fn record_ssh(
        &mut self,
        result: Result<ssh::Report, ssh::Error>,
    ) -> Result<ssh::Report, ssh::Error> {
        let timings = match &result {
            Ok(report) => &report.timings,
            Err(error) => &error.timings,
        };
        let phases = [
            ("dns", timings.dns),
            ("connect", timings.connect),
            ("jump", timings.jump),
            ("handshake", timings.handshake),
            ("login", timings.login),
            ("total", Some(timings.total)),
        ];
        for (name, seconds) in phases {
            if let Some(seconds) = seconds {
                self.measure(name, Unit::Seconds, seconds);
            }
        }
        result
    }
}
