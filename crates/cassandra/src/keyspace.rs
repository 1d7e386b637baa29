//! Making a keyspace a cluster's log, and opening it.

use std::collections::BTreeMap;
use std::sync::Arc;

use nuthatch_cluster::{Base, Bucket, ClusterError, Identity, Result, RowLog};
use scylla::value::{CqlValue, Row};
use uuid::Uuid;

use crate::address::{Address, Settings};
use crate::connection::Connection;
use crate::rows::CqlRows;

/// Version of the tables.
const FORMAT: i32 = 1;
/// Copies of each row. With two of three a quorum is there while one node is not.
const COPIES: u32 = 3;

/// How many copies a new log has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copies {
    /// At least three.
    Three,
    /// However many the keyspace has; a new one has one. For trials: with one node gone the log is.
    Any,
}

/// A keyspace, connected.
pub struct Keyspace {
    pub(crate) connection: Connection,
    pub(crate) name: String,
}

/// How a keyspace keeps copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Replication {
    pub copies: u32,
    pub said: String,
    pub is_durable: bool,
}

/// The contents of the table `cluster`.
struct Said {
    format: i32,
    identity: Identity,
    is_trial: bool,
}

impl Keyspace {
    /// # Errors
    /// `Unreachable`.
    pub fn connect(address: &Address, settings: &Settings) -> Result<Self> {
        Ok(Self { connection: Connection::open(address, settings)?, name: address.keyspace.clone() })
    }

    /// How it is named to people.
    pub fn address(&self) -> &str {
        &self.connection.address
    }

    fn invalid(&self, what: &str) -> ClusterError {
        ClusterError::Invalid(format!("{} {what}", self.connection.address))
    }

    /// `None` when there is no such keyspace.
    pub(crate) fn replication(&self) -> Result<Option<Replication>> {
        let statement = format!(
            "SELECT replication, durable_writes FROM system_schema.keyspaces WHERE keyspace_name = '{}'",
            self.name
        );
        let found = self.connection.ask("the keyspace", statement)?;
        let Some(row) = found.into_iter().next() else { return Ok(None) };
        let mut settings = BTreeMap::new();
        if let Some(Some(CqlValue::Map(pairs))) = row.columns.first() {
            for (key, value) in pairs {
                if let (CqlValue::Text(key), CqlValue::Text(value)) = (key, value) {
                    settings.insert(key.as_str(), value.as_str());
                }
            }
        }
        let is_durable = !matches!(row.columns.get(1), Some(Some(CqlValue::Boolean(false))));
        Ok(Some(Replication { copies: copies(&settings), said: said(&settings), is_durable }))
    }

    fn copies_are_enough(&self, replication: &Replication, copies: Copies) -> Result<()> {
        if replication.copies < COPIES && copies == Copies::Three {
            return Err(self.invalid(&format!(
                "keeps {} of each row ({}), so one lost node can take acknowledged writes with it; ALTER KEYSPACE {} to a \
                 replication factor of {COPIES} and run `nodetool repair`, or make the cluster with --trial to try things out",
                match replication.copies {
                    1 => "one copy".into(),
                    copies => format!("{copies} copies"),
                },
                replication.said,
                self.name
            )));
        }
        match replication.is_durable {
            true => Ok(()),
            false => Err(self.invalid(&format!(
                "has durable_writes = false, so a restarted node forgets what it acknowledged; ALTER KEYSPACE {} WITH \
                 durable_writes = true",
                self.name
            ))),
        }
    }

    /// Unless it is there.
    fn create(&self, copies: Copies) -> Result<()> {
        if self.replication()?.is_some() {
            return Ok(());
        }
        let local = self.connection.ask("system.local", "SELECT data_center FROM system.local")?;
        let peers = self.connection.ask("system.peers", "SELECT data_center FROM system.peers")?;
        let centre = text(local.first(), 0).unwrap_or_default();
        let nodes = 1 + peers.iter().filter(|row| text(Some(row), 0).as_deref() == Some(&centre)).count();
        let copies = if copies == Copies::Any { 1 } else { COPIES };
        if nodes < copies as usize {
            return Err(self.invalid(&format!(
                "needs {copies} nodes for its copies, and data centre {centre} has {nodes}; add nodes, or give --trial to try \
                 things out with one copy"
            )));
        }
        let statement = format!(
            "CREATE KEYSPACE IF NOT EXISTS {} WITH replication = {{'class': 'NetworkTopologyStrategy', '{}': {copies}}}",
            self.name,
            centre.replace('\'', "''")
        );
        self.connection.change("the keyspace", statement)
    }

    fn create_tables(&self) -> Result<()> {
        for table in tables(&self.name) {
            self.connection.change("the tables", table)?;
        }
        Ok(())
    }

    fn has_tables(&self) -> Result<bool> {
        let statement = format!(
            "SELECT table_name FROM system_schema.tables WHERE keyspace_name = '{}' AND table_name = 'cluster'",
            self.name
        );
        Ok(!self.connection.ask("the tables", statement)?.is_empty())
    }

    fn identity(&self) -> Result<Option<Said>> {
        if !self.has_tables()? {
            return Ok(None);
        }
        let statement =
            format!("SELECT format, uuid, lease_ms, is_trial, written_by FROM {}.cluster WHERE id = 0", self.name);
        let found = self.connection.ask("cluster/0", statement)?;
        let Some(row) = found.first() else { return Ok(None) };
        match &row.columns[..] {
            [
                Some(CqlValue::Int(format)),
                Some(CqlValue::Uuid(uuid)),
                Some(CqlValue::BigInt(lease_ms)),
                Some(CqlValue::Boolean(is_trial)),
                Some(CqlValue::Text(written_by)),
            ] => {
                let mut identity = Identity::new(*lease_ms as u64, Some(self.named()))?;
                (identity.uuid, identity.written_by) = (*uuid, written_by.clone());
                Ok(Some(Said { format: *format, identity, is_trial: *is_trial }))
            }
            _ => {
                let what = "says of its cluster what this program does not understand; use a newer Nuthatch";
                Err(self.invalid(what))
            }
        }
    }

    fn said(&self) -> Result<Said> {
        self.identity()?.ok_or_else(|| {
            let remedy = "make one with `nuthatch-cluster init`, or name the keyspace of the bucket's cluster";
            ClusterError::NotFound(format!("{} has no cluster; {remedy}", self.address()))
        })
    }

    /// Whether it was made to try things out.
    pub(crate) fn is_trial(&self) -> Result<bool> {
        Ok(self.said()?.is_trial)
    }

    /// As the bucket names it: without hosts, which may change.
    fn named(&self) -> String {
        format!("cassandra://…/{}", self.name)
    }
}

/// Makes the cluster of a keyspace and a bucket that have none. One that was left half made is finished.
///
/// # Errors
/// `Invalid` when one of them has a cluster already, or too few copies; `Unreachable`.
pub fn init(
    address: &Address,
    settings: &Settings,
    bucket: &Bucket,
    lease_ms: u64,
    copies: Copies,
) -> Result<Identity> {
    let keyspace = Keyspace::connect(address, settings)?;
    let mut identity = Identity::new(lease_ms, Some(keyspace.named()))?;
    let base = Base::find(bucket)?;
    let before = match keyspace.replication()? {
        Some(replication) => {
            keyspace.copies_are_enough(&replication, copies)?;
            keyspace.identity()?
        }
        None => None,
    };
    match (&before, &base) {
        (Some(said), None) => identity = said.identity.clone(),
        (None, None) => {}
        (Some(said), Some(base)) if said.identity.uuid == base.cluster() => {
            return Err(keyspace.invalid(&format!("and {} have a cluster already", bucket.address())));
        }
        (_, Some(base)) => {
            let (place, cluster) = (bucket.address(), base.cluster());
            return Err(keyspace.invalid(&format!(
                "cannot be the log of {place}, which has cluster {cluster} already; give another prefix of the bucket"
            )));
        }
    }
    keyspace.create(copies)?;
    keyspace.create_tables()?;
    let Identity { uuid, lease_ms, written_by, .. } = &identity;
    // Conditional, so that one of two who do this at the same time is refused.
    let statement = format!(
        "INSERT INTO {}.cluster (id, format, uuid, lease_ms, is_trial, written_by) VALUES (0, {FORMAT}, {uuid}, {lease_ms}, \
         {}, '{written_by}') IF NOT EXISTS",
        keyspace.name,
        copies == Copies::Any
    );
    keyspace.connection.ask("cluster/0", statement)?;
    let head = format!(
        "INSERT INTO {}.heads (grp, slot, epoch, place, address, trimmed) VALUES (0, 0, 0, 0, '', 0) IF NOT EXISTS",
        keyspace.name
    );
    keyspace.connection.ask("heads/0", head)?;
    match keyspace.identity()? {
        Some(said) if said.identity.uuid == identity.uuid => {}
        _ => return Err(keyspace.invalid("became another cluster's log just now; look at it with `status`")),
    }
    Base::init(bucket, &identity)?;
    Ok(identity)
}

/// The log of the cluster in a keyspace and a bucket.
///
/// # Errors
/// `NotFound` when there is none; `Invalid` for one of another cluster or of a newer program, and for too few copies; `Unreachable`.
pub fn open(address: &Address, settings: &Settings, bucket: &Bucket) -> Result<RowLog> {
    let base = Base::open(bucket)?;
    let keyspace = Keyspace::connect(address, settings)?;
    let said = keyspace.said()?;
    if said.format > FORMAT {
        return Err(keyspace.invalid(&format!(
            "has format {} (written by {}), this program reads up to {FORMAT}; use a newer Nuthatch",
            said.format, said.identity.written_by
        )));
    }
    if said.identity.uuid != base.cluster() {
        return Err(keyspace.invalid(&format!(
            "is the log of cluster {}, and {} has cluster {}; give the keyspace and the bucket of the same one",
            said.identity.uuid,
            bucket.address(),
            base.cluster()
        )));
    }
    let copies = if said.is_trial { Copies::Any } else { Copies::Three };
    if let Some(replication) = keyspace.replication()? {
        keyspace.copies_are_enough(&replication, copies)?;
    }
    let Keyspace { connection, name } = keyspace;
    let named = connection.address.clone();
    Ok(RowLog::new(base, &named, Arc::new(CqlRows::prepare(connection, &name)?)))
}

/// Nothing in them expires: an entry goes when a checkpoint has it, and not before.
fn tables(keyspace: &str) -> [String; 3] {
    [
        format!(
            "CREATE TABLE IF NOT EXISTS {keyspace}.cluster (id int PRIMARY KEY, format int, uuid uuid, lease_ms bigint, \
             is_trial boolean, written_by text)"
        ),
        format!(
            "CREATE TABLE IF NOT EXISTS {keyspace}.heads (grp int, slot bigint STATIC, epoch bigint STATIC, place bigint STATIC, \
             writer uuid STATIC, address text STATIC, trimmed bigint STATIC, first bigint, of_epoch bigint, of_writer uuid, \
             PRIMARY KEY ((grp), first)) WITH CLUSTERING ORDER BY (first DESC)"
        ),
        // Resurrected rows lie behind the head's mark, so the tombstones need not be kept for days.
        format!(
            "CREATE TABLE IF NOT EXISTS {keyspace}.log (grp int, bucket bigint, slot bigint, writer uuid, part int, parts int, \
             bytes int, body blob, PRIMARY KEY ((grp, bucket), slot, writer, part)) WITH gc_grace_seconds = 10800"
        ),
    ]
}

/// The copies that a keyspace keeps in all its data centres; full ones, of those that say `3/1`.
pub fn copies(settings: &BTreeMap<&str, &str>) -> u32 {
    let full = |text: &str| {
        let (all, transient) = text.split_once('/').unwrap_or((text, "0"));
        Some(all.parse::<u32>().ok()?.saturating_sub(transient.parse().ok()?))
    };
    settings.iter().filter(|(key, _)| **key != "class").filter_map(|(_, value)| full(value)).sum()
}

fn said(settings: &BTreeMap<&str, &str>) -> String {
    let class = |value: &str| value.rsplit('.').next().unwrap_or(value).to_string();
    let pairs = settings.iter().map(|(key, value)| format!("{key}: {}", class(value)));
    pairs.collect::<Vec<_>>().join(", ")
}

pub(crate) fn text(row: Option<&Row>, at: usize) -> Option<String> {
    match row?.columns.get(at)? {
        Some(CqlValue::Text(text) | CqlValue::Ascii(text)) => Some(text.clone()),
        _ => None,
    }
}

/// A random number for what a check leaves no trace of.
pub(crate) fn random() -> Uuid {
    Uuid::new_v4()
}
