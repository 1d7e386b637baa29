//! `DoAction`: making, dropping and deleting, statistics, snapshots, readiness. A body is JSON, and so is the result.

use arrow_flight::{Action, ActionType};
use nuthatch_dialect::operations::{self, Operation};
use nuthatch_link::{Collection, Deleted, Durability, Error, Result as EngineResult, What};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tonic::Status;

use crate::caller::{Caller, Scope};
use crate::graph;
use crate::snapshots;
use crate::ticket::parse;

/// The available actions and their bodies.
const ACTIONS: [(&str, &str); 9] = [
    (
        "create",
        "creates a collection, or checks the existing one: {\"collection\", \"dim\", \"metric\", \"elements\", \"vectors\", \"embedder\", \"language\"}",
    ),
    ("drop", "drops a collection with everything in it: {\"collection\"}"),
    ("delete", "deletes records: {\"collection\", and one of \"ids\", \"where\", \"prefix\"; \"durability\"}"),
    ("add_edges", "puts edges, and nodes, all or nothing: {\"graph\", \"edges\", \"nodes\", \"durability\"}"),
    (
        "traverse",
        "finds the nodes connected to some nodes: {\"graph\", \"start\", \"direction\", \"types\", \"max_depth\", \"limit\"}",
    ),
    (
        "stats",
        "describes a collection and its contents: {\"collection\"}; without it, the whole folder \
    (administrators)",
    ),
    ("snapshot", "takes a snapshot for tickets that name it: {\"name\"}"),
    ("release", "releases a snapshot: {\"name\"}"),
    (
        "readiness",
        "says whether the server is ready and, for {\"collection\"}, whether the indexes contain all its records",
    ),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    collection: String,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct MaybeNamed {
    collection: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Snapshot {
    name: String,
}

#[derive(Deserialize)]
struct Create {
    collection: String,
    #[serde(flatten)]
    options: Map<String, Value>,
}

#[derive(Deserialize)]
struct Ask {
    collection: String,
    snapshot: Option<String>,
    #[serde(flatten)]
    question: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Delete {
    collection: String,
    ids: Option<Vec<String>>,
    #[serde(rename = "where")]
    filter: Option<String>,
    prefix: Option<String>,
    #[serde(default)]
    durability: Durability,
}

pub fn list() -> Vec<ActionType> {
    let own = ACTIONS.map(|(name, says)| ActionType { r#type: name.into(), description: says.into() });
    own.into_iter().chain(operations::RECORDS.iter().map(described)).collect()
}

/// A read that every face answers by its name.
fn described(operation: &Operation) -> ActionType {
    let fields = operation.fields().into_iter().map(|field| format!("{:?}", field.name));
    let fields = ["\"collection\"".into(), "\"snapshot\"".into()].into_iter().chain(fields).collect::<Vec<_>>();
    let description = format!("{} {{{}}}", operation.says, fields.join(", "));
    ActionType { r#type: operation.name.into(), description }
}

/// Asks it of the collection that the body names, as of the snapshot that it names.
async fn ask<C: Caller>(caller: C, operation: &'static Operation, body: &[u8]) -> Result<Value, Status> {
    let caller = caller.allowed(Scope::Read)?;
    let Ask { collection, snapshot, question } = read(body)?;
    let kept = snapshots::get(&caller, snapshot.as_deref())?;
    let asked = caller.run(move |database| match kept {
        Some(snapshot) => {
            operation.ask(&snapshot.waiting(database.waits()).collection(&collection)?, Value::Object(question))
        }
        None => operation.ask(&*database.existing_collection(&collection)?, Value::Object(question)),
    });
    asked.await
}

/// # Errors
/// `UNIMPLEMENTED` for an action that there is not; those of the action.
pub async fn act<C: Caller>(caller: C, action: Action) -> Result<Value, Status> {
    let body = &action.body;
    match action.r#type.as_str() {
        "create" => {
            let caller = caller.allowed(Scope::Write)?;
            let Create { collection, options } = read(body)?;
            let options = caller.options(Value::Object(options))?;
            let info = caller.run(move |database| database.collection(&collection, options)?.info()).await?;
            Ok(caller.describe(info))
        }
        "drop" => {
            let Named { collection } = read(body)?;
            caller.act("collection.drop", &collection).await?;
            let caller = caller.allowed(Scope::Write)?;
            let dropped = caller.run(move |database| match database.drop_collection(&collection)? {
                true => Ok(json!({"dropped": true})),
                false => {
                    Err(Error::not_found(format!("no collection {collection:?}")).about(What::Collection, collection))
                }
            });
            dropped.await
        }
        "delete" => {
            let caller = caller.allowed(Scope::Write)?;
            let delete: Delete = read(body)?;
            let done = caller.run(move |database| {
                let collection = database.existing_collection(&delete.collection)?.with_durability(delete.durability);
                delete.from(&collection)
            });
            Ok(json!({"deleted": done.await?.deleted}))
        }
        "add_edges" => {
            let caller = caller.allowed(Scope::Write)?;
            let add: graph::AddEdges = read(body)?;
            caller.run(move |database| add.run(database)).await
        }
        "traverse" => {
            let caller = caller.allowed(Scope::Read)?;
            let walk: graph::Walk = read(body)?;
            caller.run(move |database| walk.run(database)).await
        }
        "stats" => statistics(caller, body).await,
        "snapshot" => take_snapshot(caller, body).await,
        "release" => {
            let caller = caller.allowed(Scope::Read)?;
            let Snapshot { name } = read(body)?;
            Ok(json!({"released": snapshots::release(&caller, &name)?}))
        }
        "readiness" => readiness(caller, body).await,
        other => match operations::find(other) {
            Ok(operation) => ask(caller, operation, body).await,
            Err(_) => {
                let known: Vec<String> = list().into_iter().map(|action| action.r#type).collect();
                Err(Status::unimplemented(format!("no action {other:?}; there are: {}", known.join(", "))))
            }
        },
    }
}

async fn statistics<C: Caller>(caller: C, body: &[u8]) -> Result<Value, Status> {
    match read_or_default(body)? {
        MaybeNamed { collection: Some(collection) } => {
            let caller = caller.allowed(Scope::Read)?;
            let info = caller.run(move |database| database.existing_collection(&collection)?.info()).await?;
            Ok(caller.describe(info))
        }
        MaybeNamed { collection: None } => {
            let caller = caller.allowed(Scope::Operate)?;
            let stats = caller.run(|database| database.stats()).await?;
            Ok(caller.statistics(stats))
        }
    }
}

async fn take_snapshot<C: Caller>(caller: C, body: &[u8]) -> Result<Value, Status> {
    let caller = caller.allowed(Scope::Read)?;
    let Snapshot { name } = read(body)?;
    let mine = caller.clone();
    let kept = caller.run(move |database| {
        let kept = snapshots::keep(&mine, database, &name)?;
        Ok(json!({"name": name, "ends_after_s": (kept.age + kept.ends_in).as_secs()}))
    });
    kept.await
}

async fn readiness<C: Caller>(caller: C, body: &[u8]) -> Result<Value, Status> {
    let caller = caller.allowed(Scope::Read)?;
    let MaybeNamed { collection } = read_or_default(body)?;
    let fresh = caller.run(move |database| match collection {
        Some(name) => Ok(Some(database.existing_collection(&name)?.info()?.fresh_rows)),
        None => Ok(None),
    });
    Ok(match fresh.await? {
        Some(fresh) => json!({"ready": true, "indexed": fresh == 0, "fresh_rows": fresh}),
        None => json!({"ready": true}),
    })
}

impl Delete {
    fn from(self, collection: &Collection) -> EngineResult<Deleted> {
        match (self.ids, self.filter, self.prefix) {
            (Some(ids), None, None) => collection.delete(&ids),
            (None, Some(filter), None) => collection.delete_where(&filter),
            (None, None, Some(prefix)) => collection.delete_prefix(&prefix),
            _ => Err(Error::invalid("name what to delete by exactly one of `ids`, `where` and `prefix`")),
        }
    }
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Status> {
    parse(body, "the action's body")
}

fn read_or_default<T: DeserializeOwned + Default>(body: &[u8]) -> Result<T, Status> {
    if body.is_empty() { Ok(T::default()) } else { read(body) }
}
