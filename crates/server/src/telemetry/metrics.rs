//! Counters of the server itself, in the text format that Prometheus reads (OpenMetrics).

use std::sync::atomic::AtomicU64;

use axum::http::Method;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::models::ModelFigures;
use super::proxy::ProxyFigures;

/// Seconds: from a key that is in memory to a check of the whole folder.
const BUCKETS: [f64; 14] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 10.0, 60.0];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Answered {
    method: &'static str,
    /// As in the OpenAPI document, so that names of collections and keys make no new series.
    route: String,
    status: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Route {
    method: &'static str,
    route: String,
}

/// The counters of a running server.
///
/// **Invariant:** no label is text that a client wrote: a series is kept for good, and any client could create any
/// number of them.
pub struct Metrics {
    registry: Registry,
    requests: Family<Answered, Counter>,
    seconds: Family<Route, Histogram, fn() -> Histogram>,
    refused: Counter,
    under_way: Gauge,
    connections: Gauge,
    accepted: Counter<u64, AtomicU64>,
    /// Of the caching proxy, where there is one.
    pub proxy: ProxyFigures,
    /// Those whose names are not ours.
    conventional: Registry,
    /// The proxy's requests to providers.
    pub models: ModelFigures,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("nuthatch");
        let histogram: fn() -> Histogram = || Histogram::new(BUCKETS);
        let metrics = Self {
            requests: Family::default(),
            seconds: Family::new_with_constructor(histogram),
            refused: Counter::default(),
            under_way: Gauge::default(),
            connections: Gauge::default(),
            accepted: Counter::default(),
            proxy: ProxyFigures::default(),
            conventional: Registry::default(),
            models: ModelFigures::default(),
            registry: Registry::default(),
        };
        registry.register("http_requests", "Requests answered", metrics.requests.clone());
        registry.register_with_unit(
            "http_request",
            "Time until an answer began",
            Unit::Seconds,
            metrics.seconds.clone(),
        );
        registry.register(
            "http_requests_refused",
            "Requests refused because too many were under way",
            metrics.refused.clone(),
        );
        registry.register("http_requests_under_way", "Requests under way", metrics.under_way.clone());
        registry.register("http_connections", "Open connections", metrics.connections.clone());
        registry.register("http_connections_accepted", "Connections accepted", metrics.accepted.clone());
        metrics.proxy.register(&mut registry);
        let mut conventional = Registry::default();
        metrics.models.register(&mut conventional);
        Self { registry, conventional, ..metrics }
    }
}

/// A connection that is counted as long as this lives.
pub struct Connected(Gauge);

impl Metrics {
    /// `route`: as the server's own list of addresses writes it.
    pub fn answered(&self, method: &Method, route: &str, status: u16, seconds: f64) {
        let (method, route) = (name_of(method), route.to_string());
        self.requests.get_or_create(&Answered { method, route: route.clone(), status }).inc();
        self.seconds.get_or_create(&Route { method, route }).observe(seconds);
    }

    pub fn refused(&self) {
        self.refused.inc();
    }

    pub fn under_way(&self, requests: usize) {
        self.under_way.set(requests as i64);
    }

    pub fn connected(&self) -> Connected {
        self.accepted.inc();
        self.connections.inc();
        Connected(self.connections.clone())
    }

    /// Everything, and what `more` registers.
    pub fn encode(&self, more: &Registry) -> String {
        let mut text = String::new();
        encode_registry(&mut text, &self.registry)
            .and_then(|()| encode_registry(&mut text, &self.conventional))
            .and_then(|()| encode_registry(&mut text, more))
            .and_then(|()| encode_eof(&mut text))
            .expect("writing to a string does not fail");
        text
    }
}

/// A method of HTTP by its name; all that HTTP does not have are one.
fn name_of(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_is_written_in_the_text_format() {
        let metrics = Metrics::default();
        metrics.answered(&Method::GET, "/v1/collections", 200, 0.002);
        let connected = metrics.connected();
        let text = metrics.encode(&Registry::default());
        let series = "nuthatch_http_requests_total{method=\"GET\",route=\"/v1/collections\",status=\"200\"} 1";
        assert!(text.contains(series), "{text}");
        assert!(text.contains("nuthatch_http_request_seconds_bucket{le=\"0.0025\",method=\"GET\""), "{text}");
        assert!(text.contains("nuthatch_http_connections 1\n") && text.ends_with("# EOF\n"), "{text}");
        drop(connected);
        assert!(metrics.encode(&Registry::default()).contains("nuthatch_http_connections 0\n"));
    }

    #[test]
    fn methods_that_http_does_not_have_are_one_series() {
        let metrics = Metrics::default();
        for name in ["FOO1", "FOO2", "CONNECT", "get"] {
            metrics.answered(&Method::from_bytes(name.as_bytes()).unwrap(), "unmatched", 405, 0.001);
        }
        let text = metrics.encode(&Registry::default());
        let counted: Vec<&str> =
            text.lines().filter(|line| line.starts_with("nuthatch_http_requests_total{")).collect();
        assert_eq!(counted, ["nuthatch_http_requests_total{method=\"other\",route=\"unmatched\",status=\"405\"} 4"]);
        assert!(!text.contains("FOO"), "{text}");
    }
}
