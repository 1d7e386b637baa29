//! `init`, `status` and `doctor`: what can be said of a bucket without a node.

use clap::Args;
use nuthatch_cluster::{Bucket, Checked, Log, ObjectLog, check_bucket, checkpoint};
use serde_json::json;

use crate::failure::Failure;

/// `doctor` found something.
const DAMAGED: u8 = 6;

#[derive(Args)]
pub struct Init {
    /// s3://BUCKET/PREFIX
    bucket: String,
    /// How long a node waits for an owner that it does not hear of before it takes over
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = nuthatch_server::config::parse_duration)]
    lease: std::time::Duration,
}

impl Init {
    pub fn run(&self) -> Result<u8, Failure> {
        let bucket = Bucket::open(&self.bucket)?;
        let checked = check_bucket(&bucket)?;
        if !checked.problems.is_empty() {
            show(&bucket, &checked);
            eprintln!("error: no cluster was made; use a service with conditional writes");
            return Ok(DAMAGED);
        }
        let identity = ObjectLog::init(&bucket, u64::try_from(self.lease.as_millis()).unwrap_or(u64::MAX))?;
        println!("Cluster {} in {}, lease {} ms", identity.uuid, bucket.address(), identity.lease_ms);
        println!(
            "Start nodes: nuthatch-cluster serve --store {} --data-dir FOLDER --advertise HOST:PORT",
            bucket.address()
        );
        Ok(0)
    }
}

#[derive(Args)]
pub struct Status {
    /// s3://BUCKET/PREFIX
    bucket: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Status {
    pub fn run(&self) -> Result<u8, Failure> {
        let bucket = Bucket::open(&self.bucket)?;
        let log = ObjectLog::open(&bucket)?;
        let head = log.head()?;
        let checkpoints: Vec<u64> = log.checkpoints()?.iter().map(|mark| mark.slot).collect();
        let slots = log.slots(0)?;
        let log_bytes: u64 = slots.iter().map(|(_, bytes)| bytes).sum();
        let lease_ms = log.timing().lease_ms;
        if self.json {
            let owner = Some(&head.address).filter(|address| !address.is_empty());
            let said = json!({
                "cluster": log.cluster(), "bucket": bucket.address(), "lease_ms": lease_ms, "owner": owner,
                "epoch": head.epoch, "batches": head.place, "slot": head.slot, "checkpoints": checkpoints,
                "log": {"entries": slots.len(), "bytes": log_bytes},
            });
            println!("{said:#}");
            return Ok(0);
        }
        let owner = if head.address.is_empty() { "nobody; the next node takes over at once" } else { &head.address };
        println!("Cluster      {} in {}", log.cluster(), bucket.address());
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
    /// s3://BUCKET/PREFIX
    bucket: String,
    /// Read every checkpoint and every entry of the log against its checksum, too
    #[arg(long)]
    verify: bool,
}

impl Doctor {
    pub fn run(&self) -> Result<u8, Failure> {
        let bucket = Bucket::open(&self.bucket)?;
        let checked = check_bucket(&bucket)?;
        show(&bucket, &checked);
        let mut is_well = checked.problems.is_empty();
        if self.verify {
            let damage = checkpoint::verify(&ObjectLog::open(&bucket)?)?;
            damage.iter().for_each(|one| println!("damaged: {one}"));
            if damage.is_empty() {
                println!("every checkpoint and every entry of the log is whole");
            }
            is_well &= damage.is_empty();
        }
        Ok(if is_well { 0 } else { DAMAGED })
    }
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
