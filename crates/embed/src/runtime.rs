//! The one ONNX Runtime of this process.

use std::path::Path;

use ort::environment::Environment;
use ort::ep;
use ort::session::Session;
use ort::session::builder::GraphOptimizationLevel;
use parking_lot::Mutex;

/// The library allows one environment a process, ever; so the first library that is loaded stays, and serves every model.
static ENVIRONMENT: Mutex<Option<Environment>> = Mutex::new(None);

/// A session for one model, tuned to leave memory and cores to other programs on the machine. The error is the
/// runtime's text.
pub fn session(library: &Path, model: &Path, threads: usize) -> Result<Session, String> {
    let environment = environment(library)?;
    // Without arena and memory pattern, memory for a long text is given back after it. Spinning threads would burn
    // cores that another model on this machine needs.
    Session::builder(&environment)
        .map_err(text)?
        .with_execution_providers([ep::CPU::default().with_arena_allocator(false).build()])
        .map_err(text)?
        .with_memory_pattern(false)
        .map_err(text)?
        .with_optimization_level(GraphOptimizationLevel::All)
        .map_err(text)?
        .with_intra_threads(threads)
        .map_err(text)?
        .with_intra_op_spinning(false)
        .map_err(text)?
        .commit_from_file(model)
        .map_err(text)
}

fn environment(library: &Path) -> Result<Environment, String> {
    let mut environment = ENVIRONMENT.lock();
    if let Some(environment) = &*environment {
        return Ok(environment.clone());
    }
    let built =
        ort::init_from(library).map_err(text)?.with_name("nuthatch").with_telemetry(false).build().map_err(text)?;
    Ok(environment.insert(built).clone())
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
