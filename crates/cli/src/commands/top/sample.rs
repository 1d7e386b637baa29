//! One look at a folder or a server, and what happened between two.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use super::exposition::series;

/// The readings at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Sample {
    /// The folder or the address.
    pub source: String,
    /// The process that answers.
    pub holder: String,
    /// Since this program began, by a clock that only goes forward.
    pub at_ms: u64,
    /// Requests by face. `None`: this is a folder, and only servers count them.
    pub faces: Option<Vec<Face>>,
    pub memory: Memory,
    pub disk_bytes: u64,
    pub snapshots: u64,
    pub collections: Vec<Collection>,
    pub caches: Vec<Cache>,
    pub tenants: Vec<Tenant>,
}

/// A protocol, since the server began.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Face {
    /// `http`, `flight`, `mcp` or `redis`.
    pub name: &'static str,
    pub requests: u64,
    pub failed: u64,
    /// Answers by how long they took: the upper end of a range in seconds, and how many were in it.
    #[serde(skip)]
    pub times: Vec<(f64, u64)>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Memory {
    pub budget_bytes: u64,
    /// All memory that the budget covers.
    pub engine_bytes: u64,
    /// The whole process, as the system measures it.
    pub process_bytes: u64,
    /// The largest first; none of them is empty.
    pub parts: Vec<Part>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Part {
    pub name: String,
    pub bytes: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Collection {
    pub name: String,
    pub rows: u64,
    pub vectors: u64,
    /// Records whose vector is still to come.
    pub pending: u64,
    /// Records in no index yet.
    pub fresh_rows: u64,
    pub building: Option<Building>,
    pub degraded: Vec<String>,
}

/// A vector graph that is being built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Building {
    pub done: u64,
    pub total: u64,
    pub rows_per_second: f64,
    pub seconds_left: Option<f64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Cache {
    pub name: String,
    pub entries: u64,
    pub bytes: u64,
    /// Answers given: for their very prompts and for those of the same form, for judged ones, and by meaning.
    pub exact: u64,
    pub alias: u64,
    pub semantic: u64,
    pub misses: u64,
    /// The number of answers by meaning that may be wrong, and the bound on how many are.
    pub allowed: f64,
    pub bound: f64,
}

impl Cache {
    pub fn hits(&self) -> u64 {
        self.exact + self.alias + self.semantic
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Tenant {
    pub name: String,
    pub vectors: u64,
    pub vectors_max: Option<u64>,
    pub bytes: u64,
    pub bytes_max: Option<u64>,
}

/// The parts of memory, by their names in the statistics and on the screen.
const PARTS: [(&str, &str); 13] = [
    ("store_cache_bytes", "store cache"),
    ("store_table_reader_bytes", "store tables"),
    ("block_cache_bytes", "index blocks"),
    ("fresh_bytes", "fresh records"),
    ("answer_bytes", "answers"),
    ("text_index_bytes", "text index"),
    ("segment_bytes", "segments"),
    ("build_bytes", "graph build"),
    ("embedder_bytes", "model"),
    ("heap_other_bytes", "other heap"),
    ("heap_free_bytes", "free heap"),
    ("stack_bytes", "stacks"),
    ("program_bytes", "program, maps"),
];

impl Sample {
    /// `stats`, `caches` and `tenants` are the answers of a server, or the same of a folder: statistics, pairs of a name with
    /// its statistics, and a list.
    pub fn of(stats: &Value, caches: &[(String, Value)], tenants: &Value) -> Self {
        let memory = &stats["memory"];
        let part = |(field, name): &(&str, &str)| Part { name: (*name).to_string(), bytes: number(&memory[*field]) };
        let mut parts: Vec<Part> = PARTS.iter().map(part).filter(|part| part.bytes > 0).collect();
        parts.sort_by_key(|part| std::cmp::Reverse(part.bytes));
        Self {
            memory: Memory {
                budget_bytes: number(&memory["budget_bytes"]),
                engine_bytes: number(&memory["engine_bytes"]),
                process_bytes: number(&memory["process_anonymous_bytes"]) + number(&memory["process_file_bytes"]),
                parts,
            },
            disk_bytes: number(&stats["disk"]["total_bytes"]),
            snapshots: number(&stats["snapshots"]),
            collections: list(&stats["collections"]).map(collection).collect(),
            caches: caches.iter().map(|(name, stats)| cache(name, stats)).collect(),
            tenants: list(tenants).map(tenant).collect(),
            ..Self::default()
        }
    }

    /// With the requests that a server has counted, of its metrics.
    pub fn with_metrics(self, text: &str) -> Self {
        Self { faces: Some(faces(text)), ..self }
    }

    /// With the rates since the sample before it.
    pub fn as_json(&self, rates: Option<&Rates>) -> Value {
        let mut value = serde_json::to_value(self).expect("a sample is JSON");
        let no_rates = Rates::default();
        if let (Some(faces), Some(list)) = (&self.faces, value["faces"].as_array_mut()) {
            for (face, value) in faces.iter().zip(list) {
                let rate = rates.unwrap_or(&no_rates).faces.get(face.name);
                let since_start = rate.is_none().then(|| Quantiles::of(&face.times));
                let took = rate.map(|rate| rate.took).or(since_start).unwrap_or_default();
                value["per_second"] = json!(rate.map(|rate| rate.per_second));
                value["p50_ms"] = json!(took.p50_ms);
                value["p99_ms"] = json!(took.p99_ms);
            }
        }
        value
    }
}

fn collection(value: &Value) -> Collection {
    let building = value["building"].as_object().map(|building| Building {
        done: number(&building["done"]),
        total: number(&building["total"]),
        rows_per_second: building["rows_per_second"].as_f64().unwrap_or_default(),
        seconds_left: building.get("seconds_left").and_then(Value::as_f64),
    });
    Collection {
        name: text(&value["name"]),
        rows: number(&value["rows"]),
        vectors: number(&value["vectors"]),
        pending: number(&value["pending"]),
        fresh_rows: number(&value["fresh_rows"]),
        building,
        degraded: list(&value["degraded"]).map(text).collect(),
    }
}

fn cache(name: &str, stats: &Value) -> Cache {
    let (counts, ledger) = (&stats["counts"], &stats["ledger"]);
    Cache {
        name: name.to_string(),
        entries: number(&stats["entries"]),
        bytes: number(&stats["bytes"]),
        exact: number(&counts["exact"]) + number(&counts["canonical"]),
        alias: number(&counts["alias"]),
        semantic: number(&counts["semantic"]),
        misses: number(&counts["misses"]),
        allowed: ledger["allowed"].as_f64().unwrap_or_default(),
        bound: ledger["bound"].as_f64().unwrap_or_default(),
    }
}

fn tenant(value: &Value) -> Tenant {
    Tenant {
        name: text(&value["name"]),
        vectors: number(&value["vectors"]),
        vectors_max: value["limits"]["vectors"].as_u64(),
        bytes: number(&value["bytes"]),
        bytes_max: value["limits"]["bytes"].as_u64(),
    }
}

/// Requests by face: of HTTP by their route, and of Redis' protocol.
fn faces(text: &str) -> Vec<Face> {
    let mut faces = ["http", "flight", "mcp", "redis"].map(|name| Face { name, ..Face::default() });
    // The ends of the ranges come as text; equal texts are equal ends.
    let mut ranges: [BTreeMap<String, f64>; 4] = Default::default();
    for one in series(text) {
        let at = match one.labels.get("route").map(String::as_str) {
            Some("/mcp") => 2,
            Some(route) if route.contains("arrow.flight") || route.contains("grpc.") => 1,
            Some(_) => 0,
            None if one.name.starts_with("nuthatch_redis_command") => 3,
            None => continue,
        };
        let face = &mut faces[at];
        match one.name {
            "nuthatch_http_requests_total" => {
                face.requests += one.value as u64;
                let is_failure = one.labels.get("status").is_some_and(|status| status.starts_with(['4', '5']));
                face.failed += if is_failure { one.value as u64 } else { 0 };
            }
            "nuthatch_redis_commands_total" => face.requests += one.value as u64,
            "nuthatch_redis_commands_failed_total" => face.failed += one.value as u64,
            "nuthatch_http_request_seconds_bucket" | "nuthatch_redis_command_seconds_bucket" => {
                let up_to = one.labels.get("le").cloned().unwrap_or_default();
                *ranges[at].entry(up_to).or_default() += one.value;
            }
            _ => {}
        }
    }
    for (face, ranges) in faces.iter_mut().zip(&ranges) {
        let end = |text: &str| if text == "+Inf" { f64::INFINITY } else { text.parse().unwrap_or(f64::INFINITY) };
        let mut ends: Vec<(f64, u64)> = ranges.iter().map(|(up_to, count)| (end(up_to), *count as u64)).collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        // They count everything up to their end.
        let mut below = 0;
        for (_, count) in &mut ends {
            (*count, below) = (count.saturating_sub(below), *count);
        }
        face.times = ends;
    }
    faces.into()
}

/// The activity between two samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rates {
    pub faces: BTreeMap<&'static str, Rate>,
    /// Hits and lookups of each cache.
    pub caches: BTreeMap<String, (u64, u64)>,
    pub elapsed: Duration,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rate {
    pub per_second: f64,
    pub took: Quantiles,
}

/// How long answers took; `None`: there were none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Quantiles {
    pub p50_ms: Option<f64>,
    pub p99_ms: Option<f64>,
}

impl Rates {
    pub fn between(before: &Sample, now: &Sample) -> Self {
        let elapsed = Duration::from_millis(now.at_ms.saturating_sub(before.at_ms));
        let seconds = elapsed.as_secs_f64().max(1e-3);
        let mut faces = BTreeMap::new();
        for (old, new) in before.faces.iter().flatten().zip(now.faces.iter().flatten()) {
            let mut times = new.times.clone();
            for ((_, count), (_, old)) in times.iter_mut().zip(&old.times) {
                *count = count.saturating_sub(*old);
            }
            // A server that restarted counts from zero.
            let requests = new.requests.saturating_sub(old.requests);
            let rate = Rate { per_second: requests as f64 / seconds, took: Quantiles::of(&times) };
            faces.insert(new.name, rate);
        }
        let mut caches = BTreeMap::new();
        for cache in &now.caches {
            let old = before.caches.iter().find(|old| old.name == cache.name).cloned().unwrap_or_default();
            let hits = cache.hits().saturating_sub(old.hits());
            caches.insert(cache.name.clone(), (hits, hits + cache.misses.saturating_sub(old.misses)));
        }
        Self { faces, caches, elapsed }
    }
}

impl Quantiles {
    /// Assumes that answers are spread evenly within a range. Answers slower than the last end count as that end.
    pub fn of(times: &[(f64, u64)]) -> Self {
        Self { p50_ms: quantile(times, 0.5), p99_ms: quantile(times, 0.99) }
    }
}

fn quantile(times: &[(f64, u64)], share: f64) -> Option<f64> {
    let total: u64 = times.iter().map(|(_, count)| count).sum();
    if total == 0 {
        return None;
    }
    let wanted = share * total as f64;
    let (mut from, mut seen) = (0.0, 0.0);
    for (up_to, count) in times {
        let count = *count as f64;
        if seen + count >= wanted && count > 0.0 {
            let within = if up_to.is_finite() { from + (up_to - from) * (wanted - seen) / count } else { from };
            return Some(within * 1e3);
        }
        seen += count;
        from = if up_to.is_finite() { *up_to } else { from };
    }
    Some(from * 1e3)
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const METRICS: &str = "\
nuthatch_http_requests_total{method=\"POST\",route=\"/v1/search\",status=\"200\"} 100
nuthatch_http_requests_total{method=\"POST\",route=\"/v1/search\",status=\"404\"} 4
nuthatch_http_requests_total{method=\"POST\",route=\"/mcp\",status=\"200\"} 7
nuthatch_http_request_seconds_bucket{le=\"0.001\",method=\"POST\",route=\"/v1/search\"} 50
nuthatch_http_request_seconds_bucket{le=\"0.0025\",method=\"POST\",route=\"/v1/search\"} 100
nuthatch_http_request_seconds_bucket{le=\"+Inf\",method=\"POST\",route=\"/v1/search\"} 104
nuthatch_redis_commands_total{command=\"get\"} 9
nuthatch_redis_commands_failed_total{command=\"get\"} 1
nuthatch_redis_command_seconds_bucket{le=\"0.1\"} 9
nuthatch_redis_command_seconds_bucket{le=\"+Inf\"} 9
";

    #[test]
    fn requests_are_told_by_face() {
        let faces = faces(METRICS);
        let told: Vec<_> = faces.iter().map(|face| (face.name, face.requests, face.failed)).collect();
        assert_eq!(told, [("http", 104, 4), ("flight", 0, 0), ("mcp", 7, 0), ("redis", 9, 1)]);
        assert_eq!(faces[0].times, [(0.001, 50), (0.0025, 50), (f64::INFINITY, 4)]);
    }

    #[test]
    fn times_are_those_between_two_samples() {
        let before = Sample { at_ms: 1000, ..Sample::default() }.with_metrics(METRICS);
        let later = METRICS
            .replace("} 104", "} 124")
            .replace(
                "0.0025\",method=\"POST\",route=\"/v1/search\"} 100",
                "0.0025\",method=\"POST\",route=\"/v1/search\"} 120",
            )
            .replace("\"200\"} 100", "\"200\"} 120");
        let now = Sample { at_ms: 3000, ..Sample::default() }.with_metrics(&later);
        let rate = Rates::between(&before, &now).faces["http"];
        assert_eq!(rate.per_second, 10.0);
        // All twenty were between 1 and 2.5 ms.
        assert_eq!(rate.took.p50_ms.map(|ms| (ms * 100.0).round() / 100.0), Some(1.75));
        assert!(rate.took.p99_ms.is_some_and(|ms| ms > 2.4 && ms <= 2.5), "{rate:?}");
        assert_eq!(Rates::between(&now, &now).faces["http"].took, Quantiles::default());
    }

    #[test]
    fn a_server_that_began_anew_has_no_negative_rate() {
        let before = Sample { at_ms: 1000, ..Sample::default() }.with_metrics(METRICS);
        let now = Sample { at_ms: 2000, ..Sample::default() }.with_metrics("");
        assert_eq!(Rates::between(&before, &now).faces["http"].per_second, 0.0);
    }

    #[test]
    fn what_took_longer_than_every_range_counts_as_the_last_end() {
        assert_eq!(quantile(&[(1.0, 0), (60.0, 0), (f64::INFINITY, 3)], 0.99), Some(60_000.0));
    }
}
