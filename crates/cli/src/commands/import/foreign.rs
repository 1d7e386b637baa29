//! Files of other programs: the Python package reads them, since most can be read only with those programs' own packages.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::ValueEnum;
use nuthatch_link::{Error, ErrorKind};

use super::{Import, Program};
use crate::args::Globals;
use crate::exit::{Failure, Outcome};
use crate::{folder, interrupt};

/// Names the Python that has the package.
const PYTHON: &str = "NUTHATCH_PYTHON";

pub fn run(import: &Import, program: Program, globals: &Globals) -> Result<Outcome, Failure> {
    let python = python()?;
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
    // Ctrl-C is for both: this process waits while the other undoes what it has stored.
    interrupt::silent_flag()?;
    let status =
        command.status().map_err(|error| Error::internal(format!("cannot run {}: {error}", python.display())))?;
    // A signal has no code.
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(Outcome::Interrupted.code());
    Ok(Outcome::As(code))
}

/// A Python that has the package: the one that is named, that beside this command, or the first of the PATH.
fn python() -> Result<PathBuf, Error> {
    let named = std::env::var_os(PYTHON).filter(|name| !name.is_empty()).map(PathBuf::from);
    if let Some(named) = named {
        return match has_the_package(&named) {
            true => Ok(named),
            false => Err(Error::new(
                ErrorKind::Unavailable,
                format!(
                    "{} ({PYTHON}) cannot import the package nuthatch; name a Python that can, or install it there",
                    named.display()
                ),
            )),
        };
    }
    let here = std::env::current_exe().ok().and_then(|this| this.parent().map(Path::to_path_buf));
    let beside = here.into_iter().flat_map(|folder| ["python3", "python"].map(|name| folder.join(name)));
    let mut candidates = beside.filter(|path| path.exists()).chain(["python3", "python"].map(PathBuf::from));
    candidates.find(|python| has_the_package(python)).ok_or_else(|| {
        Error::new(ErrorKind::Unavailable, format!(
            "importing files of other programs needs the Python package: `pip install nuthatch`, or name a Python that \
            has it in {PYTHON}"
        ))
    })
}

fn has_the_package(python: &Path) -> bool {
    let mut command = Command::new(python);
    command.args(["-c", "import nuthatch.importers"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
