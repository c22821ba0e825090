//! What `GET /metrics` tells of managed targets (contract E3).

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use probehost_healer::Instance;
use probehost_model::lifecycle::{LifecycleState, is_poolable};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Of {
    target: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfState {
    target: String,
    state: &'static str,
}

/// The states and restarts of these targets.
pub(super) fn of_instances(instances: &[Arc<Instance>]) -> Registry {
    let state = Family::<OfState, Gauge>::default();
    let poolable = Family::<Of, Gauge>::default();
    let failures = Family::<Of, Gauge>::default();
    let restarts = Family::<Of, Counter<u64, AtomicU64>>::default();
    for instance in instances {
        let record = &instance.record;
        let of = || Of { target: instance.target.clone() };
        for each in LifecycleState::ALL {
            let labels = OfState { target: instance.target.clone(), state: each.as_str() };
            state.get_or_create(&labels).set(i64::from(each == record.state));
        }
        let may = instance.enabled && is_poolable(record);
        poolable.get_or_create(&of()).set(i64::from(may));
        failures.get_or_create(&of()).set(i64::from(record.failures));
        restarts.get_or_create(&of()).inc_by(record.restarts);
    }
    let mut registry = Registry::with_prefix("probehost_instance");
    registry.register(
        "state",
        "1 for the lifecycle state that the managed target has, 0 for the others",
        state,
    );
    registry.register("poolable", "1 where routers may send the target work", poolable);
    registry.register("restart_failures", "Restarts in a row that did not hold", failures);
    registry.register("restarts", "Restarts that were issued, ever", restarts);
    registry
}
