//! A Flight client on a connection of its own.

use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use arrow_array::{ArrayRef, FixedSizeListArray, Float32Array, RecordBatch, StringArray};
use arrow_flight::flight_service_client::FlightServiceClient;
use arrow_flight::{Action, FlightData, FlightDescriptor, PutResult, SchemaAsIpc, Ticket};
use arrow_ipc::writer::{DictionaryTracker, IpcDataGenerator, IpcWriteContext, IpcWriteOptions};
use arrow_schema::{DataType, Field, Schema};
use h2::client::SendRequest;
use h2::{RecvStream, SendStream};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tonic::body::Body;
use tonic::codegen::{Body as HttpBody, Bytes, Service, StdError, http};
use tonic::{Request, Status};

type Outcome<T> = Result<T, Status>;

/// Blocks until what it asked is answered.
pub struct Flight {
    runtime: Runtime,
    client: FlightServiceClient<Connection>,
    authorization: Option<String>,
    timeout: Option<String>,
}

impl Flight {
    pub fn new(address: SocketAddr) -> Self {
        // A thread of its own answers the server's pings while nothing is asked.
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let client = FlightServiceClient::new(runtime.block_on(Connection::to(address)));
        Self { runtime, client, authorization: None, timeout: None }
    }

    pub fn with_key(self, token: &str) -> Self {
        Self { authorization: Some(format!("Bearer {token}")), ..self }
    }

    /// Says with each call how long it waits, as `grpc-timeout` has it; and waits as long as it takes.
    pub fn within(self, timeout: &str) -> Self {
        Self { timeout: Some(timeout.to_owned()), ..self }
    }

    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(timeout) = &self.timeout {
            request.metadata_mut().insert("grpc-timeout", timeout.parse().unwrap());
        }
        if let Some(key) = &self.authorization {
            request.metadata_mut().insert("authorization", key.parse().unwrap());
        }
        request
    }

    pub fn act(&mut self, name: &str, body: &Value) -> Outcome<Value> {
        let request = self.request(Action::new(name, body.to_string()));
        self.runtime.block_on(async {
            let mut answers = self.client.do_action(request).await?.into_inner();
            let answer = answers.message().await?.expect("an action has a result");
            Ok(serde_json::from_slice(&answer.body).unwrap())
        })
    }

    /// The messages that a ticket is answered by, the schema first.
    pub fn get(&mut self, ticket: &Value) -> Outcome<Vec<FlightData>> {
        let request = self.request(Ticket::new(ticket.to_string()));
        self.runtime.block_on(async {
            let mut answers = self.client.do_get(request).await?.into_inner();
            let mut messages = Vec::new();
            while let Some(message) = answers.message().await? {
                messages.push(message);
            }
            Ok(messages)
        })
    }

    /// Writes one batch; what is said of it.
    pub fn put(&mut self, command: &Value, batch: &RecordBatch) -> Outcome<Value> {
        let request = self.request(tokio_stream::iter(messages(command, batch)));
        self.runtime.block_on(async {
            let mut answers = self.client.do_put(request).await?.into_inner();
            let PutResult { app_metadata } = answers.message().await?.expect("a batch is acknowledged");
            assert!(answers.message().await?.is_none(), "one batch, one acknowledgement");
            Ok(serde_json::from_slice(&app_metadata).unwrap())
        })
    }

    /// Asks one batch of questions; the messages of the answer.
    pub fn exchange(&mut self, command: &Value, questions: &RecordBatch) -> Outcome<Vec<FlightData>> {
        let request = self.request(tokio_stream::iter(messages(command, questions)));
        self.runtime.block_on(async {
            let mut answers = self.client.do_exchange(request).await?.into_inner();
            let mut messages = Vec::new();
            while let Some(message) = answers.message().await? {
                messages.push(message);
            }
            Ok(messages)
        })
    }
}

/// All that is in messages, as far as it is text.
pub fn text_of(messages: &[FlightData]) -> String {
    messages.iter().map(|message| String::from_utf8_lossy(&message.data_body)).collect()
}

/// Records with ids, texts, vectors of two components and any other columns.
pub fn records(ids: &[String], texts: &[String], vectors: &[[f32; 2]], more: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let strings = |values: &[String]| Arc::new(StringArray::from_iter_values(values)) as ArrayRef;
    let mut columns = vec![("id", strings(ids)), ("text", strings(texts)), ("vector", pairs(vectors))];
    columns.extend(more);
    RecordBatch::try_from_iter(columns).unwrap()
}

/// Questions by vector.
pub fn questions(vectors: &[[f32; 2]]) -> RecordBatch {
    RecordBatch::try_from_iter([("vector", pairs(vectors))]).unwrap()
}

fn pairs(vectors: &[[f32; 2]]) -> ArrayRef {
    let values = Float32Array::from_iter_values(vectors.iter().flatten().copied());
    let item = Arc::new(Field::new("item", DataType::Float32, false));
    Arc::new(FixedSizeListArray::new(item, 2, Arc::new(values), None))
}

fn messages(command: &Value, batch: &RecordBatch) -> Vec<FlightData> {
    let options = IpcWriteOptions::default();
    let schema: &Schema = &batch.schema();
    let mut first: FlightData = SchemaAsIpc::new(schema, &options).into();
    first.flight_descriptor = Some(FlightDescriptor::new_cmd(command.to_string()));
    let (mut dictionaries, mut context) = (DictionaryTracker::new(false), IpcWriteContext::default());
    let encoded = IpcDataGenerator::default().encode(batch, &mut dictionaries, &options, &mut context);
    vec![first, encoded.unwrap().1.into()]
}

/// HTTP/2 and nothing around it.
#[derive(Clone)]
struct Connection {
    send: SendRequest<Bytes>,
    address: SocketAddr,
}

impl Connection {
    async fn to(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let (send, connection) = h2::client::handshake(stream).await.unwrap();
        tokio::spawn(connection);
        Self { send, address }
    }
}

impl Service<http::Request<Body>> for Connection {
    type Response = http::Response<Received>;
    type Error = StdError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, StdError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StdError>> {
        self.send.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let Self { send, address } = self.clone();
        Box::pin(async move {
            let (mut parts, body) = request.into_parts();
            parts.uri = format!("http://{address}{}", parts.uri.path()).parse()?;
            let (answer, stream) = send.ready().await?.send_request(http::Request::from_parts(parts, ()), false)?;
            tokio::spawn(send_all(body, stream));
            let (parts, body) = answer.await?.into_parts();
            Ok(http::Response::from_parts(parts, Received { body, has_ended: false }))
        })
    }
}

/// Ends early when the server has said all: then nobody waits for the rest.
async fn send_all(mut body: Body, mut stream: SendStream<Bytes>) {
    while let Some(Ok(frame)) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        if let Ok(data) = frame.into_data()
            && stream.send_data(data, false).is_err()
        {
            return;
        }
    }
    stream.send_data(Bytes::new(), true).ok();
}

struct Received {
    body: RecvStream,
    has_ended: bool,
}

impl HttpBody for Received {
    type Data = Bytes;
    type Error = h2::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, h2::Error>>> {
        if self.has_ended {
            return Poll::Ready(None);
        }
        if let Some(data) = ready!(self.body.poll_data(context)) {
            let data = data?;
            self.body.flow_control().release_capacity(data.len())?;
            return Poll::Ready(Some(Ok(http_body::Frame::data(data))));
        }
        let trailers = ready!(self.body.poll_trailers(context))?;
        self.has_ended = true;
        Poll::Ready(trailers.map(|trailers| Ok(http_body::Frame::trailers(trailers))))
    }
}
