//! The statements of a log, prepared.

use futures_util::{StreamExt, TryStreamExt, stream};
use nuthatch_cluster::{Advance, Advanced, Change, Head, Part, Result, Rows, SLOTS_IN_BUCKET, Size, Slot, Tenure};
use scylla::errors::PrepareError;
use scylla::response::query_result::QueryResult;
use scylla::serialize::row::SerializeRow;
use scylla::statement::Consistency;
use scylla::statement::batch::{Batch, BatchType};
use scylla::statement::prepared::PreparedStatement;
use scylla::value::{CqlValue, Row};
use uuid::Uuid;

use crate::connection::{Connection, rows};

/// The one group that there is so far.
const GROUP: i32 = 0;
const PARTS_AT_ONCE: usize = 4;
/// Rows that are read at once while a node catches up: 16 MiB at most.
const ROWS_AHEAD: usize = 32;
const HEAD: &str = "heads/0";

/// A keyspace with a log in it.
pub(crate) struct CqlRows {
    connection: Connection,
    head: PreparedStatement,
    settled_head: PreparedStatement,
    tenure: PreparedStatement,
    put: PreparedStatement,
    parts: PreparedStatement,
    go_on: PreparedStatement,
    release: PreparedStatement,
    own: Batch,
    raise_trimmed: PreparedStatement,
    buckets: PreparedStatement,
    remove_bucket: PreparedStatement,
    remove_slots: PreparedStatement,
    sizes: PreparedStatement,
    some: PreparedStatement,
}

impl CqlRows {
    /// # Errors
    /// `Unreachable`.
    pub fn prepare(connection: Connection, keyspace: &str) -> Result<Self> {
        let prepare = |statement: String| -> Result<PreparedStatement> {
            let prepared = connection.runtime.block_on(connection.session.prepare(statement));
            let mut prepared = prepared.map_err(|error: PrepareError| connection.unreachable("the tables", &error))?;
            // Each of them: a row is written once, and a step of the head is settled by what the head is then.
            prepared.set_is_idempotent(true);
            Ok(prepared)
        };
        let head = format!(
            "SELECT slot, epoch, place, address, trimmed, first, of_epoch, of_writer FROM {keyspace}.heads WHERE grp = ? LIMIT 1"
        );
        let mut settled_head = prepare(head.clone())?;
        settled_head.set_consistency(Consistency::Serial);
        let own_head = prepare(format!(
            "UPDATE {keyspace}.heads SET slot = ?, epoch = ?, place = ?, writer = ?, address = ? WHERE grp = ? \
             IF slot = ? AND epoch = ? AND place = ?"
        ))?;
        let own_tenure =
            prepare(format!("INSERT INTO {keyspace}.heads (grp, first, of_epoch, of_writer) VALUES (?, ?, ?, ?)"))?;
        let mut own = Batch::new(BatchType::Unlogged);
        own.append_statement(own_head);
        own.append_statement(own_tenure);
        own.set_is_idempotent(true);
        Ok(Self {
            head: prepare(head)?,
            settled_head,
            tenure: prepare(format!(
                "SELECT first, of_epoch, of_writer FROM {keyspace}.heads WHERE grp = ? AND first <= ? LIMIT 1"
            ))?,
            put: prepare(format!(
                "INSERT INTO {keyspace}.log (grp, bucket, slot, writer, part, parts, bytes, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
            ))?,
            parts: prepare(format!(
                "SELECT part, parts, body FROM {keyspace}.log WHERE grp = ? AND bucket = ? AND slot = ? AND writer = ?"
            ))?,
            go_on: prepare(format!(
                "UPDATE {keyspace}.heads SET slot = ?, place = ? WHERE grp = ? IF slot = ? AND writer = ? AND place = ?"
            ))?,
            release: prepare(format!(
                "UPDATE {keyspace}.heads SET slot = ?, place = ?, address = '' WHERE grp = ? \
                 IF slot = ? AND writer = ? AND place = ?"
            ))?,
            own,
            raise_trimmed: prepare(format!("UPDATE {keyspace}.heads SET trimmed = ? WHERE grp = ? IF trimmed < ?"))?,
            buckets: prepare(format!("SELECT DISTINCT grp, bucket FROM {keyspace}.log"))?,
            remove_bucket: prepare(format!("DELETE FROM {keyspace}.log WHERE grp = ? AND bucket = ?"))?,
            remove_slots: prepare(format!("DELETE FROM {keyspace}.log WHERE grp = ? AND bucket = ? AND slot <= ?"))?,
            some: prepare(format!(
                "SELECT slot, writer, part, parts, body FROM {keyspace}.log WHERE grp = ? AND bucket = ? AND slot >= ? AND slot <= ? \
                 LIMIT {ROWS_AHEAD}"
            ))?,
            sizes: prepare(format!("SELECT slot, writer, bytes FROM {keyspace}.log WHERE grp = ? AND bucket = ?"))?,
            connection,
        })
    }

    fn ask(&self, object: &str, statement: &PreparedStatement, values: impl SerializeRow) -> Result<Vec<Row>> {
        let asked = self.connection.session.execute_unpaged(statement, values);
        self.answered(object, self.connection.runtime.block_on(asked))
    }

    fn answered<E: std::error::Error>(
        &self,
        object: &str,
        answer: std::result::Result<QueryResult, E>,
    ) -> Result<Vec<Row>> {
        let answer = answer.map_err(|error| self.connection.unreachable(object, &error))?;
        rows(answer, |error| self.connection.unreachable(object, error))
    }

    fn advanced(&self, found: &[Row]) -> Result<Advanced> {
        match found.first().and_then(|row| row.columns.first()) {
            Some(Some(CqlValue::Boolean(true))) => Ok(Advanced::Done),
            Some(Some(CqlValue::Boolean(false))) => Ok(Advanced::Refused),
            _ => {
                let what = std::io::Error::other("the answer does not say whether the change was applied");
                Err(self.connection.unreachable(HEAD, &what))
            }
        }
    }
}

impl Rows for CqlRows {
    fn head(&self, settled: bool) -> Result<Head> {
        let statement = if settled { &self.settled_head } else { &self.head };
        let found = self.ask(HEAD, statement, (GROUP,))?;
        let Some(row) = found.first() else {
            let keyspace = &self.connection.address;
            let what = format!("{keyspace} has lost the head of the log: restore its table `heads` from a snapshot");
            return Err(nuthatch_cluster::ClusterError::NotFound(what));
        };
        let address = match column(row, 3) {
            Some(CqlValue::Text(address)) => address.clone(),
            _ => String::new(),
        };
        let tenure = tenure(row, 5);
        Ok(Head {
            slot: number(row, 0),
            epoch: number(row, 1),
            place: number(row, 2),
            address,
            trimmed: number(row, 4),
            tenure,
        })
    }

    fn tenure(&self, slot: Slot) -> Result<Option<Tenure>> {
        let found = self.ask(HEAD, &self.tenure, (GROUP, signed(slot)))?;
        Ok(found.first().and_then(|row| tenure(row, 0)))
    }

    fn put(&self, slot: Slot, writer: u128, parts: Vec<Part>) -> Result<()> {
        let (bucket, writer) = (signed(slot / SLOTS_IN_BUCKET), Uuid::from_u128(writer));
        let puts = parts.into_iter().map(|part| {
            let Part { number, of, body } = part;
            let bytes = body.len() as i32;
            let values = (GROUP, bucket, signed(slot), writer, number as i32, of as i32, bytes, body);
            async { self.connection.session.execute_unpaged(&self.put, values).await.map(drop) }
        });
        let put = stream::iter(puts).buffer_unordered(PARTS_AT_ONCE).try_collect::<()>();
        self.connection.runtime.block_on(put).map_err(|error| self.connection.unreachable(&named(slot), &error))
    }

    fn parts(&self, slot: Slot, writer: u128) -> Result<Vec<Part>> {
        let values = (GROUP, signed(slot / SLOTS_IN_BUCKET), signed(slot), Uuid::from_u128(writer));
        let found = self.ask(&named(slot), &self.parts, values)?;
        Ok(found.into_iter().map(|row| part(row, 0)).collect())
    }

    fn some(&self, from: Slot, through: Slot) -> Result<Vec<(Slot, u128, Part)>> {
        let values = (GROUP, signed(from / SLOTS_IN_BUCKET), signed(from), signed(through));
        let found = self.ask(&named(from), &self.some, values)?;
        Ok(found.into_iter().filter_map(|row| Some((number(&row, 0), writer(&row, 1)?, part(row, 2)))).collect())
    }

    fn advance(&self, step: &Advance) -> Result<Advanced> {
        let Advance { slot, before, place, writer, change } = step;
        let (from, slot, before, place) = (signed(slot - 1), signed(*slot), signed(*before), signed(*place));
        let writer = Uuid::from_u128(*writer);
        let found = match change {
            Change::Owner { epoch, address } => {
                let values = (
                    (slot, signed(*epoch), place, writer, address, GROUP, from, signed(epoch - 1), before),
                    (GROUP, slot, signed(*epoch), writer),
                );
                let owned = self.connection.session.batch(&self.own, values);
                self.answered(HEAD, self.connection.runtime.block_on(owned))?
            }
            Change::Nothing => self.ask(HEAD, &self.go_on, (slot, place, GROUP, from, writer, before))?,
            Change::Released => self.ask(HEAD, &self.release, (slot, place, GROUP, from, writer, before))?,
        };
        self.advanced(&found)
    }

    fn raise_trimmed(&self, through: Slot) -> Result<()> {
        let through = signed(through);
        // Refused when it is there already.
        self.advanced(&self.ask(HEAD, &self.raise_trimmed, (through, GROUP, through))?).map(drop)
    }

    /// Looks for buckets, so that rows which came late go with the next trim.
    fn remove(&self, through: Slot) -> Result<()> {
        let last = signed(through / SLOTS_IN_BUCKET);
        for row in self.ask("log", &self.buckets, ())? {
            let bucket = number(&row, 1) as i64;
            if bucket < last {
                self.ask("log", &self.remove_bucket, (GROUP, bucket))?;
            } else if bucket == last {
                self.ask("log", &self.remove_slots, (GROUP, bucket, signed(through)))?;
            }
        }
        Ok(())
    }

    fn sizes(&self, bucket: u64) -> Result<Vec<Size>> {
        let found = self.ask("log", &self.sizes, (GROUP, signed(bucket)))?;
        let size = |row: &Row| Some(Size { slot: number(row, 0), writer: writer(row, 1)?, bytes: number(row, 2) });
        Ok(found.iter().filter_map(size).collect())
    }
}

fn named(slot: Slot) -> String {
    format!("log/0/{slot}")
}

/// CQL has no unsigned numbers. Slots and places count up from 0 and never come near the end.
fn signed(number: u64) -> i64 {
    number as i64
}

fn column(row: &Row, at: usize) -> Option<&CqlValue> {
    row.columns.get(at)?.as_ref()
}

fn number(row: &Row, at: usize) -> u64 {
    match column(row, at) {
        Some(CqlValue::BigInt(number)) => *number as u64,
        Some(CqlValue::Int(number)) => *number as u64,
        _ => 0,
    }
}

fn writer(row: &Row, at: usize) -> Option<u128> {
    match column(row, at) {
        Some(CqlValue::Uuid(writer)) => Some(writer.as_u128()),
        _ => None,
    }
}

/// Its number, how many there are, and its bytes.
fn part(mut row: Row, at: usize) -> Part {
    let body = match row.columns.get_mut(at + 2).and_then(Option::take) {
        Some(CqlValue::Blob(body)) => body,
        _ => Vec::new(),
    };
    Part { number: number(&row, at) as u32, of: number(&row, at + 1) as u32, body }
}

fn tenure(row: &Row, at: usize) -> Option<Tenure> {
    Some(Tenure { first: number(row, at), epoch: number(row, at + 1), writer: writer(row, at + 2)? })
}
