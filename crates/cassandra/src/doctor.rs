//! Whether a keyspace keeps the promises that the log stands on, and which settings weaken them.

use futures_util::future::join_all;
use nuthatch_cluster::Result;
use scylla::policies::load_balancing::{NodeIdentifier, SingleTargetLoadBalancingPolicy};
use scylla::statement::Statement;
use scylla::value::{CqlValue, Row};

use crate::connection::rows;
use crate::keyspace::{Keyspace, random, text};

/// Rounds, and writers that want the same row in each.
const ROUNDS: usize = 20;
const WRITERS: i64 = 8;
/// Paxos' own rows are kept as long; a node that was away for longer may have forgotten what it promised.
const HEADS_GRACE_SECONDS_MIN: i32 = 86_400;
const CLOCKS_APART_MS_MAX: i64 = 1000;

/// The findings of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Races for one row.
    pub rounds: usize,
    /// Writers in each.
    pub writers: usize,
    /// Findings that break a promise, with the remedy.
    pub problems: Vec<String>,
    /// Findings that are worth knowing and break no promise.
    pub notes: Vec<String>,
}

/// Has several writers at a time want the same row by a lightweight transaction, and reads settings. Leaves nothing behind.
///
/// # Errors
/// `Unreachable`; `NotFound` when the keyspace has no log.
pub fn check(keyspace: &Keyspace) -> Result<Checked> {
    let is_trial = keyspace.is_trial()?;
    let mut checked = Checked { rounds: ROUNDS, writers: WRITERS as usize, ..Default::default() };
    copies(keyspace, is_trial, &mut checked)?;
    race(keyspace, &mut checked)?;
    tables(keyspace, &mut checked)?;
    nodes(keyspace, &mut checked)?;
    Ok(checked)
}

fn copies(keyspace: &Keyspace, is_trial: bool, checked: &mut Checked) -> Result<()> {
    let Some(replication) = keyspace.replication()? else { return Ok(()) };
    let name = &keyspace.name;
    if replication.copies < 3 {
        let what = format!(
            "{name} keeps {} of three copies ({}): one lost node can take acknowledged writes with it. ALTER KEYSPACE to a \
             replication factor of 3, then `nodetool repair {name}`",
            replication.copies, replication.said
        );
        if is_trial { checked.notes.push(what) } else { checked.problems.push(what) }
    }
    if !replication.is_durable {
        checked
            .problems
            .push(format!("{name} has durable_writes = false: ALTER KEYSPACE {name} WITH durable_writes = true"));
    }
    Ok(())
}

fn race(keyspace: &Keyspace, checked: &mut Checked) -> Result<()> {
    let connection = &keyspace.connection;
    let heads = format!("{}.heads", keyspace.name);
    let mut problem = |what: &str| {
        let what = format!("lightweight transactions: {what}");
        if !checked.problems.contains(&what) {
            checked.problems.push(what);
        }
    };
    let insert = format!("INSERT INTO {heads} (grp, slot) VALUES (?, ?) IF NOT EXISTS");
    let prepared = connection.runtime.block_on(connection.session.prepare(insert));
    // Not said to be idempotent: repeated by the driver it would refuse its own first try.
    let statement = &prepared.map_err(|error| connection.unreachable("heads", &error))?;
    for _ in 0..ROUNDS {
        // Groups have numbers from 0.
        let group = -1 - (random().as_u128() as u32 >> 1) as i32;
        let raced = (0..WRITERS).map(|writer| async move {
            (writer, connection.session.execute_unpaged(statement, (group, writer)).await)
        });
        let (mut winners, mut unknown) = (Vec::new(), 0);
        for (writer, answer) in connection.runtime.block_on(join_all(raced)) {
            // A writer without an answer may have won: the row tells.
            match answer {
                Err(_) => unknown += 1,
                Ok(answer) => {
                    if applied(&rows(answer, |error| connection.unreachable("heads", error))?) {
                        winners.push(writer);
                    }
                }
            }
        }
        let mut statement = Statement::new(format!("SELECT slot FROM {heads} WHERE grp = {group}"));
        statement.set_consistency(scylla::statement::Consistency::Serial);
        let found = connection.ask("heads", statement)?;
        let found = match found.first().and_then(|row| row.columns.first()) {
            Some(Some(CqlValue::BigInt(winner))) => Some(*winner),
            _ => None,
        };
        if winners.len() > 1 {
            problem("several of the writers at the same time were told that the row is theirs");
        }
        if winners.is_empty() && unknown == 0 {
            problem("nobody could write a row that was not there");
        }
        if let [winner] = winners[..]
            && found != Some(winner)
        {
            problem("a SERIAL read does not find what a writer was told to have written");
        }
        connection.ask("heads", format!("DELETE FROM {heads} WHERE grp = {group}"))?;
    }
    Ok(())
}

fn applied(found: &[Row]) -> bool {
    matches!(found.first().and_then(|row| row.columns.first()), Some(Some(CqlValue::Boolean(true))))
}

fn tables(keyspace: &Keyspace, checked: &mut Checked) -> Result<()> {
    let statement = format!(
        "SELECT table_name, default_time_to_live, gc_grace_seconds FROM system_schema.tables WHERE keyspace_name = '{}'",
        keyspace.name
    );
    for row in keyspace.connection.ask("the tables", statement)? {
        let (table, expires, grace) = (text(Some(&row), 0).unwrap_or_default(), int(&row, 1), int(&row, 2));
        let named = format!("{}.{table}", keyspace.name);
        if expires > 0 {
            checked.problems.push(format!(
                "{named} forgets its rows after {expires} s, acknowledged writes too: ALTER TABLE {named} WITH \
                 default_time_to_live = 0"
            ));
        }
        if table == "heads" && grace < HEADS_GRACE_SECONDS_MIN {
            checked.problems.push(format!(
                "{named} has gc_grace_seconds = {grace}: a node that was away for longer forgets what it promised. ALTER TABLE \
                 {named} WITH gc_grace_seconds = 864000"
            ));
        }
    }
    Ok(())
}

/// Checks the clock and the settings of each node.
fn nodes(keyspace: &Keyspace, checked: &mut Checked) -> Result<()> {
    let connection = &keyspace.connection;
    let mut clocks = Vec::new();
    for node in connection.session.get_cluster_state().get_nodes_info() {
        let address = node.address.ip();
        let asked = |statement: &str| {
            let mut statement = Statement::new(statement);
            let only = NodeIdentifier::Node(node.clone());
            statement.set_load_balancing_policy(Some(SingleTargetLoadBalancingPolicy::new(only, None)));
            connection.ask(&address.to_string(), statement)
        };
        let found = match asked("SELECT toUnixTimestamp(now()) FROM system.local") {
            Ok(found) => found,
            Err(_) => {
                checked.notes.push(format!("node {address} does not answer; the log goes on with a majority"));
                continue;
            }
        };
        if let Some(Some(CqlValue::BigInt(now))) = found.first().and_then(|row| row.columns.first()) {
            clocks.push(*now);
        }
        // A table of Cassandra from 4.0 on; ScyllaDB has none.
        let settings =
            "SELECT name, value FROM system_views.settings WHERE name IN ('commitlog_sync', 'paxos_variant')";
        let found = match asked(settings) {
            Ok(found) => found,
            Err(error) => {
                checked.notes.push(format!("node {address} does not say its settings: {error}"));
                continue;
            }
        };
        for row in found {
            let (name, value) = (text(Some(&row), 0).unwrap_or_default(), text(Some(&row), 1).unwrap_or_default());
            match (name.as_str(), value.as_str()) {
                ("commitlog_sync", "periodic") => checked.notes.push(format!(
                    "node {address}: commitlog_sync is periodic, so what was acknowledged outlives a killed process, and not a \
                     power cut of a majority at once; `group` or `batch` outlives that, too"
                )),
                ("paxos_variant", "v1") => checked
                    .notes
                    .push(format!("node {address}: paxos_variant is v1; v2 takes one round trip less for each commit")),
                _ => {}
            }
        }
    }
    let apart = clocks.iter().max().zip(clocks.iter().min()).map_or(0, |(last, first)| last - first);
    if apart > CLOCKS_APART_MS_MAX {
        checked.notes.push(format!(
            "the nodes' clocks are up to {apart} ms apart; the log compares none, but the database's own upkeep does: mend NTP"
        ));
    }
    Ok(())
}

fn int(row: &Row, at: usize) -> i32 {
    match row.columns.get(at) {
        Some(Some(CqlValue::Int(number))) => *number,
        _ => 0,
    }
}
