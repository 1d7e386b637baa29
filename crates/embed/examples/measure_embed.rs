//! Question: what does an installed model cost and give? Passages per core-second, memory of the process, STS-b Spearman.
//!
//!     cargo run --release -p nuthatch-embed --example measure_embed -- [passages] [threads] [default|static] [joined]
//!
//! `joined` texts make one passage: 1 gives about 400 characters (some 90 tokens), 3 about 1,200 (some 250).
//!
//! Data: `NUTHATCH_TEST_DATA`, else `<workspace>/../shared/data` (`text/docs50k.jsonl.gz`, `pairs/stsb_test.jsonl.gz`).

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::Instant;

use flate2::read::GzDecoder;
use nuthatch_embed::{Embedder, Model, OnnxEmbedder, OnnxOptions, StaticEmbedder};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let passages: usize = arguments.next().map_or(Ok(400), |n| n.parse())?;
    let threads: usize = arguments.next().map_or(Ok(1), |n| n.parse())?;
    let data = std::env::var_os("NUTHATCH_TEST_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    let model = match arguments.next().as_deref() {
        None | Some("default") => Model::Default,
        Some("static") => Model::Static,
        Some(other) => return Err(format!("no model {other:?}; use default or static").into()),
    };
    let joined: usize = arguments.next().map_or(Ok(1), |n| n.parse())?;
    let dir = model.dir().ok_or_else(|| format!("no model; run `{}`", model.install_command()))?;

    memory("at the start");
    let start = Instant::now();
    let embedder: Box<dyn Embedder> = match model {
        Model::Default => Box::new(OnnxEmbedder::open(&dir, OnnxOptions { threads: threads.try_into().ok() })?),
        Model::Static => Box::new(StaticEmbedder::open(&dir)?),
    };
    embedder.embed_query("first")?;
    println!("opened, checked, loaded, first vector: {:.0} ms", start.elapsed().as_secs_f64() * 1e3);
    memory("with the model");
    println!("resident_bytes() says {:.1} MiB", embedder.resident_bytes() as f64 / MIB);

    let texts: Vec<String> = lines(&data.join("text/docs50k.jsonl.gz"), passages * joined.max(1))?
        .chunks(joined.max(1))
        .map(|lines| lines.iter().filter_map(|line| line["text"].as_str()).collect::<Vec<_>>().join(" "))
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (start, cpu) = (Instant::now(), cpu_seconds());
    embedder.embed_passages(&texts)?;
    let (wall, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    println!(
        "{} passages: {:.0}/core-second, {:.0}/s with {threads} thread(s)",
        texts.len(),
        texts.len() as f64 / cpu,
        texts.len() as f64 / wall
    );
    memory("after the passages");

    let pairs = lines(&data.join("pairs/stsb_test.jsonl.gz"), usize::MAX)?;
    let mut cosines = Vec::with_capacity(pairs.len());
    for pair in &pairs {
        let [a, b] = ["a", "b"].map(|side| embedder.embed_query(pair[side].as_str().unwrap_or_default()));
        cosines.push(a?.iter().zip(&b?).map(|(x, y)| f64::from(x * y)).sum());
    }
    let scores: Vec<f64> = pairs.iter().map(|pair| pair["score"].as_f64().unwrap_or_default()).collect();
    println!("STS-b: {} pairs, Spearman {:.4}", pairs.len(), spearman(&cosines, &scores));
    embedder.unload();
    memory("after unload");
    Ok(())
}

const MIB: f64 = (1 << 20) as f64;

fn lines(path: &Path, limit: usize) -> Result<Vec<serde_json::Value>, Box<dyn Error>> {
    let file = std::fs::File::open(path).map_err(|e| format!("{}: {e}", path.display()))?;
    BufReader::new(GzDecoder::new(file)).lines().take(limit).map(|line| Ok(serde_json::from_str(&line?)?)).collect()
}

/// Linux: anonymous and file-backed resident memory.
fn memory(when: &str) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mib = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key));
        line.and_then(|l| l.split_whitespace().next()?.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1024.0
    };
    println!(
        "memory {when}: {:.1} MiB anonymous, {:.1} MiB file, peak {:.1} MiB",
        mib("RssAnon:"),
        mib("RssFile:"),
        mib("VmHWM:")
    );
}

/// Linux: user and system time of the process, from ticks of 10 ms.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    after_name.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Correlation of ranks, ties sharing their mean rank.
fn spearman(a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (ranks(a), ranks(b));
    let mean = (a.len() as f64 - 1.0) / 2.0;
    let product = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x - mean) * (y - mean)).sum::<f64>();
    product(&a, &b) / (product(&a, &a) * product(&b, &b)).sqrt()
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    for tied in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let first = order.iter().position(|i| *i == tied[0]).unwrap_or_default();
        tied.iter().for_each(|i| ranks[*i] = first as f64 + (tied.len() - 1) as f64 / 2.0);
    }
    ranks
}
