//! Arrow Flight: tickets, descriptors, actions, and streams of batches.

use std::future::Future;
use std::sync::Arc;

use arrow_flight::flight_descriptor::DescriptorType;
use arrow_flight::flight_service_client::FlightServiceClient;
use arrow_flight::{Action, Criteria, FlightData, FlightDescriptor, Ticket};
use axum::{Extension, Router};
use futures_util::StreamExt;
use nuthatch_flight::{Begun, Caller, Scope, routes};
use nuthatch_link::{
    CollectionInfo, CollectionOptions, Database, Durability, EmbedderChoice, Holder, KeptSnapshots, Options, Owner,
    Record, Result as EngineResult, Search, Stats,
};
use serde_json::{Value, json};
use tokio::runtime::Builder;
use tonic::{Code, Status};

use crate::Run;

const MESSAGE_BYTES_MAX: usize = 4 << 20;
const MESSAGES_MAX: usize = 8;
/// Inputs until the database is replaced, along with what they stored.
const DATABASE_INPUTS: u32 = 5000;

/// The first byte chooses the call. Of a stream, each message has the lengths of its header and its body before it, two bytes each.
pub fn start() -> Run {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let mut client = client();
    let mut inputs = 0;
    Box::new(move |input| {
        let Some((call, bytes)) = input.split_first() else { return };
        inputs += 1;
        if inputs % DATABASE_INPUTS == 0 {
            client = self::client();
        }
        let outcome = runtime.block_on(ask(&mut client, *call, bytes));
        if let Err(status) = outcome {
            assert!(!matches!(status.code(), Code::Internal | Code::Unknown | Code::DataLoss), "{status}");
        }
    })
}

async fn ask(client: &mut FlightServiceClient<Router>, call: u8, bytes: &[u8]) -> Result<(), Status> {
    match call % 8 {
        0 => {
            let answer = client.do_get(Ticket { ticket: bytes.to_vec().into() }).await?;
            drain(answer.into_inner()).await
        }
        1 => {
            let (name, body) = bytes.split_at(bytes.iter().position(|byte| *byte == b' ').unwrap_or(bytes.len()));
            let action = Action { r#type: String::from_utf8_lossy(name).into(), body: body.to_vec().into() };
            drain(client.do_action(action).await?.into_inner()).await
        }
        2 => client.get_flight_info(of_command(bytes)).await.map(drop),
        3 => client.get_schema(of_command(bytes)).await.map(drop),
        4 => drain(client.list_flights(Criteria { expression: bytes.to_vec().into() }).await?.into_inner()).await,
        5 => drain(client.do_exchange(tokio_stream::iter(messages(bytes, true))).await?.into_inner()).await,
        more => drain(client.do_put(tokio_stream::iter(messages(bytes, more == 6))).await?.into_inner()).await,
    }
}

fn of_command(bytes: &[u8]) -> FlightDescriptor {
    FlightDescriptor { r#type: DescriptorType::Cmd.into(), cmd: bytes.to_vec().into(), path: Vec::new() }
}

/// A stream to the collection `notes`, or to what its first part names.
fn messages(bytes: &[u8], to_notes: bool) -> Vec<FlightData> {
    let (mut messages, mut rest) = (Vec::new(), bytes);
    let mut descriptor = Some(match to_notes {
        true => FlightDescriptor {
            r#type: DescriptorType::Path.into(),
            path: vec!["notes".into()],
            ..FlightDescriptor::default()
        },
        false => of_command(part(&mut rest)),
    });
    while !rest.is_empty() && messages.len() < MESSAGES_MAX {
        let (header, body) = (part(&mut rest).to_vec(), part(&mut rest).to_vec());
        messages.push(FlightData {
            flight_descriptor: descriptor.take(),
            data_header: header.into(),
            data_body: body.into(),
            ..FlightData::default()
        });
    }
    messages
}

fn part<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let [low, high, after @ ..] = *rest else { return std::mem::take(rest) };
    let (part, next) = after.split_at(usize::from(u16::from_le_bytes([*low, *high])).min(after.len()));
    *rest = next;
    part
}

async fn drain<T>(mut stream: tonic::Streaming<T>) -> Result<(), Status> {
    while let Some(next) = stream.next().await {
        next?;
    }
    Ok(())
}

fn client() -> FlightServiceClient<Router> {
    let db = Database::in_memory(Options::default()).expect("a database");
    let options = CollectionOptions { dim: Some(2), embedder: EmbedderChoice::None, ..CollectionOptions::default() };
    let notes = db.collection("notes", options).expect("a collection").with_durability(Durability::Os);
    let record = Record { text: Some("bird".into()), vector: Some(vec![1.0, 2.0]), ..Record::new("a") };
    notes.upsert(vec![record]).expect("stored");
    FlightServiceClient::new(routes::<Visitor>(MESSAGE_BYTES_MAX).layer(Extension(Visitor { db })))
}

/// A caller with all permissions. The server's JSON is tested by `http`.
#[derive(Clone)]
struct Visitor {
    db: Database,
}

impl Caller for Visitor {
    fn owner(&self) -> Owner {
        Owner { tenant: None, holder: Holder::Key(None) }
    }

    fn key_name(&self) -> Option<String> {
        None
    }

    fn kept_snapshots(&self) -> Result<Arc<KeptSnapshots>, Status> {
        Ok(self.db.kept_snapshots().clone())
    }

    fn allowed(&self, _: Scope) -> Result<Self, Status> {
        Ok(self.clone())
    }

    async fn run<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Database) -> EngineResult<T> + Send + 'static,
    ) -> Result<T, Status> {
        call(&self.db).map_err(status)
    }

    async fn act(&self, _: &str, _: &str) -> Result<(), Status> {
        Ok(())
    }

    async fn begin(&self) -> Result<Begun, Status> {
        Ok(Begun { database: self.db.clone(), turn: Box::new(()) })
    }

    async fn step<T: Send + 'static>(
        &self,
        call: impl FnOnce() -> EngineResult<T> + Send + 'static,
    ) -> Result<T, Status> {
        call().map_err(status)
    }

    fn release(&self) {}

    fn stopping(&self) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }

    fn search(&self, question: Value) -> Result<Search, Status> {
        Ok(Search { text: question["text"].as_str().map(Into::into), ..Search::default() })
    }

    fn options(&self, _: Value) -> Result<CollectionOptions, Status> {
        Ok(CollectionOptions { dim: Some(2), embedder: EmbedderChoice::None, ..CollectionOptions::default() })
    }

    fn describe(&self, info: CollectionInfo) -> Value {
        json!({"name": info.name})
    }

    fn statistics(&self, _: Stats) -> Value {
        json!({})
    }
}

fn status(error: nuthatch_link::Error) -> Status {
    let code = match error.kind.name() {
        "internal" => Code::Internal,
        "corrupt" => Code::DataLoss,
        _ => Code::InvalidArgument,
    };
    Status::new(code, error.message)
}
