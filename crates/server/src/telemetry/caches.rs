//! The figures of caches of answers, as gauges, taken at each scrape.

use std::sync::atomic::AtomicU64;

use nuthatch_link::{CacheStats, Database, Result, WrongShare};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Caches with series of their own; the first by name, where there are more.
const CACHES_MAX: usize = 100;

type Labels = Vec<(&'static str, String)>;
type Gauges = Family<Labels, Gauge<f64, AtomicU64>>;

/// The statistics of all caches.
///
/// # Errors
/// Those of the store. A cache that is dropped meanwhile has none.
pub fn cache_stats(database: &Database) -> Result<Vec<(String, CacheStats)>> {
    let mut told = Vec::new();
    for name in database.cache_names()?.into_iter().take(CACHES_MAX) {
        match database.existing_cache(&name).and_then(|cache| cache.stats()) {
            Ok(stats) => told.push((name, stats)),
            Err(error) if error.kind == nuthatch_link::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(told)
}

/// Adds the gauges of these caches.
pub fn register_caches(registry: &mut Registry, caches: &[(String, CacheStats)]) {
    let gauges = |name: &str, help: &str, registry: &mut Registry| {
        let gauges = Gauges::default();
        registry.register(name, help, gauges.clone());
        gauges
    };
    let hits = gauges("cache_hits", "Answers given, by tier", registry);
    let misses = gauges("cache_misses", "Lookups without an answer, by reason", registry);
    let awaited = gauges("cache_awaited", "Answers that somebody else computed meanwhile", registry);
    let entries = gauges("cache_answers", "Answers stored", registry);
    let bytes = gauges("cache_bytes", "Bytes of answers with their prompts and vectors", registry);
    let gone = gauges("cache_removed", "Answers removed, by cause", registry);
    let tokens = gauges("cache_saved_tokens", "Tokens that were not paid for again", registry);
    let usd = gauges("cache_usd", "US dollars: gross savings, and what is to be taken from them", registry);
    let saved = gauges("cache_saved_usd", "US dollars saved, net of wrong answers, verdicts and vectors", registry);
    let audits = gauges("cache_audits", "Answers by meaning that were chosen to be judged, by state", registry);
    let wrong = gauges("cache_wrong", "Answers by meaning that are wrong: known, bound and allowed", registry);
    let share =
        gauges("cache_wrong_share", "Share of answers by meaning that are wrong: estimated, low and high", registry);
    for (name, CacheStats { counts, ledger, entries: held, bytes: size, .. }) in caches {
        let cache = || ("cache", name.clone());
        let one = |family: &Gauges, value: f64| {
            family.get_or_create(&vec![cache()]).set(value);
        };
        let each = |family: &Gauges, label: &'static str, values: &[(&str, f64)]| {
            for (of, value) in values {
                family.get_or_create(&vec![cache(), (label, (*of).to_string())]).set(*value);
            }
        };
        let count = |value: u64| value as f64;
        let dollars = |nano: u64| nano as f64 / 1e9;
        each(
            &hits,
            "tier",
            &[
                ("exact", count(counts.exact)),
                ("canonical", count(counts.canonical)),
                ("alias", count(counts.alias)),
                ("semantic", count(counts.semantic)),
            ],
        );
        each(
            &misses,
            "reason",
            &[
                ("absent", count(counts.missed_absent)),
                ("shadow", count(counts.missed_shadow)),
                ("vetoed", count(counts.missed_vetoed)),
                ("risky", count(counts.missed_risky)),
                ("unproven", count(counts.missed_unproven)),
                ("stale", count(counts.missed_stale)),
            ],
        );
        one(&awaited, count(counts.awaited));
        one(&entries, count(*held));
        one(&bytes, count(*size));
        each(
            &gone,
            "cause",
            &[
                ("evicted", count(counts.evicted)),
                ("expired", count(counts.expired)),
                ("stale", count(counts.stale)),
                ("invalidated", count(counts.invalidated)),
            ],
        );
        one(&tokens, count(counts.saved_tokens));
        each(
            &usd,
            "part",
            &[
                ("gross", dollars(counts.saved_nano_usd)),
                ("wrong", dollars(counts.lost_nano_usd)),
                ("judging", dollars(counts.judging_nano_usd)),
                ("embedding", dollars(counts.embedding_nano_usd)),
            ],
        );
        let spent = [counts.lost_nano_usd, counts.judging_nano_usd, counts.embedding_nano_usd].map(i128::from);
        one(&saved, (i128::from(counts.saved_nano_usd) - spent.into_iter().sum::<i128>()) as f64 / 1e9);
        let judged = ledger.audited.saturating_sub(ledger.pending);
        each(&audits, "state", &[("judged", count(judged)), ("pending", count(ledger.pending))]);
        let known = count(ledger.known_wrong);
        each(&wrong, "number", &[("known", known), ("bound", ledger.bound), ("allowed", ledger.allowed)]);
        if let Some(WrongShare { share: estimated, low, high }) = ledger.wrong {
            each(&share, "number", &[("estimated", estimated), ("low", low), ("high", high)]);
        }
    }
}
