//! The layers of a target: its container, the way to it, and what it answers. What one probe
//! says of each.

use std::time::Duration;

use crate::words::words;
use crate::{Measurement, Outcome, Reason, Sample, Timestamp, Unit};

/// Which layer a sample speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// The container engine's word.
    Container,
    /// Whether and how fast it can be reached.
    Transport,
    /// Whether and how fast it answers with sense.
    Application,
}

words!(Layer, "layer", {
    Container => "container",
    Transport => "transport",
    Application => "application",
});

impl Layer {
    /// What a check of a container speaks of.
    pub const OF_CONTAINERS: &'static [Self] = &[Self::Container];
    /// What a check that talks to its target speaks of.
    pub const OF_ANSWERS: &'static [Self] = &[Self::Transport, Self::Application];

    /// Where a failure arises. None: in the check's own config, which says nothing of the target.
    #[must_use]
    pub const fn of(reason: Reason) -> Option<Self> {
        match reason {
            Reason::Config => None,
            Reason::Stopped | Reason::Oom => Some(Self::Container),
            Reason::Timeout | Reason::HostKey | Reason::Tls | Reason::Network => {
                Some(Self::Transport)
            }
            Reason::Auth | Reason::Answer | Reason::Unknown => Some(Self::Application),
        }
    }

    /// The samples of one probe, which ended at `at` and took `took`: one for each of `layers`
    /// that it got to, from the lowest up to the one that failed. A measurement in seconds that
    /// has the layer's word as its name says how long that layer took; else it is all of it.
    #[must_use]
    pub fn samples(
        layers: &[Self],
        at: Timestamp,
        took: Duration,
        outcome: &Outcome,
        measurements: &[Measurement],
    ) -> Vec<(Self, Sample)> {
        let broken = match outcome {
            Outcome::Pass => None,
            Outcome::Fail(failure) => match Self::of(failure.reason) {
                // What a check of another layer says is wrong is wrong with the one it looks at.
                Some(layer) => Some(if layers.contains(&layer) {
                    layer
                } else {
                    layers.first().copied().unwrap_or(layer)
                }),
                None => return Vec::new(),
            },
            Outcome::Inconclusive { .. } => return Vec::new(),
        };
        let reached = layers.iter().filter(|layer| broken.is_none_or(|broken| **layer <= broken));
        reached
            .map(|layer| {
                let measured = measurements.iter().find(|measurement| {
                    measurement.unit == Unit::Seconds && measurement.name == layer.as_str()
                });
                let own = measured.and_then(|m| Duration::try_from_secs_f64(m.value).ok());
                let failed = broken == Some(*layer);
                (*layer, Sample { at, took: own.unwrap_or(took), failed })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Timestamp = Timestamp::from_micros(7);

    fn told(layers: &[Layer], outcome: &Outcome) -> Vec<(&'static str, u128, bool)> {
        let measured = |name: &str, unit, value| Measurement { name: name.into(), unit, value };
        let measurements = [
            measured("transport", Unit::Seconds, 0.002),
            measured("application", Unit::Number, 9.0),
        ];
        let samples = Layer::samples(layers, AT, Duration::from_millis(30), outcome, &measurements);
        let shown = |(layer, sample): (Layer, Sample)| {
            (layer.as_str(), sample.took.as_millis(), sample.failed)
        };
        samples.into_iter().map(shown).collect()
    }

    /// A4: each layer that a probe got to has its sample, with its own time where it was measured.
    #[test]
    fn a_probe_speaks_of_the_layers_that_it_got_to() {
        let fail = |reason| Outcome::fail(reason, "x");
        let answers = |outcome| told(Layer::OF_ANSWERS, &outcome);
        let (transport, application) = (("transport", 2, false), ("application", 30, false));
        assert_eq!(answers(Outcome::Pass), [transport, application]);
        assert_eq!(answers(fail(Reason::Network)), [("transport", 2, true)]);
        assert_eq!(answers(fail(Reason::Answer)), [transport, ("application", 30, true)]);
        assert_eq!(answers(fail(Reason::Config)), []);
        assert_eq!(answers(Outcome::inconclusive("the engine is away")), []);
        assert_eq!(answers(fail(Reason::Stopped)), [("transport", 2, true)], "a command ended");

        let container = |outcome| told(Layer::OF_CONTAINERS, &outcome);
        assert_eq!(container(Outcome::Pass), [("container", 30, false)]);
        for reason in [Reason::Oom, Reason::Stopped, Reason::Unknown] {
            assert_eq!(container(fail(reason)), [("container", 30, true)]);
        }
    }
}
