//! Streaming records in: a line of JSON each, answered by a line for each batch that is stored.
//!
//! **Invariant:** a line of the answer stands for records that are stored as durable as was asked for; nothing is read ahead of
//! what is being stored, so a client that sends faster than the disk writes is slowed down.

use std::convert::Infallible;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use nuthatch_link::{Durability, Record as EngineRecord};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio::time::timeout;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::admission::BodyReservation;
use crate::api::durable::Durable;
use crate::caller::{Caller, Writing};
use crate::extract::{Parameters, Segments, media_type, parse, refuse_compressed};
use crate::problem::Problem;
use crate::shared::Shared;
use crate::undrained_body::Streaming;
use nuthatch_dialect::Record;

const NDJSON: &str = "application/x-ndjson";
/// A batch is stored when it has that many bytes, however few records these are.
const BATCH_BYTES: u64 = 8 << 20;
/// Without another byte for that long, what has come is stored: a client that waits for its answer gets it.
const LULL: Duration = Duration::from_millis(100);

pub fn routes() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new().routes(routes!(ingest))
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Ingest {
    /// Records per batch.
    #[serde(default = "batch_default")]
    #[param(minimum = 1, maximum = 10000)]
    batch: usize,
    /// The failures that an acknowledged batch survives.
    #[serde(default)]
    durability: Durable,
}

/// A line of the answer.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = IngestLine)]
enum Line {
    /// All lines up to this one are stored.
    Stored(Stored),
    /// The last line, when everything is stored.
    Done(Stored),
    /// The last line after an error: lines after the last stored one are not stored.
    Failed(Failed),
}

/// The amount stored so far.
#[derive(Clone, Copy, Default, Serialize, ToSchema)]
#[schema(as = IngestStored)]
struct Stored {
    /// Lines read, empty ones included.
    lines: u64,
    inserted: u64,
    replaced: u64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = IngestFailed)]
struct Failed {
    stored: Stored,
    problem: Problem,
}

impl Failed {
    /// Builds the failure that ended a stream of which this much is stored.
    fn after(stored: Stored, problem: Problem) -> Self {
        let lines = stored.lines;
        let problem = match problem.kind.as_str() {
            "invalid" => problem
                .with_remedy(format!("the first {lines} lines are stored; fix the next one, and continue from there")),
            _ => problem,
        };
        Self { stored, problem }
    }
}

fn batch_default() -> usize {
    1000
}

/// Stores a stream of records, one line of JSON each, in batches. The server writes a line of the answer when it has
/// stored a batch, and only then reads the next. After an error, the last line says what is stored and what was wrong.
/// An error before the first stored batch is the answer itself.
#[utoipa::path(post, path = "/v1/collections/{collection}/ingest", tag = "records", security(("key" = ["write"])),
    params(("collection" = String, Path), Ingest), request_body(content = String, content_type = "application/x-ndjson"),
    responses((status = 200, description = "One line for each line of the body", body = Line, content_type = "application/x-ndjson")))]
async fn ingest(
    Writing(caller): Writing,
    Segments(collection): Segments<String>,
    Parameters(how): Parameters<Ingest>,
    request: Request,
) -> Result<Response, Problem> {
    refuse_compressed(request.headers())?;
    if media_type(request.headers()).is_none_or(|media| !media.eq_ignore_ascii_case(NDJSON)) {
        return Err(Problem::wrong_media_type(NDJSON));
    }
    if !(1..=10_000).contains(&how.batch) {
        return Err(Problem::invalid(format!("batches of {} records; choose 1 to 10,000", how.batch)));
    }
    let name = collection.clone();
    caller.run(move |database| database.existing_collection(&name).map(drop)).await?;
    let held = caller.shared.admission.hold();
    let mut stream = Stream {
        body: request.into_body(),
        batch: how.batch,
        durability: how.durability.into(),
        stored: Stored::default(),
        buffer: Vec::new(),
        begin: 0,
        searched: 0,
        read: 0,
        has_ended: false,
        collection,
        caller,
        held,
    };
    let first = stream.step().await?;
    let (send, mut lines) = mpsc::channel::<Bytes>(1);
    tokio::spawn(async move {
        let mut line = Ok(first);
        loop {
            let (text, is_last) = match line {
                Ok(Step::Stored) => (Line::Stored(stream.stored), false),
                Ok(Step::Ended) => (Line::Done(stream.stored), true),
                Err(problem) => (Line::Failed(Failed::after(stream.stored, problem)), true),
            };
            let mut text = serde_json::to_vec(&text).expect("numbers and strings are JSON");
            text.push(b'\n');
            // Nobody takes the answer any more: what is stored stays, and the rest was not acknowledged.
            if send.send(text.into()).await.is_err() || is_last {
                return;
            }
            line = stream.step().await;
        }
    });
    let lines = futures_util::stream::poll_fn(move |context| {
        lines.poll_recv(context).map(|line| line.map(Ok::<_, Infallible>))
    });
    let mut response = Response::new(Body::from_stream(lines));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(NDJSON));
    response.extensions_mut().insert(Streaming);
    Ok(response)
}

struct Stream {
    caller: Caller,
    collection: String,
    body: Body,
    batch: usize,
    durability: Durability,
    stored: Stored,
    /// Bytes that have come; lines from `begin` on were not read yet, and there is no end of a line from there to `searched`.
    buffer: Vec<u8>,
    begin: usize,
    searched: usize,
    /// Lines read.
    read: u64,
    has_ended: bool,
    /// The memory of the buffer and of the records at hand.
    held: BodyReservation,
}

enum Step {
    Stored,
    Ended,
}

impl Stream {
    /// Reads and stores the next batch.
    async fn step(&mut self) -> Result<Step, Problem> {
        let records = self.read_batch().await?;
        if records.is_empty() {
            return Ok(Step::Ended);
        }
        let (name, durability) = (self.collection.clone(), self.durability);
        let done = self
            .caller
            .run(move |database| database.existing_collection(&name)?.with_durability(durability).upsert(records))
            .await?;
        self.held.clear();
        self.held.grow((self.buffer.len() - self.begin) as u64)?;
        self.stored.lines = self.read;
        self.stored.inserted += done.inserted;
        self.stored.replaced += done.replaced;
        Ok(Step::Stored)
    }

    /// Records of whole lines: as many as a batch has, or as have come before a lull or the end. None at the end alone.
    async fn read_batch(&mut self) -> Result<Vec<EngineRecord>, Problem> {
        let mut records = Vec::new();
        let mut bytes = 0;
        loop {
            while let Some(line) = self.next_line() {
                bytes += line.len() as u64;
                self.read += 1;
                records.extend(record_of(&self.buffer[line], self.read)?);
                if records.len() >= self.batch || bytes >= BATCH_BYTES {
                    return Ok(records);
                }
            }
            if self.has_ended {
                return Ok(records);
            }
            let admission = self.caller.shared.admission.clone();
            let next = admission.next(&mut self.body);
            let data = match records.is_empty() {
                true => next.await?,
                false => match timeout(LULL, next).await {
                    Ok(data) => data?,
                    Err(_) => return Ok(records),
                },
            };
            match data {
                Some(data) => {
                    self.held.grow(data.len() as u64)?;
                    self.buffer.drain(..self.begin);
                    self.searched -= std::mem::take(&mut self.begin);
                    let line_max = self.caller.shared.config.body_max_bytes;
                    if self.buffer.len() as u64 > line_max {
                        return Err(Problem::too_large(format!("line {} has over {line_max} bytes", self.read + 1)));
                    }
                    self.buffer.extend_from_slice(&data);
                }
                None => self.has_ended = true,
            }
        }
    }

    /// Where the next whole line is; at the end, what is left.
    fn next_line(&mut self) -> Option<Range<usize>> {
        let end = match self.buffer[self.searched..].iter().position(|byte| *byte == b'\n') {
            Some(at) => self.searched + at + 1,
            None => {
                self.searched = self.buffer.len();
                if !self.has_ended || self.begin == self.buffer.len() {
                    return None;
                }
                self.buffer.len()
            }
        };
        let line = self.begin..end;
        (self.begin, self.searched) = (end, end);
        Some(line)
    }
}

/// The record of a line, if it is not empty.
fn record_of(line: &[u8], number: u64) -> Result<Option<EngineRecord>, Problem> {
    let line = line.trim_ascii();
    if line.is_empty() {
        return Ok(None);
    }
    let record: Record = parse(line).map_err(|why| Problem::invalid(format!("line {number} of the body: {why}")))?;
    Ok(Some(record.into_engine()?))
}
