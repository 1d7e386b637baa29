//! `nuthatch-cluster`: a node that serves one group of data from a bucket, or from a log in Cassandra and a bucket, and the commands
//! around it.
//!
//! A program of its own: who embeds Nuthatch, or serves a folder, has no client of object storage or of Cassandra in it.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::disallowed_methods))]

mod bucket_commands;
mod copy;
mod failure;
mod forward;
mod guard;
mod hand_over;
mod passage;
mod place;
mod relay;
mod serve;
mod standby;
mod watch;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Nodes that serve the same data from a store that all reach: one answers, the others take over when it is gone
#[derive(Parser)]
#[command(
    name = "nuthatch-cluster",
    version,
    arg_required_else_help = true,
    after_help = "A store is a bucket, or a log in Cassandra or ScyllaDB and a bucket for checkpoints: \
                  cassandra://HOST,HOST/KEYSPACE?bucket=BUCKET. A bucket is s3://BUCKET/PREFIX, with credentials in \
                  AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and AWS_REGION or AWS_ENDPOINT; or file:///FOLDER to try things \
                  out on one machine. Cassandra is told who asks by NUTHATCH_CASSANDRA_USER and \
                  NUTHATCH_CASSANDRA_PASSWORD_FILE; NUTHATCH_CASSANDRA_CA switches TLS on."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check a bucket and make a cluster in it, or in a keyspace of Cassandra and it
    Init(bucket_commands::Init),
    /// Say who owns the data, and what the log and the bucket have
    Status(bucket_commands::Status),
    /// Race conditional writes against the store, and look at its settings; with --verify read all that a recovery would need
    Doctor(bucket_commands::Doctor),
    /// Follow the data in a store, and serve it while no other node does
    Serve(serve::Serve),
    /// Have the owner hand the data over to another node
    Move(hand_over::Move),
    /// Have a node hand the data over, and not take it again until it is started anew
    Drain(hand_over::Drain),
    #[command(hide = true)]
    Guard(guard::Guard),
}

fn main() -> ExitCode {
    nuthatch_heap::share_arenas();
    let done = match Cli::parse().command {
        Command::Init(args) => args.run(),
        Command::Status(args) => args.run(),
        Command::Doctor(args) => args.run(),
        Command::Serve(args) => args.run(),
        Command::Move(args) => args.run(),
        Command::Drain(args) => args.run(),
        Command::Guard(args) => args.run(),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::from(failure.code())
        }
    }
}
