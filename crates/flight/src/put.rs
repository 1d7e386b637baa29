//! `DoPut`: batches into a collection.
//!
//! **Invariant:** each batch is stored whole and acknowledged once it is as durable as was asked for, or refused whole; after a refusal
//! the stream is over, and what was acknowledged stays. The next batch is not read before, so that a client that sends faster than the
//! engine stores is held back by the connection itself.

use std::sync::Arc;

use arrow_flight::{FlightData, PutResult};
use arrow_schema::SchemaRef;
use futures_util::stream::try_unfold;
use nuthatch_engine::{Durability, Upserted};
use serde::Serialize;
use tokio_stream::Stream;
use tonic::{Status, Streaming};

use crate::caller::Caller;
use crate::columns::Layout;
use crate::incoming::Incoming;
use crate::message;
use crate::ticket::{Target, of_descriptor};

/// What is said of a batch when it is stored.
#[derive(Serialize)]
struct Stored {
    /// The number of the batch in its stream, from 1.
    sequence: u64,
    rows: u64,
    inserted: u64,
    replaced: u64,
}

struct Put<C: Caller> {
    incoming: Incoming<C>,
    caller: C,
    collection: String,
    durability: Durability,
    schema: SchemaRef,
    layout: Arc<Layout>,
    sequence: u64,
}

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
    let of_path = |collection| Target { collection, durability: Durability::default() };
    let Target { collection, durability } = of_descriptor(&opening.descriptor, of_path)?;
    let (name, schema) = (collection.clone(), opening.schema.clone());
    let layout = caller.run(move |database| Layout::of(&schema, &database.existing_collection(&name)?.info()?)).await?;
    let (schema, layout) = (opening.schema, Arc::new(layout));
    let put = Put { incoming, caller, collection, durability, schema, layout, sequence: 0 };
    Ok(try_unfold(put, |mut put| async move { Ok(put.step().await?.map(|stored| (stored, put))) }))
}

impl<C: Caller> Put<C> {
    /// Stores the next batch.
    async fn step(&mut self) -> Result<Option<PutResult>, Status> {
        loop {
            let Some(message) = self.incoming.message().await? else { return Ok(None) };
            if let Some((rows, done)) = self.store(message).await? {
                self.sequence += 1;
                let Upserted { inserted, replaced } = done;
                let stored = Stored { sequence: self.sequence, rows, inserted, replaced };
                let app_metadata = serde_json::to_vec(&stored).expect("numbers are JSON").into();
                return Ok(Some(PutResult { app_metadata }));
            }
        }
    }

    /// `None` for a message without a batch.
    async fn store(&self, message: FlightData) -> Result<Option<(u64, Upserted)>, Status> {
        let (name, durability) = (self.collection.clone(), self.durability);
        let (schema, layout) = (self.schema.clone(), self.layout.clone());
        let done = self.caller.run(move |database| {
            let Some(batch) = message::batch_of(&message, &schema)? else { return Ok(None) };
            drop(message);
            let rows = batch.num_rows() as u64;
            if rows == 0 {
                return Ok(Some((0, Upserted::default())));
            }
            let records = layout.records(&batch)?;
            drop(batch);
            let collection = database.existing_collection(&name)?.with_durability(durability);
            collection.upsert(records).map(|done| Some((rows, done)))
        });
        done.await.map_err(|status| after(status, self.sequence))
    }
}

/// The refusal of a batch says which one it was: those before it are stored.
fn after(status: Status, stored: u64) -> Status {
    let message = format!("batch {} of the stream: {} (batches before it are stored)", stored + 1, status.message());
    Status::with_metadata(status.code(), message, status.metadata().clone())
}
