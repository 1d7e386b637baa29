//! Subscriptions: telling a host that a resource has changed, or what there is of them.
//!
//! The engine reports no writes, and they come from other processes, too. So a session polls what a host watches: a
//! file's entry or a record, not whole files. A poll waits until twenty times the time of the last one has passed, so
//! that a stream takes at most a twentieth of a processor.
//!
//! **Invariant:** a lasting change is reported within one poll; a caller that has lost the right to read learns nothing
//! from the next poll on.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use blake3::Hash;
use nuthatch_link::{Database, Result as EngineResult};
use rmcp::ErrorData;
use rmcp::model::SubscriptionFilter;
use rmcp::service::{SubscriptionContext, SubscriptionSink};

use crate::access::Access;
use crate::resources;
use crate::uri::Named;

/// Resources that one stream may watch; others are left out of what it is told was accepted.
pub const WATCHED_MAX: usize = 64;
/// Streams that one tenant may have open at a time.
pub const STREAMS_MAX: usize = 16;
/// A stream ends then, and the host may open another: so one that nobody reads does not stay.
const STREAM_AGE_MAX: Duration = Duration::from_secs(3600);
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// That many times what a look has taken passes before the next.
const REST: u32 = 20;

/// The streams that are open, by whose they are.
#[derive(Debug, Default)]
pub struct Streams(Mutex<HashMap<String, usize>>);

/// One of them.
struct Open {
    streams: Arc<Streams>,
    of: String,
}

impl Streams {
    fn open(self: &Arc<Self>, of: String) -> Option<Open> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(of.clone()).or_default();
        if *count >= STREAMS_MAX {
            return None;
        }
        *count += 1;
        Some(Open { streams: self.clone(), of })
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut open = self.streams.0.lock().unwrap_or_else(PoisonError::into_inner);
        match open.get_mut(&self.of) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(open.remove(&self.of)),
        }
    }
}

/// Of what a host wants to be told, what it will be. Tools and prompts never change.
pub fn accepted(requested: &SubscriptionFilter) -> SubscriptionFilter {
    let mut accepted = SubscriptionFilter::new();
    accepted.resources_list_changed = requested.resources_list_changed.filter(|wanted| *wanted);
    let uris = requested.resource_subscriptions.iter().flatten();
    let uris = uris.filter(|uri| Named::parse(uri).is_some()).take(WATCHED_MAX).cloned();
    accepted.resource_subscriptions = Some(uris.collect());
    accepted
}

/// Tells what changes until the host, the transport, or the stream's age ends it.
///
/// # Errors
/// When too many are open; when the caller may not read, or not any more.
pub async fn listen<A: Access>(
    access: &A,
    streams: &Arc<Streams>,
    context: SubscriptionContext,
) -> Result<(), ErrorData> {
    let Some(_open) = streams.open(access.owner()) else {
        let message = format!("{STREAMS_MAX} streams of notifications are open already; close some");
        return Err(ErrorData::invalid_request(message, None));
    };
    tokio::select! {
        () = context.cancelled() => Ok(()),
        () = access.stopping() => Ok(()),
        () = tokio::time::sleep(STREAM_AGE_MAX) => Ok(()),
        ended = watch(access, context.accepted(), context.sink()) => ended,
    }
}

async fn watch<A: Access>(access: &A, filter: &SubscriptionFilter, sink: &SubscriptionSink) -> Result<(), ErrorData> {
    let watched = Watched {
        list: filter.resources_list_changed == Some(true),
        uris: filter.resource_subscriptions.clone().unwrap_or_default(),
    };
    let mut before: Option<Seen> = None;
    loop {
        let started = Instant::now();
        let looking = watched.clone();
        match access.run(move |database| looking.look(database)).await {
            Ok(now) => {
                for told in before.iter().flat_map(|before| before.changes(&now, &watched.uris)) {
                    let sent = match told {
                        Change::List => sink.notify_resource_list_changed().await,
                        Change::Resource(uri) => sink.notify_resource_updated(uri).await,
                    };
                    if sent.is_err() {
                        return Ok(()); // nobody listens any more
                    }
                }
                before = Some(now);
            }
            // Too much is asked of the server, or of the tenant: the next look comes.
            Err(refusal) if matches!(refusal.kind.as_str(), "exhausted" | "unavailable") => {}
            Err(refusal) => return Err(ErrorData::invalid_request(refusal.text(), None)),
        }
        tokio::time::sleep(LOOK_EVERY.max(started.elapsed() * REST)).await;
    }
}

/// The watched list and resources.
#[derive(Clone)]
struct Watched {
    list: bool,
    uris: Vec<String>,
}

/// As it was at one look; `None` for what was not there.
#[derive(PartialEq)]
struct Seen {
    list: Option<Hash>,
    resources: Vec<Option<Hash>>,
}

#[derive(Debug, PartialEq)]
enum Change {
    List,
    Resource(String),
}

impl Watched {
    fn look(&self, database: &Database) -> EngineResult<Seen> {
        let list = self.list.then(|| resources::list_state(database)).transpose()?;
        let resources = self.uris.iter().map(|uri| resources::state(database, uri)).collect::<EngineResult<_>>()?;
        Ok(Seen { list, resources })
    }
}

impl Seen {
    fn changes(&self, now: &Self, uris: &[String]) -> Vec<Change> {
        let list = (self.list != now.list).then_some(Change::List);
        let resources = self.resources.iter().zip(&now.resources).zip(uris);
        let changed = resources.filter(|((before, now), _)| before != now);
        list.into_iter().chain(changed.map(|(_, uri)| Change::Resource(uri.clone()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use nuthatch_link::{CollectionOptions, EmbedderChoice, Options, Record};

    use super::*;

    #[test]
    fn a_look_sees_what_has_changed_and_nothing_else() {
        let db = Database::in_memory(Options { background: false, ..Options::default() }).unwrap();
        let options = CollectionOptions { embedder: EmbedderChoice::None, ..CollectionOptions::default() };
        let notes = db.collection("notes", options).unwrap();
        let uris: Vec<String> = ["", "/records/a", "/files/docs%2Fa.md"]
            .map(|inside| format!("nuthatch://collections/notes{inside}"))
            .into();
        let watched = Watched { list: true, uris: uris.clone() };
        let mut before = watched.look(&db).unwrap();
        let mut changed = || {
            let now = watched.look(&db).unwrap();
            let changes = before.changes(&now, &uris);
            before = now;
            changes
        };
        let resource = |at: usize| Change::Resource(uris[at].clone());
        assert_eq!(changed(), []);
        notes.upsert(vec![Record::new("a").text("one")]).unwrap();
        assert_eq!(changed(), [resource(0), resource(1)]);
        notes.upsert(vec![Record::new("a").text("two")]).unwrap();
        assert_eq!(changed(), [resource(1)]);
        notes.add_document("docs/a.md", b"# A\n\nfirst\n", Default::default()).unwrap();
        assert_eq!(changed(), [Change::List, resource(0), resource(2)]);
        notes.add_document("docs/a.md", b"# A\n\nsecond\n", Default::default()).unwrap();
        assert_eq!(changed(), [resource(2)]);
        db.drop_collection("notes").unwrap();
        assert_eq!(changed(), [Change::List, resource(0), resource(1), resource(2)]);
        assert_eq!(changed(), []);
    }

    #[test]
    fn a_tenant_has_no_more_streams_than_it_may_and_a_closed_one_makes_room() {
        let streams = Arc::<Streams>::default();
        let mut open: Vec<_> = (0..STREAMS_MAX).map(|_| streams.open("a".into()).unwrap()).collect();
        assert!(streams.open("a".into()).is_none() && streams.open("b".into()).is_some());
        open.pop();
        assert!(streams.open("a".into()).is_some());
        drop(open);
        assert!(streams.0.lock().unwrap().is_empty());
    }

    #[test]
    fn what_names_nothing_here_is_not_accepted() {
        let mut requested = SubscriptionFilter::new();
        requested.tools_list_changed = Some(true);
        let good = "nuthatch://collections/notes".to_string();
        requested.resource_subscriptions = Some(vec!["file:///etc/passwd".into(), good.clone()]);
        let found = accepted(&requested);
        assert_eq!((found.tools_list_changed, found.resources_list_changed), (None, None));
        assert_eq!(found.resource_subscriptions, Some(vec![good.clone()]));
        requested.resource_subscriptions = Some(vec![good; WATCHED_MAX + 1]);
        assert_eq!(accepted(&requested).resource_subscriptions.unwrap().len(), WATCHED_MAX);
    }
}
