//! `nuthatch._core`: the engine as Python sees it.
//!
//! **What it is.** Glue without logic: it turns Python objects into the engine's types, releases the interpreter while
//! the engine works, and turns answers and errors back.
//! **Useful for** the Python package around it (`python/src/nuthatch`), which gives these calls their defaults, their
//! types and their documentation.
//! **Not for** callers: names and signatures here change with the package.
//!
//! **Invariant:** no call into the engine is made while this thread holds the interpreter, so other Python threads run on, and
//! a Python embedder that the engine calls back can take it.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::disallowed_methods, missing_docs))]

mod adding;
mod asking;
mod backup;
mod cache;
mod changes;
mod collection;
mod database;
mod embedder;
mod error;
mod facts;
mod forked;
mod graph;
mod handle;
mod http;
mod keyspace;
mod records;
mod remote;
mod results;
mod searching;
mod searching_many;
mod snapshot;
mod tenants;
mod transaction;
mod tree;
mod value;
mod write_batch;

use pyo3::prelude::*;

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<adding::CancelFlag>()?;
    module.add_class::<http::HttpClient>()?;
    module.add("HttpFault", module.py().get_type::<http::HttpFault>())?;
    module.add_function(wrap_pyfunction!(backup::list_backups, module)?)?;
    module.add_function(wrap_pyfunction!(backup::verify_backups, module)?)?;
    module.add_function(wrap_pyfunction!(backup::delete_backups, module)?)?;
    module.add_function(wrap_pyfunction!(backup::restore, module)?)?;
    module.add_function(wrap_pyfunction!(remote::records_json, module)?)?;
    module.add_function(wrap_pyfunction!(changes::change_json, module)?)?;
    module.add_function(wrap_pyfunction!(changes::changes_json, module)?)?;
    module.add_function(wrap_pyfunction!(remote::records_apart, module)?)?;
    module.add_function(wrap_pyfunction!(remote::check_puts, module)?)?;
    module.add_function(wrap_pyfunction!(remote::check_keys, module)?)?;
    module.add_function(wrap_pyfunction!(remote::select_keys, module)?)?;
    module.add_function(wrap_pyfunction!(remote::cursor_after, module)?)?;
    module.add_function(wrap_pyfunction!(remote::search_json, module)?)?;
    module.add_function(wrap_pyfunction!(remote::searches_json, module)?)?;
    module.add_function(wrap_pyfunction!(remote::check_durability, module)?)?;
    module.add_function(wrap_pyfunction!(remote::walk, module)?)?;
    module.add_function(wrap_pyfunction!(graph::nodes_json, module)?)?;
    module.add_function(wrap_pyfunction!(graph::edges_json, module)?)?;
    module.add_function(wrap_pyfunction!(graph::check_graph_ids, module)?)?;
    module.add_function(wrap_pyfunction!(facts::check_facts, module)?)?;
    module.add_function(wrap_pyfunction!(tree::check_tree, module)?)?;
    module.add_class::<collection::Collection>()?;
    module.add_class::<database::Database>()?;
    module.add_class::<embedder::Embedder>()?;
    module.add_class::<cache::Cache>()?;
    module.add_class::<facts::Facts>()?;
    module.add_class::<graph::Graph>()?;
    module.add_class::<keyspace::Keyspace>()?;
    module.add_class::<results::Hit>()?;
    module.add_class::<results::Leg>()?;
    module.add_class::<results::Legs>()?;
    module.add_class::<results::Results>()?;
    module.add("CURSOR", results::CURSOR)?;
    module.add_function(wrap_pyfunction!(results::hits_of_server, module)?)?;
    module.add_function(wrap_pyfunction!(results::ids_and_scores, module)?)?;
    module.add_class::<snapshot::Snapshot>()?;
    module.add_class::<snapshot::SnapshotCollection>()?;
    module.add_class::<snapshot::SnapshotKeyspace>()?;
    module.add_class::<transaction::Transaction>()?;
    module.add_class::<transaction::TransactionCollection>()?;
    module.add_class::<transaction::TransactionKeyspace>()?;
    module.add_class::<tree::Tree>()?;
    module.add_class::<write_batch::WriteBatch>()
}
