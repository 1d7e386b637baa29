//! `DoExchange`: questions in, hits out, batch by batch.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_flight::FlightData;
use nuthatch_link::{Error, Include};
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tonic::{Status, Streaming};

use crate::caller::Caller;
use crate::columns::{Queries, Shape};
use crate::incoming::Incoming;
use crate::message::Reader;
use crate::outgoing::{Answer, Encoder, Message, is_taken};
use crate::question::{self, BATCH_INSTEAD, COLUMNS_INSTEAD};
use crate::ticket::{Searches, of_descriptor};

/// Questions of one batch.
const QUERIES_MAX: usize = 1000;

struct Exchange<C: Caller> {
    incoming: Incoming<C>,
    caller: C,
    collection: String,
    /// The part that all questions share.
    search: Value,
    reader: Arc<Reader>,
    queries: Arc<Queries>,
    shape: Shape,
    encoder: Encoder,
    /// Questions that were answered.
    answered: u64,
}

/// Answers a stream of questions: for each batch of them a batch of hits, ascending by question and best first.
///
/// # Errors
/// `INVALID_ARGUMENT` for columns that are no questions, `NOT_FOUND` without such a collection.
pub async fn exchange<C: Caller>(caller: C, stream: Streaming<FlightData>) -> Result<Answer, Status> {
    let mut incoming = Incoming::new(stream, caller.clone());
    let opening = incoming.open().await?;
    let of_path = |collection| Searches { collection, columns: None, search: None };
    let Searches { collection, columns, search } = of_descriptor(&opening.descriptor, of_path)?;
    let search = search.unwrap_or_else(|| Value::Object(Map::new()));
    // Errors in it are reported before the first question.
    question::check(&search, &COLUMNS_INSTEAD)?;
    question::check(&search, &BATCH_INSTEAD)?;
    caller.search(search.clone())?;
    let reader = Arc::new(Reader::new(opening.schema));
    let (name, schema) = (collection.clone(), reader.plain_schema().clone());
    let prepared = caller.run(move |database| {
        let info = database.existing_collection(&name)?.info()?;
        let shape = Shape::of_searches(&info, columns.as_deref())?;
        let encoder = Encoder::new(&shape.schema)?;
        Ok((Queries::of(&schema)?, shape, encoder))
    });
    let (queries, shape, encoder) = prepared.await?;
    let mut message = Ok(Message::of_schema(&shape.schema));
    let queries = Arc::new(queries);
    let mut exchange = Exchange { incoming, caller, collection, search, reader, queries, shape, encoder, answered: 0 };
    let (send, messages) = mpsc::channel(1);
    tokio::spawn(async move {
        while is_taken(&send, message).await {
            // Dropped, a step cancels its searches.
            let step = tokio::select! {
                step = exchange.step() => step,
                () = send.closed() => return,
            };
            message = match step {
                Ok(Some(answer)) => Ok(answer),
                Ok(None) => return,
                Err(status) => {
                    is_taken(&send, Err(status)).await;
                    return;
                }
            };
        }
    });
    Ok(Answer::new(messages))
}

impl<C: Caller> Exchange<C> {
    /// Answers the next batch.
    async fn step(&mut self) -> Result<Option<Message>, Status> {
        loop {
            let Some(message) = self.incoming.message().await? else { return Ok(None) };
            if let Some((questions, answer)) = self.answer(message).await? {
                self.answered += questions;
                let encoded = self.encoder.batch(&answer);
                return encoded.map(Some).map_err(|error| Status::internal(error.message));
            }
        }
    }

    async fn answer(&self, message: FlightData) -> Result<Option<(u64, RecordBatch)>, Status> {
        let search = self.caller.search(self.search.clone())?;
        let (name, reader, queries) = (self.collection.clone(), self.reader.clone(), self.queries.clone());
        let (shape, first) = (self.shape.clone(), self.answered);
        let include = Include { text: shape.has_text(), payload: shape.has_payload(), vector: shape.has_vectors() };
        let answered = self.caller.run(move |database| {
            let Some(batch) = reader.batch(&message)? else { return Ok(None) };
            let questions = queries.read(&batch)?;
            let number = questions.len();
            if number > QUERIES_MAX {
                return Err(Error::invalid(format!("{number} questions in one batch; send {QUERIES_MAX} at a time")));
            }
            let one = |(text, vector)| nuthatch_link::Search { text, vector, include, ..search.clone() };
            let searches: Vec<_> = questions.into_iter().map(one).collect();
            let answers = database.existing_collection(&name)?.search_many(&searches)?;
            let mut batch = shape.begin(answers.iter().map(|answer| answer.hits.len()).sum());
            for (query, answer) in (first..).zip(&answers) {
                answer.hits.iter().try_for_each(|hit| batch.hit(hit, query))?;
            }
            Ok(Some((number as u64, batch.finish()?)))
        });
        answered.await
    }
}
