//! Data and figures for the measurements beside this folder.
#![allow(dead_code)]

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use nuthatch_link::*;

pub const DIM_TEXT: usize = 384;

pub type Outcome<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The benchmark data; `None` when it is not here.
pub fn data_folder() -> Option<PathBuf> {
    let named = std::env::var_os("NUTHATCH_TEST_DATA").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    named.into_iter().chain([beside]).find(|folder| folder.is_dir())
}

/// The body of an npy file: the header says where it begins.
pub fn npy_body(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.read_to_end(&mut bytes)?;
    let header = u16::from_le_bytes([bytes[8], bytes[9]]) as usize;
    Ok(bytes.split_off(10 + header))
}

pub fn f16_rows(path: &Path) -> std::io::Result<Vec<f32>> {
    let body = npy_body(path)?;
    Ok(body.chunks_exact(2).map(|x| half::f16::from_le_bytes([x[0], x[1]]).to_f32()).collect())
}

/// The 50,000 passages as records with their vectors.
pub fn passages(data: &Path) -> Outcome<Vec<Record>> {
    let vectors = f16_rows(&data.join("text/docs50k_vec_f16.npy"))?;
    let file = std::fs::File::open(data.join("text/docs50k.jsonl.gz"))?;
    let lines = BufReader::new(flate2::read::GzDecoder::new(file)).lines();
    let mut records = Vec::new();
    for (row, line) in lines.enumerate() {
        let json: serde_json::Value = serde_json::from_str(&line?)?;
        let field = |name: &str| json[name].as_str().unwrap_or_default().to_string();
        let payload = ["pkg", "page", "section"].map(|name| (name.to_string(), Value::Text(field(name))));
        let mut record = Record::new(format!("d{row}")).text(field("text")).payload(payload.into());
        record.vector = Some(vectors[row * DIM_TEXT..][..DIM_TEXT].to_vec());
        records.push(record);
    }
    Ok(records)
}

/// Bytes of all files below a folder.
pub fn folder_bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(found) if found.is_dir() => folder_bytes(&entry.path()),
            Ok(found) => found.len(),
            Err(_) => 0, // gone meanwhile
        })
        .sum()
}

/// Samples the resident size of this process a hundred times a second.
pub struct Peak {
    anonymous: Arc<AtomicU64>,
    resident: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
}

impl Peak {
    pub fn watch() -> Self {
        let (anonymous, resident, stop) = <(Arc<AtomicU64>, Arc<AtomicU64>, Arc<AtomicBool>)>::default();
        let (seen, seen_all, ended) = (anonymous.clone(), resident.clone(), stop.clone());
        std::thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                let now = ProcessMemory::now().unwrap_or_default();
                seen.fetch_max(now.anonymous_bytes, Ordering::Relaxed);
                seen_all.fetch_max(now.anonymous_bytes + now.file_bytes, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        Self { anonymous, resident, stop }
    }

    /// The most anonymous bytes so far.
    pub fn anonymous_bytes(&self) -> u64 {
        self.anonymous.load(Ordering::Relaxed)
    }

    /// The most bytes so far, mapped files included.
    pub fn resident_bytes(&self) -> u64 {
        self.resident.load(Ordering::Relaxed)
    }
}

impl Drop for Peak {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

pub fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

/// Every part of `stats().memory`, and what the system says.
pub fn print_memory(when: &str, memory: &MemoryStats) {
    let system = memory.process_anonymous_bytes + memory.process_file_bytes;
    println!(
        "memory {when}: the system says {} + {} of files; the parts sum to {} ({:+.1} %)",
        mib(memory.process_anonymous_bytes),
        mib(memory.process_file_bytes),
        mib(memory.accounted_bytes),
        (memory.accounted_bytes as f64 / system as f64 - 1.0) * 100.0
    );
    println!(
        "  truth cache {} (of it write buffers {}), table readers {}, block cache {}, fresh {}, answers {}, text {}, segments {}, build {}, other heap {}, \
         free heap {}, stacks {}, program {}",
        mib(memory.store_cache_bytes),
        mib(memory.store_write_buffer_bytes),
        mib(memory.store_table_reader_bytes),
        mib(memory.block_cache_bytes),
        mib(memory.fresh_bytes),
        mib(memory.answer_bytes),
        mib(memory.text_index_bytes),
        mib(memory.segment_bytes),
        mib(memory.build_bytes),
        mib(memory.heap_other_bytes),
        mib(memory.heap_free_bytes),
        mib(memory.stack_bytes),
        mib(memory.program_bytes)
    );
}
