//! `nuthatch stats`: what there is, what it takes on disk, what is in memory.

use std::io::Write;

use clap::Args;
use nuthatch_link::{CollectionInfo, DiskStats, MemoryStats, Pending};
use serde_json::json;

use crate::args::Globals;
use crate::commands::ls::collection_json;
use crate::exit::{Failure, Outcome};
use crate::folder;
use crate::output::{self, BOLD, DIM, Out};
use crate::units::{bytes, count, thousands};

#[derive(Args)]
pub struct Stats {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Stats {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let database = folder::open(globals)?;
        let stats = database.stats()?;
        match self.json {
            true => output::json(
                out,
                &json!({
                    "folder": database.folder().to_string_lossy(),
                    "collections": stats.collections.iter().map(collection_json).collect::<Vec<_>>(),
                    "disk": stats.disk.as_json(),
                    "memory": stats.memory.as_json(),
                }),
            )?,
            false => {
                writeln!(out, "{BOLD}{}{BOLD:#}", database.folder().display())?;
                show(out, &stats)?;
            }
        }
        out.flush()?;
        database.close()?;
        Ok(Outcome::Done)
    }
}

fn show(out: &mut Out, stats: &nuthatch_link::Stats) -> Result<(), Failure> {
    stats.collections.iter().try_for_each(|info| show_collection(out, info))?;
    show_disk(out, &stats.disk)?;
    show_memory(out, &stats.memory)?;
    show_process(out, &stats.memory)
}

fn show_collection(out: &mut Out, info: &CollectionInfo) -> Result<(), Failure> {
    writeln!(out, "\n{BOLD}Collection {}{BOLD:#}", info.name)?;
    let dim = info.dim.map_or(String::new(), |dim| format!(" of {dim} dimensions ({}, {})", info.element, info.metric));
    writeln!(out, "  {}, {}{dim}", count(info.rows, "record"), count(info.vectors, "vector"))?;
    if info.pending > 0 {
        let pending = Pending { vectors: info.vectors, records: info.vectors + info.pending };
        writeln!(out, "  vectors for {} %: {} to come", pending.percent(), thousands(info.pending))?;
    }
    for field in &info.vector_fields {
        let what = match field.kind.as_str() {
            "sparse" => "sparse".to_string(),
            kind => {
                let tokens = if kind == "tokens" { "a token, " } else { "" };
                format!("{tokens}of {} dimensions ({}, {})", field.dim, field.element, field.metric)
            }
        };
        writeln!(out, "  {} {} {what}", count(field.vectors, "vector"), field.name)?;
    }
    let embedder = info.embedder.as_deref().unwrap_or("none");
    writeln!(out, "  embedder {embedder}, language {}", info.language)?;
    writeln!(
        out,
        "  {} ({}), {} not in an index yet",
        count(info.segments as u64, "segment"),
        count(info.vector_graphs as u64, "vector graph"),
        count(info.fresh_rows, "record")
    )?;
    let fields: Vec<String> =
        info.fields.iter().map(|(field, kinds)| format!("{field} ({})", kinds.join(", "))).collect();
    writeln!(out, "  {DIM}fields: {}{DIM:#}", output::plain(&fields.join(", ")))?;
    for why in &info.degraded {
        output::warning(&format!("collection {}: {why}", info.name));
    }
    Ok(())
}

fn show_disk(out: &mut Out, disk: &DiskStats) -> Result<(), Failure> {
    writeln!(out, "\n{BOLD}On disk{BOLD:#}")?;
    part(out, "records and vectors (the store)", disk.store_bytes)?;
    part(out, "indexes", disk.indexes_bytes)?;
    if disk.quarantine_bytes > 0 {
        part(out, "quarantine", disk.quarantine_bytes)?;
    }
    part(out, "together", disk.total_bytes)?;
    Ok(())
}

fn show_memory(out: &mut Out, memory: &MemoryStats) -> Result<(), Failure> {
    writeln!(out, "\n{BOLD}In memory, of a budget of {}{BOLD:#}", bytes(memory.budget_bytes))?;
    part(out, "cache of the store", memory.store_cache_bytes)?;
    part(out, "its tables' indexes", memory.store_table_reader_bytes)?;
    part(out, "cache of index blocks", memory.block_cache_bytes)?;
    part(out, "records not in an index yet", memory.fresh_bytes)?;
    part(out, "answers in progress", memory.answer_bytes)?;
    part(out, "text index", memory.text_index_bytes)?;
    part(out, "row ids of segments", memory.segment_bytes)?;
    part(out, "together", memory.engine_bytes)?;
    if memory.build_bytes > 0 {
        part(out, "graph being built, outside the budget", memory.build_bytes)?;
    }
    if memory.embedder_bytes > 0 {
        part(out, "embedding model, outside the budget", memory.embedder_bytes)?;
    }
    Ok(())
}

fn show_process(out: &mut Out, memory: &MemoryStats) -> Result<(), Failure> {
    writeln!(out, "\n{BOLD}The rest of this process{BOLD:#}")?;
    part(out, "in use otherwise", memory.heap_other_bytes)?;
    part(out, "kept by the allocator", memory.heap_free_bytes)?;
    if memory.foreign_bytes > 0 {
        part(out, "other allocators", memory.foreign_bytes)?;
    }
    part(out, "stacks", memory.stack_bytes)?;
    part(out, "program and mapped files", memory.program_bytes)?;
    part(out, "all parts together", memory.accounted_bytes)?;
    writeln!(out, "\n{BOLD}This process, as the system measures it{BOLD:#}")?;
    part(out, "heap and stacks", memory.process_anonymous_bytes)?;
    part(out, "mapped files", memory.process_file_bytes)?;
    Ok(())
}

fn part(out: &mut Out, name: &str, value: u64) -> std::io::Result<()> {
    writeln!(out, "  {name:<34}{:>9}  {DIM}{:>15}{DIM:#}", bytes(value), thousands(value))
}
