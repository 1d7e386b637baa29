//! Tasks that the Python package can do and this command cannot: it runs the package as a program.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nuthatch_link::{Error, ErrorKind};

use crate::exit::{Failure, Outcome};
use crate::interrupt;

/// Names the Python that has the package.
const PYTHON: &str = "NUTHATCH_PYTHON";

/// A Python that can import the module: the named one, the one next to this command, or the first in the PATH.
pub fn with(module: &str, purpose: &str) -> Result<PathBuf, Error> {
    let named = std::env::var_os(PYTHON).filter(|name| !name.is_empty()).map(PathBuf::from);
    if let Some(named) = named {
        return match imports(&named, module) {
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
    candidates.find(|python| imports(python, module)).ok_or_else(|| {
        Error::new(
            ErrorKind::Unavailable,
            format!(
                "{purpose} needs the Python package: `pip install nuthatch`, or name a Python that has it in {PYTHON}"
            ),
        )
    })
}

/// Runs it to its end, and ends as it did. Ctrl-C is for both: this process waits while the other undoes what it has done.
pub fn run(command: &mut Command) -> Result<Outcome, Failure> {
    interrupt::silent_flag()?;
    let status = command.status().map_err(|error| {
        Error::internal(format!("cannot run {}: {error}", Path::new(command.get_program()).display()))
    })?;
    // A signal has no code.
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(Outcome::Interrupted.code());
    Ok(Outcome::As(code))
}

fn imports(python: &Path, module: &str) -> bool {
    let mut command = Command::new(python);
    command.args(["-c", &format!("import {module}")]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
