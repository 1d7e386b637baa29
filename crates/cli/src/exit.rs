//! How a command ends. One table, shown by `--help` and in `docs/reference/cli.md`.

use std::fmt;
use std::io;

use nuthatch_link::{Error, ErrorKind};

/// The table for `--help`.
pub const HELP: &str = "\
Exit codes:
  0    done
  1    nothing found: no such passage, file, id or key, or not the value or root expected
  2    invalid: the command line, a filter, or an option that contradicts what is stored
  3    not found: the data folder, the collection, the keyspace or a path does not exist
  4    conflict: another process has the data folder open and does not share it
  5    unavailable: the embedding model or its endpoint is missing, or the time was up
  6    corrupt: a damaged file (`nuthatch doctor` names it and the remedy)
  7    exhausted: out of disk, or over a limit
  8    closed: the store stopped after a failed write to disk
  9    internal: a defect, or the system refused
  130  interrupted; finished work stays, and the same command again does the rest";

/// How a command ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    NothingFound,
    /// `doctor` found damage.
    Damaged,
    Interrupted,
    /// As the program that did the work ended, by the same table.
    As(u8),
}

impl Outcome {
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::NothingFound => 1,
            Self::Damaged => 6,
            Self::Interrupted => 130,
            Self::As(code) => code,
        }
    }
}

/// Why a command failed.
#[derive(Debug)]
pub enum Failure {
    Engine(Error),
    /// Standard output does not take what is written.
    Output(io::Error),
}

impl Failure {
    pub fn code(&self) -> u8 {
        let kind = match self {
            Self::Engine(error) => &error.kind,
            Self::Output(_) => return 9,
        };
        match kind {
            ErrorKind::Invalid => 2,
            ErrorKind::NotFound => 3,
            ErrorKind::Conflict => 4,
            ErrorKind::Unavailable => 5,
            ErrorKind::Corrupt { .. } => 6,
            ErrorKind::Exhausted => 7,
            ErrorKind::Closed => 8,
            ErrorKind::Internal => 9,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine(error) => error.fmt(out),
            Self::Output(error) => write!(out, "standard output: {error}"),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

/// Only what is written to standard output turns into a failure by itself; other I/O names its path first.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
