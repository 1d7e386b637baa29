//! `nuthatch-cluster`: a node that serves one group of data from a bucket, and the commands around it.
//!
//! A program of its own: who embeds Nuthatch, or serves a folder, has no client of object storage in it.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::disallowed_methods))]

mod bucket_commands;
mod copy;
mod failure;
mod serve;
mod standby;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Nodes that serve the same data from a bucket: one answers, the others take over when it is gone
#[derive(Parser)]
#[command(
    name = "nuthatch-cluster",
    version,
    arg_required_else_help = true,
    after_help = "A bucket is s3://BUCKET/PREFIX, with credentials in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and \
                  AWS_REGION or AWS_ENDPOINT; or file:///FOLDER to try things out on one machine."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check a bucket and make a cluster in it
    Init(bucket_commands::Init),
    /// Say who owns the data and what the bucket has
    Status(bucket_commands::Status),
    /// Race conditional writes against a bucket; with --verify read every object of its cluster
    Doctor(bucket_commands::Doctor),
    /// Follow the data in a bucket, and serve it over HTTP while no other node does
    Serve(serve::Serve),
}

fn main() -> ExitCode {
    nuthatch_heap::share_arenas();
    let done = match Cli::parse().command {
        Command::Init(args) => args.run(),
        Command::Status(args) => args.run(),
        Command::Doctor(args) => args.run(),
        Command::Serve(args) => args.run(),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::from(failure.code())
        }
    }
}
