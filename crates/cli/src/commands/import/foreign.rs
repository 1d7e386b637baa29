//! Files of other programs: the Python package reads them, since most can be read only with those programs' own packages.

use std::process::Command;

use clap::ValueEnum;

use super::{Import, Program};
use crate::args::Globals;
use crate::exit::{Failure, Outcome};
use crate::{folder, python};

pub fn run(import: &Import, program: Program, globals: &Globals) -> Result<Outcome, Failure> {
    let python = python::with("nuthatch.importers", "importing files of other programs")?;
    let name = program.to_possible_value().map(|value| value.get_name().to_string()).unwrap_or_default();
    let mut command = Command::new(&python);
    command.args(["-m", "nuthatch.importers", &name]).arg(&import.source);
    command.arg("--data-dir").arg(folder::made(globals)?);
    let options = folder::options(globals);
    command.arg(format!("--memory-budget={}", options.memory_budget_bytes));
    command.arg(format!("--build-memory={}", options.build_memory_bytes));
    command.arg(format!("--build-threads={}", options.build_threads));
    command.args(options.mapped.map(|mapped| format!("--mapped={mapped}")));
    command.args(folder::tenant(globals).map(|tenant| format!("--tenant={tenant}")));
    command.args(import.collection.iter().map(|name| format!("--collection={name}")));
    command.args(import.set.iter().map(|one| format!("--set={one}")));
    command.args(import.json.then_some("--json")).args(import.quiet.then_some("--quiet"));
    if let Ok(this) = std::env::current_exe() {
        // Some importers run this command themselves.
        command.env("NUTHATCH_PROGRAM", this);
    }
    python::run(&mut command)
}
