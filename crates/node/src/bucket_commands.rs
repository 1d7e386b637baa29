//! `init`, `status` and `doctor`: what can be said of a cluster's place without a node.

use clap::Args;
use nuthatch_cassandra::Copies;
use nuthatch_cluster::{Bucket, Checked, check_bucket, checkpoint};
use serde_json::json;

use crate::failure::Failure;
use crate::place::{FORMS, Place};

/// `doctor` found something.
const DAMAGED: u8 = 6;

#[derive(Args)]
pub struct Init {
    #[arg(value_name = "STORE", help = FORMS)]
    store: String,
    /// How long a node waits for an owner that it does not hear of before it takes over
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = nuthatch_server::config::parse_duration)]
    lease: std::time::Duration,
    /// Take a keyspace with fewer than three copies of each row, and make one with one: to try things out on one machine
    #[arg(long)]
    trial: bool,
}

impl Init {
    pub fn run(&self) -> Result<u8, Failure> {
        let place = Place::parse(&self.store)?;
        let bucket = &place.bucket;
        let checked = check_bucket(bucket)?;
        if !checked.problems.is_empty() {
            show(bucket, &checked);
            eprintln!("error: no cluster was made; use a service with conditional writes");
            return Ok(DAMAGED);
        }
        let copies = if self.trial { Copies::Any } else { Copies::Three };
        let identity = place.init(u64::try_from(self.lease.as_millis()).unwrap_or(u64::MAX), copies)?;
        let address = place.address();
        println!("Cluster {} in {address}, lease {} ms", identity.uuid, identity.lease_ms);
        println!("Start nodes: nuthatch-cluster serve --store '{address}' --data-dir FOLDER --advertise HOST:PORT");
        Ok(0)
    }
}

#[derive(Args)]
pub struct Status {
    #[arg(value_name = "STORE", help = FORMS)]
    store: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Status {
    pub fn run(&self) -> Result<u8, Failure> {
        let place = Place::parse(&self.store)?;
        let log = place.open()?;
        let (address, base) = (place.address(), log.base());
        let head = log.head()?;
        let checkpoints: Vec<u64> = base.checkpoints()?.iter().map(|mark| mark.slot).collect();
        let slots = log.slots(0)?;
        let log_bytes: u64 = slots.iter().map(|(_, bytes)| bytes).sum();
        let lease_ms = base.timing().lease_ms;
        if self.json {
            let owner = Some(&head.address).filter(|address| !address.is_empty());
            let said = json!({
                "cluster": base.cluster(), "store": address, "bucket": base.bucket().address(),
                "lease_ms": lease_ms, "owner": owner,
                "epoch": head.epoch, "batches": head.place, "slot": head.slot, "checkpoints": checkpoints,
                "log": {"entries": slots.len(), "bytes": log_bytes},
            });
            println!("{said:#}");
            return Ok(0);
        }
        let owner = if head.address.is_empty() { "nobody; the next node takes over at once" } else { &head.address };
        println!("Cluster      {} in {address}", base.cluster());
        println!("Owner        {owner} (epoch {}, lease {lease_ms} ms)", head.epoch);
        println!("Committed    {} batches, up to slot {}", head.place, head.slot);
        println!("Log          {} entries, {log_bytes} bytes", slots.len());
        let checkpoints: Vec<String> = checkpoints.iter().map(|slot| format!("slot {slot}")).collect();
        println!("Checkpoints  {}", if checkpoints.is_empty() { "none yet".into() } else { checkpoints.join(", ") });
        Ok(0)
    }
}

#[derive(Args)]
pub struct Doctor {
    #[arg(value_name = "STORE", help = FORMS)]
    store: String,
    /// Read every checkpoint and every entry of the log against its checksum, too
    #[arg(long)]
    verify: bool,
}

impl Doctor {
    pub fn run(&self) -> Result<u8, Failure> {
        let place = Place::parse(&self.store)?;
        let bucket = &place.bucket;
        let checked = check_bucket(bucket)?;
        show(bucket, &checked);
        let mut is_well = checked.problems.is_empty();
        if let Some(keyspace) = place.keyspace()? {
            let checked = nuthatch_cassandra::check(&keyspace)?;
            show_keyspace(keyspace.address(), &checked);
            is_well &= checked.problems.is_empty();
        }
        if self.verify {
            let damage = checkpoint::verify(&*place.open()?)?;
            damage.iter().for_each(|one| println!("damaged: {one}"));
            if damage.is_empty() {
                println!("every checkpoint and every entry of the log is whole");
            }
            is_well &= damage.is_empty();
        }
        Ok(if is_well { 0 } else { DAMAGED })
    }
}

fn show_keyspace(address: &str, checked: &nuthatch_cassandra::Checked) {
    let (rounds, writers) = (checked.rounds, checked.writers);
    if checked.problems.is_empty() {
        println!("{address} writes a row once: {rounds} races of {writers} writers had one winner each");
    }
    checked.problems.iter().for_each(|problem| println!("{address}: {problem}"));
    checked.notes.iter().for_each(|note| println!("note: {note}"));
}

fn show(bucket: &Bucket, checked: &Checked) {
    match checked.problems.is_empty() {
        true => println!(
            "{} creates an object once: {} races of {} writers had one winner each",
            bucket.address(),
            checked.rounds,
            checked.writers
        ),
        false => checked.problems.iter().for_each(|problem| println!("{}: {problem}", bucket.address())),
    }
}
