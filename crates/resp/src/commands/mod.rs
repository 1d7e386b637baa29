//! The commands there are: one table, one function each.

mod bitfield;
mod bits;
mod caches;
mod clients;
mod common_part;
mod config;
mod connections;
mod counters;
mod describe;
mod digests;
mod entry_scan;
mod expiry;
mod flush;
mod geo;
mod hash_numbers;
mod hashes;
mod info;
mod keys;
mod list_moves;
mod lists;
mod multi;
pub(crate) mod named;
mod places;
mod random_key;
mod ranges;
mod renaming;
pub(crate) mod scan;
#[cfg(test)]
mod scope_tests;
mod search;
mod set;
mod sets;
mod sort;
mod sorted_algebra;
mod sorted_ranges;
mod sorted_sets;
mod strings;
mod table;
mod table_aggregates;
mod table_caches;
mod table_strings;

use std::collections::HashMap;
use std::sync::OnceLock;

use nuthatch_dialect::operations::Operation;

use crate::call::Data;
use crate::failure::Outcome;
use crate::gate::Scopes;
use crate::protocol::Reply;
use crate::session::Session;

pub(crate) use table::TABLE;

/// A command as COMMAND tells it, and what it does.
#[derive(Clone, Copy)]
pub(crate) struct Spec {
    pub name: &'static str,
    /// Arguments, the name included; at least that many when negative.
    pub arity: i32,
    pub scope: Scope,
    /// The first and the last argument that is a key, and the steps between; 0 when there is none.
    pub keys: (i32, i32, i32),
    pub group: &'static str,
    pub summary: &'static str,
    pub run: Run,
    /// Not queued by MULTI.
    pub runs_at_once: bool,
    /// Refused by MULTI.
    pub is_outside_multi: bool,
    /// For those who have not said who they are.
    pub needs_no_user: bool,
    /// Changes elements of vector sets.
    pub writes_elements: bool,
    /// Where it says how long it waits for something to take.
    pub timeout: Timeout,
}

/// Which argument is the seconds that a command waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timeout {
    None,
    First,
    Last,
}

/// The rights that a user needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Connection,
    Read,
    Write,
    /// Writing, and telling what was there before or what follows from it.
    ReadWrite,
    Admin,
}

#[derive(Clone, Copy)]
pub(crate) enum Run {
    /// About the connection or the server.
    Session(fn(&mut Session, &[Vec<u8>]) -> Outcome<Reply>),
    /// EXEC: runs the commands that MULTI has queued.
    Queue,
    /// About data.
    Data(Data),
    /// A read of records that every face answers by its name.
    Named(&'static Operation),
}

impl Scope {
    pub fn allows(self, scopes: Scopes) -> bool {
        match self {
            Self::Connection => true,
            Self::Read => scopes.read,
            Self::Write => scopes.write,
            Self::ReadWrite => scopes.read && scopes.write,
            Self::Admin => scopes.admin,
        }
    }

    pub fn writes(self) -> bool {
        matches!(self, Self::Write | Self::ReadWrite)
    }
}

impl Spec {
    /// The rights that it needs with these arguments.
    pub fn scope_of(&self, arguments: &[Vec<u8>]) -> Scope {
        match (self.name, arguments) {
            ("SET", [_, _, options @ ..]) if set::tells_the_old_value(options) => Scope::ReadWrite,
            ("DELEX", [_, _, ..]) => Scope::ReadWrite,
            ("ZADD", words) if words.iter().any(|word| word.eq_ignore_ascii_case(b"INCR")) => Scope::ReadWrite,
            _ => self.scope,
        }
    }

    /// It is EXEC.
    pub fn runs_queue(&self) -> bool {
        matches!(self.run, Run::Queue)
    }

    /// It sets keys whatever they hold.
    pub fn only_writes(&self, arguments: &[Vec<u8>]) -> bool {
        match (self.name, arguments) {
            ("SETEX" | "PSETEX" | "MSET", _) | ("SET", [_, _]) => true,
            ("SET", [_, _, option, _]) => {
                [&b"EX"[..], b"PX", b"EXAT", b"PXAT"].iter().any(|expiry| option.eq_ignore_ascii_case(expiry))
            }
            _ => false,
        }
    }

    /// It changes a few entries of one aggregate, and takes a transaction where the aggregate has rows: several of a pipeline share
    /// one. Not SET, MSET and INCR: clients with different keys would wait for each other's locks, which costs more than it saves.
    pub fn changes_entries(&self) -> bool {
        matches!(
            self.name,
            "HSET"
                | "HMSET"
                | "HSETNX"
                | "HDEL"
                | "LPUSH"
                | "RPUSH"
                | "LPUSHX"
                | "RPUSHX"
                | "SADD"
                | "SREM"
                | "ZADD"
                | "ZREM"
        )
    }

    /// Others may wait for what it puts into a list or a sorted set.
    pub fn may_grow(&self) -> bool {
        self.scope.writes() && matches!(self.group, "list" | "sorted set" | "geo" | "generic")
    }

    /// True for FLUSHDB, which the audit log records.
    pub fn empties_database(&self) -> bool {
        self.name == "FLUSHDB"
    }

    /// Whether a command of `words` words, its name included, is one of these.
    pub fn takes(&self, words: usize) -> bool {
        match self.arity {
            arity if arity < 0 => words >= arity.unsigned_abs() as usize,
            arity => words == arity as usize,
        }
    }
}

/// The command of that name, however it is written.
pub(crate) fn find(name: &[u8]) -> Option<&'static Spec> {
    number_of(name).map(|number| &TABLE[number])
}

/// Its place in the table.
pub(crate) fn number_of(name: &[u8]) -> Option<usize> {
    static NAMES: OnceLock<HashMap<&'static str, usize>> = OnceLock::new();
    let names = NAMES.get_or_init(|| TABLE.iter().enumerate().map(|(number, spec)| (spec.name, number)).collect());
    // No name is longer, and none is anything but ASCII.
    let mut upper = [0; 24];
    let upper = upper.get_mut(..name.len())?;
    upper.copy_from_slice(name);
    upper.make_ascii_uppercase();
    names.get(std::str::from_utf8(upper).ok()?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_found_by_its_name_in_any_case() {
        for spec in TABLE.iter() {
            assert_eq!(find(spec.name.to_lowercase().as_bytes()).map(|found| found.name), Some(spec.name));
        }
        assert!(find(b"NOSUCH").is_none() && find(&[b'G'; 100]).is_none() && find(b"GE\xffT").is_none());
    }
}
