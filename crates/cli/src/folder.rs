//! Which data folder a command works on, and opening it.
//!
//! The first of: `--data-dir`, `NUTHATCH_DIR`, the nearest `.nuthatch` in the current folder or above it. Commands that put
//! something in create `./.nuthatch`; the others refuse.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use nuthatch_link::{Database, Error, Options, Result};

use crate::args::Globals;
use crate::output;

/// The default name of a data folder.
const NAME: &str = ".nuthatch";

/// A command that reads: the folder must exist, and no background work is begun for the sake of one answer.
pub fn open(globals: &Globals) -> Result<Database> {
    let options = Options { must_exist: true, background: false, ..options(globals) };
    of_tenant(globals, Database::open(existing(globals)?, options)?)
}

/// A command that writes into an existing folder.
pub fn open_to_write(globals: &Globals) -> Result<Database> {
    of_tenant(globals, open_whole(globals)?)
}

/// A command that is about the folder and all its tenants.
pub fn open_whole(globals: &Globals) -> Result<Database> {
    Database::open(existing(globals)?, Options { must_exist: true, ..options(globals) })
}

/// A command that creates the folder when it is missing, and says so.
pub fn create(globals: &Globals) -> Result<Database> {
    of_tenant(globals, create_whole(globals)?)
}

/// The same, for a command that is about the folder and all its tenants.
pub fn create_whole(globals: &Globals) -> Result<Database> {
    let folder = named(globals).map_or_else(nearest_or_new, Ok)?;
    let is_new = !folder.join("NUTHATCH").exists() && !folder.join("truth").exists();
    let database = Database::open(&folder, options(globals))?;
    if is_new {
        output::note(&format!("New data folder {}", folder.display()));
    }
    Ok(database)
}

/// A command that another program starts, in whatever folder that program is: the folder is created only where somebody named it.
pub fn create_if_named(globals: &Globals) -> Result<Database> {
    match named(globals) {
        Some(_) => create(globals),
        None => open_to_write(globals),
    }
}

/// The collection of that name, or all.
pub fn collections(database: &Database, only: Option<&str>) -> Result<Vec<String>> {
    match only {
        Some(name) => Ok(vec![name.into()]),
        None => database.collection_names(),
    }
}

/// The tenant that a command names.
pub fn tenant(globals: &Globals) -> Option<&str> {
    // An empty variable is as good as none.
    globals.tenant.as_deref().filter(|name| !name.is_empty())
}

/// The database as the tenant that is named sees it. The folder is closed with it.
fn of_tenant(globals: &Globals, database: Database) -> Result<Database> {
    match tenant(globals) {
        Some(name) => database.tenant(name),
        None => Ok(database),
    }
}

/// The folder of a command that nobody named one for, and that creates it when it is missing.
pub fn nearest_or_new() -> Result<PathBuf> {
    let here = std::env::current_dir().map_err(|error| Error::io(Path::new("."), &error))?;
    Ok(nearest(&here).unwrap_or_else(|| here.join(NAME)))
}

/// The folder of a command that adds files next to the data, created when it is missing.
pub fn made(globals: &Globals) -> Result<PathBuf> {
    let folder = named(globals).map_or_else(nearest_or_new, Ok)?;
    std::fs::create_dir_all(&folder).map_err(|error| Error::io(&folder, &error))?;
    Ok(folder)
}

/// The folder of a command that does not create one.
pub fn existing(globals: &Globals) -> Result<PathBuf> {
    if let Some(folder) = named(globals) {
        return Ok(folder);
    }
    let here = std::env::current_dir().map_err(|error| Error::io(Path::new("."), &error))?;
    nearest(&here).ok_or_else(|| {
        Error::not_found(format!(
            "no data folder: neither {} nor a folder above it has a {NAME}; name one with --data-dir or NUTHATCH_DIR, \
            or create one with `nuthatch add PATH`",
            here.display()
        ))
    })
}

pub fn options(globals: &Globals) -> Options {
    let default = Options::default();
    Options {
        memory_budget_bytes: globals.memory_budget.unwrap_or(default.memory_budget_bytes),
        mapped: globals.mapped,
        build_memory_bytes: globals.build_memory.unwrap_or(default.build_memory_bytes),
        build_threads: globals.build_threads.map_or(default.build_threads, NonZeroUsize::get),
        ..default
    }
}

fn named(globals: &Globals) -> Option<PathBuf> {
    // An empty variable is as good as none.
    globals.data_dir.clone().filter(|folder| !folder.as_os_str().is_empty())
}

fn nearest(here: &Path) -> Option<PathBuf> {
    here.ancestors()
        .map(|folder| folder.join(NAME))
        .find(|folder| folder.join("NUTHATCH").exists() || folder.join("truth").exists())
}
