//! `DoPut`: batches into a collection.
//!
//! **Invariant:** each batch is stored whole and acknowledged once it is as durable as was asked for, or refused whole; after a refusal
//! the stream is over, and what was acknowledged stays. While the disk takes one batch the next is stored, and no other is read before
//! that, so that a client that sends faster than the engine stores is held back by the connection itself.

use std::sync::Arc;

use arrow_flight::{FlightData, PutResult};
use arrow_schema::Schema;
use futures_util::stream::try_unfold;
use nuthatch_link::{CollectionOptions, Durability, EmbedderChoice, ErrorKind, PendingWrite, Upserted};
use serde::Serialize;
use tokio::task::{JoinError, JoinHandle};
use tokio_stream::Stream;
use tonic::{Status, Streaming};

use crate::caller::Caller;
use crate::columns::{Holder, Layout, VECTOR, vectors};
use crate::incoming::Incoming;
use crate::message::Reader;
use crate::ticket::{Target, of_descriptor};

/// The report on a batch when it is stored.
#[derive(Serialize)]
struct Stored {
    /// The number of the batch in its stream, from 1.
    sequence: u64,
    rows: u64,
    inserted: u64,
    replaced: u64,
    /// How values that a record cannot hold were converted; with the first batch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

struct Put<C: Caller> {
    incoming: Incoming<C>,
    caller: C,
    collection: String,
    durability: Durability,
    reader: Arc<Reader>,
    layout: Arc<Layout>,
    /// Batches that are stored, whether or not they are durable yet.
    begun: u64,
    /// The last of them, until it is acknowledged.
    syncing: Option<Syncing>,
    /// Why the stream is over once that has been acknowledged.
    refused: Option<Status>,
    has_ended: bool,
}

/// A batch on its way to the disk, in a task of its own: it arrives whether or not anybody waits for it.
type Syncing = JoinHandle<Result<PutResult, Status>>;

/// Stores a stream and acknowledges its batches.
///
/// # Errors
/// `INVALID_ARGUMENT` for a schema that the collection cannot hold, `NOT_FOUND` without such a collection: before any batch.
pub async fn put<C: Caller>(
    caller: C,
    stream: Streaming<FlightData>,
) -> Result<impl Stream<Item = Result<PutResult, Status>> + Send + use<C>, Status> {
    let mut incoming = Incoming::new(stream, caller.clone());
    let opening = incoming.open().await?;
    let of_path = |collection| Target { collection, durability: Durability::default(), create: false };
    let Target { collection, durability, create } = of_descriptor(&opening.descriptor, of_path)?;
    let reader = Arc::new(Reader::new(opening.schema));
    let (name, schema) = (collection.clone(), reader.plain_schema().clone());
    let layout = caller.run(move |database| {
        let collection = match database.existing_collection(&name) {
            Err(error) if create && error.kind == ErrorKind::NotFound => {
                let options = options_for(&schema)?;
                // A schema that nothing can hold makes no collection.
                Layout::of(&schema, Holder { name: &name, dim: options.dim, fields: &[] })?;
                database.collection(&name, options)?
            }
            found => found?,
        };
        Layout::of(&schema, (&collection.info()?).into())
    });
    let layout = Arc::new(layout.await?);
    let (begun, syncing, refused, has_ended) = (0, None, None, false);
    let put = Put { incoming, caller, collection, durability, reader, layout, begun, syncing, refused, has_ended };
    Ok(try_unfold(put, |mut put| async move { Ok(put.step().await?.map(|stored| (stored, put))) }))
}

/// A collection for what a stream brings: its vectors, or the vectors of its texts.
fn options_for(schema: &Schema) -> nuthatch_link::Result<CollectionOptions> {
    let Ok(field) = schema.field_with_name(VECTOR) else { return Ok(CollectionOptions::default()) };
    let column = vectors::column(VECTOR, field.data_type())?;
    let (dim, element) = (column.dim, Some(column.element()));
    Ok(CollectionOptions { dim, element, embedder: EmbedderChoice::None, ..CollectionOptions::default() })
}

impl<C: Caller> Put<C> {
    /// Stores what comes, until a batch is to be acknowledged.
    async fn step(&mut self) -> Result<Option<PutResult>, Status> {
        loop {
            let Some(mut syncing) = self.syncing.take() else {
                if let Some(refused) = self.refused.take() {
                    return Err(refused);
                }
                if self.has_ended {
                    return Ok(None);
                }
                self.syncing = self.store_next().await?;
                continue;
            };
            // A client may wait for each acknowledgement, so nothing is waited for that may come after it.
            if !self.has_ended && self.refused.is_none() {
                let next = tokio::select! {
                    biased;
                    done = &mut syncing => return arrived(done).map(Some),
                    message = self.incoming.message() => message,
                };
                match self.begin(next).await {
                    Ok(next) => self.syncing = next,
                    Err(refused) => self.refused = Some(refused),
                }
            }
            return arrived(syncing.await).map(Some);
        }
    }

    async fn store_next(&mut self) -> Result<Option<Syncing>, Status> {
        let next = self.incoming.message().await;
        self.begin(next).await
    }

    /// Stores a batch and sends it to the disk. `None` at the end, and for a message without a batch.
    async fn begin(&mut self, next: Result<Option<FlightData>, Status>) -> Result<Option<Syncing>, Status> {
        let Some(message) = next? else {
            self.has_ended = true;
            return Ok(None);
        };
        let Some((rows, pending)) = self.store(message).await? else { return Ok(None) };
        self.begun += 1;
        let (caller, sequence) = (self.caller.clone(), self.begun);
        let notes = if sequence == 1 { self.layout.notes().to_vec() } else { Vec::new() };
        Ok(Some(tokio::spawn(async move {
            let Upserted { inserted, replaced } = match pending {
                None => Upserted::default(),
                Some(pending) => {
                    caller.step(move || pending.wait()).await.map_err(|status| after(status, sequence - 1))?
                }
            };
            let stored = Stored { sequence, rows, inserted, replaced, notes };
            let app_metadata = serde_json::to_vec(&stored).expect("numbers are JSON").into();
            Ok(PutResult { app_metadata })
        })))
    }

    /// `None` for a message without a batch; nothing written for a batch without rows.
    async fn store(&self, message: FlightData) -> Result<Option<(u64, Option<PendingWrite>)>, Status> {
        let (name, durability) = (self.collection.clone(), self.durability);
        let (reader, layout) = (self.reader.clone(), self.layout.clone());
        let done = self.caller.run(move |database| {
            let Some(batch) = reader.batch(&message)? else { return Ok(None) };
            drop(message);
            let rows = batch.num_rows() as u64;
            if rows == 0 {
                return Ok(Some((0, None)));
            }
            let records = layout.records(&batch)?;
            drop(batch);
            let collection = database.existing_collection(&name)?.with_durability(durability);
            collection.begin_upsert(records).map(|pending| Some((rows, Some(pending))))
        });
        done.await.map_err(|status| after(status, self.begun))
    }
}

fn arrived(done: Result<Result<PutResult, Status>, JoinError>) -> Result<PutResult, Status> {
    done.unwrap_or_else(|error| Err(Status::internal(format!("a call panicked, which is a defect: {error}"))))
}

/// The refusal of a batch says which one it was: those before it are stored.
fn after(status: Status, stored: u64) -> Status {
    let message = format!("batch {} of the stream: {} (batches before it are stored)", stored + 1, status.message());
    Status::with_metadata(status.code(), message, status.metadata().clone())
}
