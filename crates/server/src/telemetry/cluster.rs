//! The cluster state reported by the owner of its data, as metrics.

use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::cluster_state::ClusterState;

/// Adds them.
pub fn register_cluster(registry: &mut Registry, state: &ClusterState) {
    for (name, help, value) in [
        ("cluster_epoch", "The number of this node's ownership", state.epoch),
        ("cluster_slot", "The newest entry of the log", state.slot),
        ("cluster_batches", "Batches that are committed", state.batches),
        ("cluster_standbys", "Nodes that follow and are connected", state.standbys.len() as u64),
        ("cluster_took_over_milliseconds", "From learning that nobody owned the data to answering", state.took_over_ms),
    ] {
        let gauge: Gauge = Gauge::default();
        gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        registry.register(name, help, gauge);
    }
}
