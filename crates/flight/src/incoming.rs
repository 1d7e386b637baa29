//! A stream of batches from a client.

use std::time::Duration;

use arrow_flight::{FlightData, FlightDescriptor};
use arrow_schema::SchemaRef;
use tokio::time::timeout;
use tonic::{Code, Status, Streaming};

use crate::caller::Caller;
use crate::message;

/// How long a client may keep a stream open and send nothing, or take nothing of an answer.
pub const IDLE_MAX: Duration = Duration::from_secs(600);

/// Messages, one at a time: the next is not read before the one at hand is done with.
pub struct Incoming<C: Caller> {
    stream: Streaming<FlightData>,
    caller: C,
    /// There is a message at hand.
    has_read: bool,
}

/// The beginning of a stream: where it goes and what its batches are.
pub struct Opening {
    pub descriptor: FlightDescriptor,
    pub schema: SchemaRef,
}

impl<C: Caller> Incoming<C> {
    pub fn new(stream: Streaming<FlightData>, caller: C) -> Self {
        Self { stream, caller, has_read: false }
    }

    /// The first message, or the first two.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for one without descriptor or schema.
    pub async fn open(&mut self) -> Result<Opening, Status> {
        let no_start = |what: &str| Status::invalid_argument(format!("the stream begins without a {what}"));
        let mut first = self.message().await?.ok_or_else(|| no_start("message"))?;
        let descriptor = first.flight_descriptor.take().ok_or_else(|| no_start("descriptor"))?;
        // Some clients send the descriptor by itself.
        if first.data_header.is_empty() {
            first = self.message().await?.ok_or_else(|| no_start("schema"))?;
        }
        let schema = self.caller.step(move || message::schema_of(&first)).await?;
        Ok(Opening { descriptor, schema: schema.into() })
    }

    /// The next message that may have a batch; `None` at the end.
    ///
    /// # Errors
    /// Those of the connection; `UNAVAILABLE` when the server is stopping; `DEADLINE_EXCEEDED` when nothing comes for too long.
    pub async fn message(&mut self) -> Result<Option<FlightData>, Status> {
        if std::mem::take(&mut self.has_read) {
            self.caller.release();
        }
        let next = timeout(IDLE_MAX, self.stream.message());
        let message = tokio::select! {
            biased;
            () = self.caller.stopping() => {
                return Err(Status::unavailable("the server is stopping; continue after the last acknowledged batch"));
            }
            message = next => message.map_err(|_| {
                Status::deadline_exceeded(format!("the client sent nothing for {} s; open the stream again", IDLE_MAX.as_secs()))
            })?,
        };
        let message = message.map_err(|status| match status.code() {
            // gRPC's code for a message over the limit.
            Code::OutOfRange => Status::resource_exhausted(format!(
                "{}; send fewer rows in a batch, or raise `body_max`",
                status.message()
            )),
            _ => status,
        })?;
        self.has_read = message.is_some();
        Ok(message)
    }
}
