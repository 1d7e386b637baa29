//! `nuthatch kv`: keys and values.

mod batch;
mod bytes;
mod cas;
mod count;
mod del;
mod get;
mod keyspaces;
mod put;
mod scan;
mod ttl;

use std::ffi::OsStr;

use clap::{Args, Subcommand};
use nuthatch_link::{Database, Keyspace, Result as EngineResult};

use crate::args::Globals;
use crate::exit::{Failure, Outcome};
use crate::folder;
use crate::output::Out;

#[derive(Args)]
#[command(after_help = "\
Keys and values are bytes. As a VALUE, - reads standard input.
nuthatch kv put config/theme dark && nuthatch kv get config/theme
nuthatch kv put backup - --ttl 7d < notes.tar && nuthatch kv get backup > notes.tar")]
pub struct Kv {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

/// The arguments common to these commands.
#[derive(Args)]
pub struct Common {
    /// The keyspace
    #[arg(short, long, global = true, default_value = "default", value_name = "NAME")]
    keyspace: String,
    /// Read keys and values on the command line as `scan` prints them: \n, \t, \\, \xff
    #[arg(short, long, global = true)]
    escaped: bool,
    /// Print JSON, with base64 for bytes that are not UTF-8
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Print values, byte by byte
    Get(get::Get),
    /// Set a key
    Put(put::Put),
    /// Delete keys
    Del(del::Del),
    /// List keys with their values, in order
    Scan(scan::Scan),
    /// Add to a number, and print the sum
    Incr(put::Incr),
    /// Append to a value, and print its length
    Append(put::Append),
    /// Set a key if it has the expected value; exit code 1 if not
    Cas(cas::Cas),
    /// Set and delete many keys from standard input, all or nothing
    Batch(batch::Batch),
    /// Print the seconds until a key expires
    Ttl(ttl::Ttl),
    /// Change when a key expires
    Expire(ttl::Expire),
    /// Print the approximate number of keys
    Count(count::Count),
    /// List the keyspaces
    Ls(keyspaces::Ls),
    /// Drop a keyspace with everything in it
    Drop(keyspaces::DropKeyspace),
}

impl Kv {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let common = &self.common;
        match &self.command {
            Command::Get(args) => args.run(globals, common, out),
            Command::Put(args) => args.run(globals, common, out),
            Command::Del(args) => args.run(globals, common, out),
            Command::Scan(args) => args.run(globals, common, out),
            Command::Incr(args) => args.run(globals, common, out),
            Command::Append(args) => args.run(globals, common, out),
            Command::Cas(args) => args.run(globals, common, out),
            Command::Batch(args) => args.run(globals, common, out),
            Command::Ttl(args) => args.run(globals, common, out),
            Command::Expire(args) => args.run(globals, common, out),
            Command::Count(args) => args.run(globals, common, out),
            Command::Ls(args) => args.run(globals, common, out),
            Command::Drop(args) => args.run(globals, common, out),
        }
    }
}

impl Common {
    /// A keyspace that is there, to read.
    fn open(&self, globals: &Globals) -> EngineResult<(Database, Keyspace)> {
        let database = folder::open(globals)?;
        let keyspace = database.existing_keyspace(&self.keyspace)?;
        Ok((database, keyspace))
    }

    /// A keyspace that is there, to write.
    fn open_to_write(&self, globals: &Globals) -> EngineResult<(Database, Keyspace)> {
        let database = folder::open_to_write(globals)?;
        let keyspace = database.existing_keyspace(&self.keyspace)?;
        Ok((database, keyspace))
    }

    /// A keyspace that is made when it is missing, and the folder with it.
    fn create(&self, globals: &Globals) -> EngineResult<(Database, Keyspace)> {
        let database = folder::create(globals)?;
        let keyspace = database.kv(&self.keyspace)?;
        Ok((database, keyspace))
    }

    /// A key as it was typed.
    fn key(&self, typed: &OsStr) -> EngineResult<Vec<u8>> {
        bytes::typed(typed, self.escaped)
    }

    /// A value as it was typed, or standard input.
    fn value(&self, typed: &OsStr) -> EngineResult<Vec<u8>> {
        match typed == "-" {
            true => bytes::standard_input(),
            false => bytes::typed(typed, self.escaped),
        }
    }
}
