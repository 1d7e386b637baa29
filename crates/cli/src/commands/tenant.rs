//! `nuthatch tenant`: the tenants of a folder, and what they may have.

use std::io::Write;

use clap::{Args, Subcommand};
use nuthatch_link::{Error, TenantInfo, TenantLimits};
use nuthatch_server::KeyFile;
use serde_json::{Value, json};

use crate::args::Globals;
use crate::audit::AuditedAction;
use crate::commands::reclaim;
use crate::exit::{Failure, Outcome};
use crate::folder;
use crate::output::{self, BOLD, DIM, GOOD, Out, plain};
use crate::units::{bytes, parse_bytes, thousands};

#[derive(Args)]
#[command(after_help = "\
nuthatch tenant create acme --vectors 100000 --bytes 2GiB
nuthatch --tenant acme add docs && nuthatch --tenant acme search \"how do I reset a password\"")]
pub struct Tenant {
    #[command(subcommand)]
    command: Command,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Create a tenant
    Create(Create),
    /// List the tenants with their usage and limits
    List,
    /// Show or change a tenant's limits
    Limits(Limits),
    /// Drop a tenant, erase all of its bytes, and print the receipt
    Drop(DropTenant),
}

#[derive(Args)]
struct Create {
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    given: Given,
}

#[derive(Args)]
struct Limits {
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    given: Given,
    /// Remove all limits that are not given here
    #[arg(long)]
    no_others: bool,
}

/// Limits on the command line.
#[derive(Args)]
struct Given {
    /// Maximum number of vectors
    #[arg(long, value_name = "N")]
    vectors: Option<u64>,
    /// Maximum bytes of stored records, vectors, keys and values, for example 2GiB
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    bytes: Option<u64>,
    /// Maximum requests per second, on each server
    #[arg(long, value_name = "N")]
    requests_per_second: Option<u64>,
    /// Maximum concurrent requests, on each server
    #[arg(long, value_name = "N")]
    concurrent_requests: Option<u64>,
}

#[derive(Args)]
struct DropTenant {
    #[arg(value_name = "NAME")]
    name: String,
    /// Confirm the drop
    #[arg(long)]
    yes: bool,
}

impl Tenant {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        match &self.command {
            Command::Create(args) => self.create(args, globals, out),
            Command::List => self.list(globals, out),
            Command::Limits(args) => self.limits(args, globals, out),
            Command::Drop(args) => self.drop_tenant(args, globals, out),
        }
    }

    fn create(&self, args: &Create, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let database = folder::create_whole(globals)?;
        let limits = args.given.over(TenantLimits::default());
        let act =
            AuditedAction::new(globals, database.folder(), "tenant.create", &args.name).detail("limits", json!(limits));
        act.ended(database.create_tenant(&args.name).and_then(|_| match limits != TenantLimits::default() {
            true => database.set_tenant_limits(&args.name, limits),
            false => Ok(()),
        }))?;
        let info = database.tenant_info(&args.name)?;
        database.close()?;
        match self.json {
            true => output::json(out, &info_json(&info))?,
            false => writeln!(out, "{GOOD}created{GOOD:#}  tenant {BOLD}{}{BOLD:#}", plain(&info.name))?,
        }
        Ok(Outcome::Done)
    }

    fn list(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let database = folder::open_whole(globals)?;
        let found = database.tenants()?;
        database.close()?;
        match self.json {
            true => output::json(out, &found.iter().map(info_json).collect::<Vec<_>>())?,
            false => found.iter().try_for_each(|info| show(out, info))?,
        }
        out.flush()?;
        if found.is_empty() {
            output::note("No tenants.");
            return Ok(Outcome::NothingFound);
        }
        Ok(Outcome::Done)
    }

    fn limits(&self, args: &Limits, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let database = folder::open_whole(globals)?;
        let before = database.tenant_info(&args.name)?.limits;
        let limits = args.given.over(if args.no_others { TenantLimits::default() } else { before });
        if limits != before {
            let act = AuditedAction::new(globals, database.folder(), "tenant.limit", &args.name)
                .detail("limits", json!(limits));
            act.ended(database.set_tenant_limits(&args.name, limits))?;
        }
        let info = database.tenant_info(&args.name)?;
        database.close()?;
        match self.json {
            true => output::json(out, &info_json(&info))?,
            false => show(out, &info)?,
        }
        Ok(Outcome::Done)
    }

    fn drop_tenant(&self, args: &DropTenant, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        if !args.yes {
            return Err(Error::invalid(format!(
                "this drops tenant {:?} and everything in it; add --yes to confirm",
                args.name
            ))
            .into());
        }
        let database = folder::open_whole(globals)?;
        let act = AuditedAction::new(globals, database.folder(), "tenant.drop", &args.name);
        let dropped = KeyFile::of(database.folder()).drop_tenant(&database, &args.name, nuthatch_server::now());
        let (receipt, _) = act.end(dropped, |(receipt, ended_keys)| {
            [reclaim::noted(receipt), vec![("ended_keys", json!(ended_keys))]].concat()
        })?;
        database.close()?;
        match self.json {
            true => output::json(out, &receipt)?,
            false => writeln!(
                out,
                "{GOOD}dropped{GOOD:#}  tenant {BOLD}{}{BOLD:#} with {} records; receipt {}",
                plain(&args.name),
                thousands(receipt.deleted_records.unwrap_or(0)),
                receipt.id
            )?,
        }
        Ok(Outcome::Done)
    }
}

impl Given {
    /// Returns the limits given here, completed with the previous ones.
    fn over(&self, before: TenantLimits) -> TenantLimits {
        TenantLimits {
            vectors: self.vectors.or(before.vectors),
            bytes: self.bytes.or(before.bytes),
            requests_per_second: self.requests_per_second.or(before.requests_per_second),
            concurrent_requests: self.concurrent_requests.or(before.concurrent_requests),
        }
    }
}

fn show(out: &mut Out, info: &TenantInfo) -> std::io::Result<()> {
    let TenantInfo { name, limits, usage, .. } = info;
    let of = |limit: Option<String>| limit.map_or(String::new(), |limit| format!(" of {limit}"));
    writeln!(
        out,
        "{BOLD}{}{BOLD:#}  {}{} vectors, {}{}  {DIM}since {}{DIM:#}",
        plain(name),
        thousands(usage.vectors),
        of(limits.vectors.map(thousands)),
        bytes(usage.bytes),
        of(limits.bytes.map(bytes)),
        info.created
    )?;
    for (limit, what) in
        [(limits.requests_per_second, "requests a second"), (limits.concurrent_requests, "requests at the same time")]
    {
        if let Some(limit) = limit {
            writeln!(out, "    {} {what}", thousands(limit))?;
        }
    }
    Ok(())
}

fn info_json(info: &TenantInfo) -> Value {
    json!({ "name": info.name, "created": info.created, "limits": info.limits, "usage": info.usage })
}
