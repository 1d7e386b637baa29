//! Answers of many batches, sent as the buffers that their columns are made of: gRPC's library would copy each message twice.
//!
//! A call puts its [`Answer`] into the extensions of its response, and [`send`] makes it the body of what the library has made of the rest.
//!
//! **Invariant:** what is sent is what the library would send for the same batch, but for zeros behind its description, which Arrow allows.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_flight::{FlightData, SchemaAsIpc};
use arrow_ipc::writer::{IpcWriteOptions, StreamEncoder};
use arrow_schema::{ArrowError, Schema};
use axum::body::Body;
use axum::http::HeaderMap;
use axum::response::Response;
use http_body::{Body as HttpBody, Frame};
use nuthatch_link::{Error, Result};
use parking_lot::Mutex;
use prost::bytes::{BufMut, Bytes, BytesMut};
use prost::encoding::{encode_varint, encoded_len_varint};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tonic::{Code, Status};

use crate::incoming::IDLE_MAX;

/// Pieces under this size are sent together with their neighbours: each has a head of its own on the wire.
const PIECE_BYTES_MIN: usize = 1024;
/// In front of Arrow's description of a message in a stream: a mark, and how long it is.
const PREFIX_BYTES: usize = 8;
/// `data_header` and `data_body` of `FlightData`, whose values have a length.
const HEADER_TAG: u64 = 2 << 3 | 2;
const BODY_TAG: u64 = 1000 << 3 | 2;

/// A message of gRPC, in the pieces in which it is sent.
#[derive(Debug)]
pub struct Message {
    pieces: VecDeque<Bytes>,
    body_bytes: usize,
}

/// A message, or what went wrong at the end of them.
pub type Sent = std::result::Result<Message, Status>;

type Messages = mpsc::Receiver<Sent>;

/// The answer of a call. The first one to take it gets it.
#[derive(Clone)]
pub struct Answer(Arc<Mutex<Option<Messages>>>);

/// Turns batches of one schema into messages without copying their columns.
pub struct Encoder(StreamEncoder);

impl Message {
    /// The first one of an answer.
    pub fn of_schema(schema: &Schema) -> Self {
        let data = FlightData::from(SchemaAsIpc::new(schema, &IpcWriteOptions::default()));
        Self::new(&data.data_header, std::iter::once(data.data_body))
    }

    /// The total size of its columns.
    pub fn body_bytes(&self) -> usize {
        self.body_bytes
    }

    fn new(header: &[u8], body: impl Iterator<Item = Bytes> + Clone) -> Self {
        let body_bytes: usize = body.clone().map(|piece| piece.len()).sum();
        let field = |tag, bytes: usize| encoded_len_varint(tag) + encoded_len_varint(bytes as u64);
        let length = field(HEADER_TAG, header.len()) + header.len() + field(BODY_TAG, body_bytes) + body_bytes;
        let mut small = BytesMut::new();
        small.put_u8(0); // not compressed
        small.put_u32(u32::try_from(length).expect("batches come to megabytes"));
        encode_varint(HEADER_TAG, &mut small);
        encode_varint(header.len() as u64, &mut small);
        small.put_slice(header);
        encode_varint(BODY_TAG, &mut small);
        encode_varint(body_bytes as u64, &mut small);
        let mut pieces = VecDeque::new();
        for piece in body {
            if piece.len() < PIECE_BYTES_MIN {
                small.put_slice(&piece);
            } else {
                if !small.is_empty() {
                    pieces.push_back(small.split().freeze());
                }
                pieces.push_back(piece);
            }
        }
        if !small.is_empty() {
            pieces.push_back(small.freeze());
        }
        Self { pieces, body_bytes }
    }
}

impl Encoder {
    /// # Errors
    /// `Internal`: what this crate makes can be written.
    pub fn new(schema: &Schema) -> Result<Self> {
        let mut encoder = StreamEncoder::try_new(schema).map_err(failed)?;
        // The first one brings the schema along, which has a message of its own here.
        encoder.encode(&RecordBatch::new_empty(Arc::new(schema.clone()))).map_err(failed)?;
        Ok(Self(encoder))
    }

    /// # Errors
    /// As [`new`](Self::new).
    pub fn batch(&mut self, batch: &RecordBatch) -> Result<Message> {
        let mut pieces: VecDeque<Buffer> = self.0.encode(batch).map_err(failed)?.into();
        let odd = || Error::internal("a message of Arrow is not laid out as it should be");
        let prefix = pieces.pop_front().ok_or_else(odd)?;
        let (_, length) = prefix.as_slice().split_at_checked(PREFIX_BYTES - 4).ok_or_else(odd)?;
        let header_bytes = u32::from_le_bytes(length.try_into().map_err(|_| odd())?) as usize;
        let mut header = Vec::with_capacity(header_bytes);
        while header.len() < header_bytes {
            header.extend_from_slice(&pieces.pop_front().ok_or_else(odd)?);
        }
        if header.len() != header_bytes {
            return Err(odd());
        }
        Ok(Message::new(&header, pieces.into_iter().map(Bytes::from)))
    }
}

fn failed(error: ArrowError) -> Error {
    Error::internal(format!("writing a batch: {error}"))
}

impl Answer {
    pub fn new(messages: Messages) -> Self {
        Self(Arc::new(Mutex::new(Some(messages))))
    }
}

/// False when nobody takes the answer any more, or has not for too long.
pub async fn is_taken(send: &mpsc::Sender<Sent>, message: Sent) -> bool {
    matches!(timeout(IDLE_MAX, send.send(message)).await, Ok(Ok(())))
}

/// Makes an answer the body of its response.
pub async fn send(mut response: Response) -> Response {
    let answer = response.extensions_mut().remove::<Answer>().and_then(|answer| answer.0.lock().take());
    match answer {
        Some(messages) => response.map(|_| Body::new(Sending { messages, pieces: VecDeque::new(), has_ended: false })),
        None => response,
    }
}

struct Sending {
    messages: Messages,
    /// Of the message at hand.
    pieces: VecDeque<Bytes>,
    has_ended: bool,
}

impl HttpBody for Sending {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Bytes>, Infallible>>> {
        loop {
            if let Some(piece) = self.pieces.pop_front() {
                return Poll::Ready(Some(Ok(Frame::data(piece))));
            }
            if self.has_ended {
                return Poll::Ready(None);
            }
            let ended = match self.messages.poll_recv(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Ok(message))) => {
                    self.pieces = message.pieces;
                    continue;
                }
                Poll::Ready(Some(Err(status))) => status,
                Poll::Ready(None) => Status::new(Code::Ok, ""),
            };
            self.has_ended = true;
            return Poll::Ready(Some(Ok(Frame::trailers(trailers(&ended)))));
        }
    }
}

fn trailers(status: &Status) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    if let Err(other) = status.add_header(&mut trailers) {
        trailers.clear();
        // It says why the words of the first one cannot be sent, in words that can.
        other.add_header(&mut trailers).ok();
    }
    trailers
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, FixedSizeListArray, Float32Array, Int64Array, StringArray};
    use arrow_flight::utils::batches_to_flight_data;
    use arrow_schema::{DataType, Field};
    use prost::Message as _;

    use super::*;
    use crate::message::Reader;

    fn batch(rows: usize) -> RecordBatch {
        let item = Arc::new(Field::new("item", DataType::Float32, false));
        let values = Arc::new(Float32Array::from_iter_values((0..rows * 8).map(|at| at as f32)));
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("id", Arc::new(StringArray::from_iter_values((0..rows).map(|at| at.to_string())))),
            ("n", Arc::new((0..rows).map(|at| (at % 3 != 0).then_some(at as i64)).collect::<Int64Array>())),
            ("vector", Arc::new(FixedSizeListArray::new(item, 8, values, None))),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    fn sent(message: Message) -> Vec<u8> {
        message.pieces.into_iter().flatten().collect()
    }

    #[test]
    fn what_is_sent_is_what_the_library_would_send() {
        for rows in [0, 1, 3, 1000] {
            let batch = batch(rows);
            let mut encoder = Encoder::new(&batch.schema()).unwrap();
            for _ in 0..2 {
                let theirs = &batches_to_flight_data(&batch.schema(), [&batch]).unwrap()[1];
                let mine = encoder.batch(&batch).unwrap();
                assert_eq!(mine.body_bytes(), theirs.data_body.len());
                let framed = sent(mine);
                let (head, message) = framed.split_at(5);
                assert_eq!(head, [&[0], &(message.len() as u32).to_be_bytes()[..]].concat());
                let mine = FlightData::decode(message).unwrap();
                let (described, zeros) = mine.data_header.split_at(theirs.data_header.len());
                assert!(zeros.iter().all(|byte| *byte == 0) && described == theirs.data_header, "{rows} rows");
                assert_eq!(mine.data_body, theirs.data_body, "{rows} rows");
                assert_eq!(mine.encode_to_vec(), message, "the fields are in their order");
                assert_eq!(Reader::new(batch.schema()).batch(&mine).unwrap().as_ref(), Some(&batch));
            }
        }
        let schema = batch(1).schema();
        let framed = sent(Message::of_schema(&schema));
        let theirs = batches_to_flight_data(&schema, []).unwrap();
        assert_eq!([FlightData::decode(&framed[5..]).unwrap()], *theirs);
    }

    #[test]
    fn a_column_is_sent_from_where_it_lies() {
        let batch = batch(1000);
        let values = batch.column(2).to_data().child_data()[0].buffers()[0].as_ptr();
        let message = Encoder::new(&batch.schema()).unwrap().batch(&batch).unwrap();
        assert!(message.pieces.iter().any(|piece| piece.as_ptr() == values));
    }

    #[test]
    fn an_answer_ends_with_its_status() {
        let text =
            |trailers: &HeaderMap, name: &str| trailers.get(name).map(|value| value.to_str().unwrap().to_string());
        let ended = trailers(&Status::new(Code::Ok, ""));
        assert_eq!((text(&ended, "grpc-status"), text(&ended, "grpc-message")), (Some("0".into()), None));
        let failed = trailers(&Status::not_found("no collection \"grün\""));
        assert_eq!(text(&failed, "grpc-status").as_deref(), Some("5"));
        assert!(text(&failed, "grpc-message").unwrap().contains("gr%C3%BCn"));
    }
}
