//! `ListFlights`, `GetFlightInfo`, `GetSchema`: what collections there are, and what reading them gives.

use arrow_flight::{FlightDescriptor, FlightEndpoint, FlightInfo, SchemaAsIpc, SchemaResult, Ticket as FlightTicket};
use arrow_ipc::writer::IpcWriteOptions;
use arrow_schema::Schema;
use nuthatch_link::{CollectionInfo, Error, Result as EngineResult};
use serde::Deserialize;
use tonic::Status;

use crate::caller::Caller;
use crate::columns::Shape;
use crate::question::{self, COLUMNS_INSTEAD};
use crate::snapshots;
use crate::ticket::{Ticket, of_descriptor, parse};

/// Stands for a number that is unknown until it is counted.
const UNKNOWN: i64 = -1;

/// Which collections are listed.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Criteria {
    /// Only those whose name contains this.
    #[serde(default)]
    name: String,
    /// Only those with that many records, or more.
    #[serde(default)]
    rows_min: u64,
}

/// All collections that the criteria let through.
///
/// # Errors
/// `INVALID_ARGUMENT` for criteria that are none.
pub async fn list<C: Caller>(caller: C, criteria: &[u8]) -> Result<Vec<FlightInfo>, Status> {
    let Criteria { name, rows_min } = match criteria {
        b"" => Criteria::default(),
        criteria => parse(criteria, "the criteria's expression")?,
    };
    let listed = caller.run(move |database| {
        let infos = database.collections()?.into_iter();
        let wanted = infos.filter(|info| info.name.contains(&name) && info.rows >= rows_min);
        wanted
            .map(|info| {
                let descriptor = FlightDescriptor::new_path(vec![info.name.clone()]);
                describe(&info, descriptor, Ticket::of(&info.name), Some(info.rows))
            })
            .collect()
    });
    listed.await
}

/// Resolves a descriptor: the name of a collection, or a ticket.
///
/// # Errors
/// `NOT_FOUND` without such a collection or snapshot, `INVALID_ARGUMENT` for a ticket that cannot be answered.
pub async fn info<C: Caller>(caller: C, descriptor: FlightDescriptor) -> Result<FlightInfo, Status> {
    let ticket = of_descriptor(&descriptor, Ticket::of)?;
    if let Some(question) = &ticket.search {
        question::check(question, &COLUMNS_INSTEAD)?;
        caller.search(question.clone())?;
    }
    let kept = snapshots::get(&caller, ticket.snapshot.as_deref())?;
    caller
        .run(move |database| {
            let collection = database.existing_collection(&ticket.collection)?;
            let filter = match &ticket.search {
                Some(question) => question["where"].as_str(),
                None => ticket.filter.as_deref(),
            };
            // Counted where there is a condition as well: it may name a field that there is not.
            let passing = match kept {
                Some(snapshot) => snapshot.waiting(database.waits()).collection(&ticket.collection)?.count(filter)?,
                None => collection.count(filter)?,
            };
            let records = ticket.search.is_none().then_some(passing);
            describe(&collection.info()?, descriptor, ticket, records)
        })
        .await
}

/// The schema of what a descriptor means.
///
/// # Errors
/// As those of [`info`].
pub async fn schema<C: Caller>(caller: C, descriptor: FlightDescriptor) -> Result<SchemaResult, Status> {
    let info = info(caller, descriptor).await?;
    Ok(SchemaResult { schema: info.schema })
}

/// `passing`: the records that a scan would go through, if it had no limit.
fn describe(
    info: &CollectionInfo,
    descriptor: FlightDescriptor,
    ticket: Ticket,
    passing: Option<u64>,
) -> EngineResult<FlightInfo> {
    let columns = ticket.columns.as_deref();
    let shape = match &ticket.search {
        Some(_) => Shape::of_search(info, columns)?,
        None => Shape::of_scan(info, columns)?,
    };
    let records =
        passing.map_or(UNKNOWN, |rows| i64::try_from(rows.min(ticket.limit.unwrap_or(u64::MAX))).unwrap_or(i64::MAX));
    let ticket = serde_json::to_vec(&ticket).map_err(|error| Error::internal(format!("writing a ticket: {error}")))?;
    // Without a location: the client redeems the ticket at the server that issued it.
    let endpoint = FlightEndpoint::new().with_ticket(FlightTicket::new(ticket));
    Ok(FlightInfo {
        schema: ipc(&shape.schema)?,
        total_records: records,
        total_bytes: UNKNOWN,
        ..FlightInfo::new().with_descriptor(descriptor).with_endpoint(endpoint)
    })
}

fn ipc(schema: &Schema) -> EngineResult<prost::bytes::Bytes> {
    let options = IpcWriteOptions::default();
    SchemaResult::try_from(SchemaAsIpc::new(schema, &options))
        .map(|result| result.schema)
        .map_err(|error| Error::internal(format!("writing a schema: {error}")))
}
