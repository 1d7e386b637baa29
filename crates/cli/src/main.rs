//! Nuthatch from the shell: put documents in, get the right passages back.
//!
//! **Useful for** people and scripts: every command prints for people, and with `--json` for programs.
//! **Not for** anything that the engine does not do: a command reads its arguments, calls the engine, and shows the answer.
//!
//! **Invariant:** answers go to standard output, everything else to standard error; the exit code says how it ended (see
//! [`exit`]); nothing ever asks a question.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::disallowed_methods))]

mod args;
mod audit;
mod commands;
mod durability;
mod embedder;
mod exit;
mod folder;
mod interrupt;
mod output;
mod paths;
mod progress;
mod python;
mod tree_at;
mod units;

use std::process::ExitCode;

use crate::args::Cli;
use crate::exit::{Failure, Outcome};

fn main() -> ExitCode {
    nuthatch_heap::share_arenas();
    let cli = Cli::read();
    cli.globals.color.apply();
    let mut out = output::stdout();
    let ended = commands::run(&cli, &mut out).and_then(|outcome| {
        std::io::Write::flush(&mut out)?;
        Ok(outcome)
    });
    // After a failure, the buffer still holds output that was meant for the reader; a closed pipe must not be tried
    // again.
    let code = match ended {
        Ok(outcome) => outcome.code(),
        Err(Failure::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            std::mem::forget(out);
            return ExitCode::from(Outcome::Done.code());
        }
        Err(failure) => {
            output::error(&failure.to_string());
            failure.code()
        }
    };
    ExitCode::from(code)
}
