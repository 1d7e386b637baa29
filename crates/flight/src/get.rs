//! `DoGet`: the records of a collection, or the hits of a search.
//!
//! **Invariant:** all batches of a scan show one moment, even under concurrent writes; no more than two of them wait
//! for the client.

use nuthatch_link::{Include, Result as EngineResult, Scan, SnapshotCollection, Wanted};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tonic::Status;

use crate::caller::{Begun, Caller};
use crate::columns::Shape;
use crate::outgoing::{Answer, Encoder, Message, Sent, is_taken};
use crate::question::{self, COLUMNS_INSTEAD};
use crate::snapshots;
use crate::ticket::Ticket;

/// The approximate size of a batch: the batches being read, waiting and being sent then fit into a processor's cache
/// together.
const BATCH_BYTES: usize = 768 << 10;
const BATCH_ROWS_MAX: usize = 10_000;
/// Rows of the first batch: how large they are is not known yet.
const BATCH_ROWS_FIRST: usize = 64;
/// Batches that are made in one turn, at most: others have theirs.
const BATCHES_AT_ONCE: usize = 16;
/// Hits of one batch.
const SEARCH_ROWS: usize = 1000;

/// Answers a ticket.
///
/// # Errors
/// `NOT_FOUND` without such a collection, `INVALID_ARGUMENT` for columns, conditions or searches that cannot be.
pub async fn get<C: Caller>(caller: C, ticket: Ticket) -> Result<Answer, Status> {
    let (send, messages) = mpsc::channel(1);
    match ticket.search {
        Some(_) => search(caller, ticket, send).await?,
        None => scan(caller, ticket, send).await?,
    }
    Ok(Answer::new(messages))
}

async fn scan<C: Caller>(caller: C, ticket: Ticket, send: mpsc::Sender<Sent>) -> Result<(), Status> {
    let rows_max = ticket.batch_rows.unwrap_or(BATCH_ROWS_MAX);
    if !(1..=BATCH_ROWS_MAX).contains(&rows_max) {
        return Err(Status::invalid_argument(format!("batch_rows is {rows_max}; choose 1 to {BATCH_ROWS_MAX}")));
    }
    let kept = snapshots::get(&caller, ticket.snapshot.as_deref())?;
    let Begun { database, turn } = caller.begin().await?;
    let opened = caller.step(move || {
        let live = database.existing_collection(&ticket.collection)?;
        // First the snapshot: whatever kinds of values it has, the collection knows afterwards.
        let snapshot = kept.map_or_else(|| database.snapshot(), |kept| Ok(kept.waiting(database.waits())))?;
        let shape = Shape::of_scan(&live.info()?, ticket.columns.as_deref())?;
        let collection = snapshot.collection(&ticket.collection)?;
        let filter = ticket.filter.as_deref().map(nuthatch_filter::parse).transpose()?;
        let (scan, wanted) =
            (Scan { limit: rows_max.min(BATCH_ROWS_FIRST), filter, ..Scan::default() }, shape.wanted());
        let left = ticket.limit.unwrap_or(u64::MAX);
        let encoder = Encoder::new(&shape.schema)?;
        Ok(Scanning { collection, shape, scan, wanted, rows_max, left, encoder, has_ended: false })
    });
    let mut scanning = opened.await?;
    tokio::spawn(async move {
        let _turn = turn;
        let mut message = Ok(Message::of_schema(&scanning.shape.schema));
        while is_taken(&send, message).await {
            let ready = send.clone();
            let step = caller.step(move || {
                // As long as they are taken as fast as they are made, nobody has to be woken between two.
                for _ in 1..BATCHES_AT_ONCE {
                    let Some(message) = scanning.step()? else { return Ok(None) };
                    match ready.try_send(Ok(message)) {
                        Ok(()) => {}
                        Err(TrySendError::Full(message)) => return Ok(Some((scanning, message))),
                        Err(TrySendError::Closed(_)) => return Ok(None),
                    }
                }
                Ok(scanning.step()?.map(|message| (scanning, Ok(message))))
            });
            (scanning, message) = match step.await {
                Ok(Some(next)) => next,
                Ok(None) => return,
                Err(status) => {
                    is_taken(&send, Err(status)).await;
                    return;
                }
            };
        }
    });
    Ok(())
}

/// A scan under way.
struct Scanning {
    collection: SnapshotCollection,
    shape: Shape,
    scan: Scan,
    wanted: Wanted,
    rows_max: usize,
    /// Records that may still come.
    left: u64,
    encoder: Encoder,
    has_ended: bool,
}

impl Scanning {
    /// The next batch; `None` at the end.
    fn step(&mut self) -> EngineResult<Option<Message>> {
        if self.has_ended || self.left == 0 {
            return Ok(None);
        }
        self.scan.limit = self.scan.limit.min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let mut batch = self.shape.begin(self.scan.limit);
        self.scan.cursor = self.collection.visit(&self.scan, &self.wanted, &mut batch)?;
        self.has_ended = self.scan.cursor.is_none();
        let rows = batch.rows();
        if rows == 0 {
            return Ok(None);
        }
        self.left = self.left.saturating_sub(rows as u64);
        let message = self.encoder.batch(&batch.finish()?)?;
        // As many as come to the wanted bytes, if the next are like these; never many more than before.
        let fitting = BATCH_BYTES * rows / message.body_bytes().max(1);
        self.scan.limit = fitting.clamp(1, rows * 4).min(self.rows_max);
        Ok(Some(message))
    }
}

async fn search<C: Caller>(caller: C, ticket: Ticket, send: mpsc::Sender<Sent>) -> Result<(), Status> {
    if ticket.filter.is_some() || ticket.limit.is_some() || ticket.batch_rows.is_some() {
        return Err(Status::invalid_argument(
            "with `search`, put `where` and `limit` inside it, and leave `batch_rows` out",
        ));
    }
    if let Some(question) = &ticket.search {
        question::check(question, &COLUMNS_INSTEAD)?;
    }
    let mut search = caller.search(ticket.search.unwrap_or_default())?;
    let kept = snapshots::get(&caller, ticket.snapshot.as_deref())?;
    let found = caller.run(move |database| {
        let live = database.existing_collection(&ticket.collection)?;
        let shape = Shape::of_search(&live.info()?, ticket.columns.as_deref())?;
        search.include = Include { text: shape.has_text(), payload: shape.has_payload(), vector: shape.has_vectors() };
        let answer = match kept {
            Some(snapshot) => snapshot.waiting(database.waits()).collection(&ticket.collection)?.search(&search)?,
            None => live.search(&search)?,
        };
        let mut encoder = Encoder::new(&shape.schema)?;
        let mut messages = vec![Message::of_schema(&shape.schema)];
        for hits in answer.hits.chunks(SEARCH_ROWS) {
            let mut batch = shape.begin(hits.len());
            hits.iter().try_for_each(|hit| batch.hit(hit, 0))?;
            messages.push(encoder.batch(&batch.finish()?)?);
        }
        Ok(messages)
    });
    let messages = found.await?;
    tokio::spawn(async move {
        for message in messages {
            if !is_taken(&send, Ok(message)).await {
                return;
            }
        }
    });
    Ok(())
}
