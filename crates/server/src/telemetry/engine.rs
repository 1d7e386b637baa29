//! The engine's statistics as gauges, taken at each scrape.

use std::sync::atomic::AtomicU64;

use nuthatch_link::{CollectionInfo, Stats};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Collections with series of their own; the largest ones, where there are more.
const COLLECTIONS_MAX: usize = 100;

type Labels = Vec<(&'static str, String)>;
type Gauges = Family<Labels, Gauge<f64, AtomicU64>>;

/// One family of gauges: name, help, and each value with its labels.
struct Told {
    name: &'static str,
    help: &'static str,
    values: Vec<(Labels, f64)>,
}

/// The gauges of these statistics.
pub fn registry_of(stats: &Stats) -> Registry {
    let mut registry = Registry::with_prefix("nuthatch");
    for Told { name, help, values } in told(stats) {
        let gauges = Gauges::default();
        for (labels, value) in values {
            gauges.get_or_create(&labels).set(value);
        }
        registry.register(name, help, gauges);
    }
    registry
}

fn told(stats: &Stats) -> Vec<Told> {
    let part = |name: &str, bytes: u64| (vec![("part", name.to_string())], bytes as f64);
    let (disk, memory) = (&stats.disk, &stats.memory);
    let mut told = vec![
        Told {
            name: "disk_bytes",
            help: "Bytes of the data folder, by part",
            values: vec![
                part("store", disk.store_bytes),
                // Its deprecated name. The parts of memory have none: they are summed, and would count twice.
                part("truth", disk.store_bytes),
                part("indexes", disk.indexes_bytes),
                part("quarantine", disk.quarantine_bytes),
                part("total", disk.total_bytes),
            ],
        },
        Told {
            name: "memory_bytes",
            help: "Resident bytes, by part",
            values: vec![
                part("store_cache", memory.store_cache_bytes),
                part("store_table_readers", memory.store_table_reader_bytes),
                part("block_cache", memory.block_cache_bytes),
                part("fresh_rows", memory.fresh_bytes),
                part("answers", memory.answer_bytes),
                part("text_index", memory.text_index_bytes),
                part("segments", memory.segment_bytes),
                part("build", memory.build_bytes),
                part("embedder", memory.embedder_bytes),
                part("heap_other", memory.heap_other_bytes),
                part("heap_free", memory.heap_free_bytes),
                part("stacks", memory.stack_bytes),
                part("program", memory.program_bytes),
            ],
        },
        single("memory_budget_bytes", "Bytes that the engine may use", memory.budget_bytes as f64),
        single(
            "process_resident_bytes",
            "Resident bytes of the process, as the system measures them",
            (memory.process_anonymous_bytes + memory.process_file_bytes) as f64,
        ),
        single("snapshots", "Open snapshots and transactions", stats.snapshots as f64),
        single("collections", "Collections", stats.collections.len() as f64),
    ];
    let mut collections: Vec<&CollectionInfo> = stats.collections.iter().collect();
    collections.sort_by_key(|info| std::cmp::Reverse(info.rows));
    collections.truncate(COLLECTIONS_MAX);
    let mut each = |name, help, value: &dyn Fn(&CollectionInfo) -> Option<f64>| {
        let of = |info: &&CollectionInfo| Some((vec![("collection", info.name.clone())], value(info)?));
        told.push(Told { name, help, values: collections.iter().filter_map(of).collect() });
    };
    each("collection_rows", "Records", &|info| Some(info.rows as f64));
    each("collection_vectors", "Records with a vector", &|info| Some(info.vectors as f64));
    each("collection_pending_vectors", "Records whose vector is still to come", &|info| Some(info.pending as f64));
    each("collection_fresh_rows", "Records in no index yet", &|info| Some(info.fresh_rows as f64));
    each("collection_segments", "Segments", &|info| Some(info.segments as f64));
    each("collection_graphs", "Segments with a graph", &|info| Some(info.vector_graphs as f64));
    each("collection_degraded", "Indexes that are not in use", &|info| Some(info.degraded.len() as f64));
    each("build_rows_done", "Rows in the graph that is being built", &|info| Some(info.building?.done as f64));
    each("build_rows", "Rows that it will have", &|info| Some(info.building?.total as f64));
    each("build_rows_per_second", "How fast it grows", &|info| Some(info.building?.rows_per_second));
    each("build_seconds_left", "When it will be done", &|info| info.building?.seconds_left);
    told
}

fn single(name: &'static str, help: &'static str, value: f64) -> Told {
    Told { name, help, values: vec![(Vec::new(), value)] }
}
