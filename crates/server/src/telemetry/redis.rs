//! The Redis listener's counts as metrics, taken at each scrape.

use std::fmt;
use std::sync::atomic::AtomicU64;

use nuthatch_resp::{Counts, TIMES_UP_TO, Times};
use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

type Labels = [(&'static str, String); 1];
type Counters = Family<Labels, Counter<u64, AtomicU64>>;

/// Adds them. The label of a command is its name in small letters, or `other`: names that clients make up make no new series.
pub fn register_redis(registry: &mut Registry, counts: &Counts) {
    let (sent, failed) = (Counters::default(), Counters::default());
    for told in counts.commands() {
        let labels = [("command", told.command.to_lowercase())];
        sent.get_or_create(&labels).inc_by(told.sent);
        failed.get_or_create(&labels).inc_by(told.failed);
    }
    registry.register("redis_commands", "Commands of Redis clients", sent);
    registry.register("redis_commands_failed", "Commands of Redis clients answered with an error", failed);
    registry.register_with_unit(
        "redis_command",
        "Time until the replies to a pipeline were written, for each of its commands",
        Unit::Seconds,
        Ranges(counts.times()),
    );
    let open: Gauge = Gauge::default();
    open.set(i64::try_from(counts.connected()).unwrap_or(i64::MAX));
    registry.register("redis_connections", "Open connections of Redis clients", open);
    for (name, help, value) in [
        ("redis_connections_accepted", "Connections of Redis clients accepted", counts.accepted()),
        ("redis_connections_refused", "Connections of Redis clients that were too many", counts.refused()),
        ("redis_authentications_failed", "Times that a Redis client gave a wrong password", counts.logins_failed()),
    ] {
        let counter: Counter<u64, AtomicU64> = Counter::default();
        counter.inc_by(value);
        registry.register(name, help, counter);
    }
}

/// Times as a histogram that was counted elsewhere.
#[derive(Debug)]
struct Ranges(Times);

impl EncodeMetric for Ranges {
    fn encode(&self, mut encoder: MetricEncoder) -> Result<(), fmt::Error> {
        let ends = TIMES_UP_TO.into_iter().chain([f64::INFINITY]);
        let ranges: Vec<(f64, u64)> = ends.zip(self.0.counts).collect();
        let count = self.0.counts.iter().sum();
        encoder.encode_histogram::<NoLabelSet>(self.0.seconds, count, &ranges, None)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}
