//! Calls that take long: they report, they can be cancelled, and they do not hold up others.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use nuthatch_link::Database;
use nuthatch_mcp::{Access, Refusal};
use serde_json::json;

use crate::host::Host;

fn many(host: &Host, number: usize) {
    for at in 0..number {
        host.write(&format!("many/{:02}/{at}.txt", at % 40), &format!("Passage {at} of bird{at}.\n"));
    }
}

#[test]
fn adding_files_reports_to_a_host_that_wants_to_know() {
    let mut host = Host::new();
    many(&host, 600);
    let call = json!({"name": "add_files", "arguments": {"paths": ["many"]}, "_meta": {"progressToken": "adding"}});
    let result = host.ask("tools/call", call);
    assert_eq!(result["structuredContent"]["added"], 600);
    let steps: Vec<f64> = host
        .notifications
        .iter()
        .map(|said| {
            assert_eq!(said["method"], "notifications/progress");
            assert_eq!(said["params"]["progressToken"], "adding");
            said["params"]["progress"].as_f64().unwrap()
        })
        .collect();
    assert!(!steps.is_empty() && steps.is_sorted(), "{steps:?}");
}

/// Begins each call only when it is let through, and tells how it ended, whether or not anybody waits for it.
#[derive(Clone)]
struct Gate {
    database: Database,
    entered: Sender<()>,
    passes: Arc<Mutex<Receiver<()>>>,
    ended: Sender<Option<String>>,
    left: Sender<()>,
}

/// Tells when nobody waits for a call any more, because it has ended or was cancelled.
struct Waiting(Sender<()>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.send(()).ok();
    }
}

impl Access for Gate {
    async fn run<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Database) -> nuthatch_link::Result<T> + Send + 'static,
    ) -> Result<T, Refusal> {
        let Self { database, entered, passes, ended, left } = self.clone();
        let _waiting = Waiting(left);
        entered.send(()).unwrap();
        let done = tokio::task::spawn_blocking(move || {
            passes.lock().unwrap().recv().unwrap();
            let done = call(&database);
            ended.send(done.as_ref().err().map(|error| error.kind.name().to_string())).unwrap();
            done
        });
        done.await.unwrap().map_err(Refusal::from)
    }
}

#[test]
fn a_call_that_is_cancelled_ends_and_is_not_answered() {
    let (entered, entering) = channel();
    let (pass, passes) = channel();
    let (ended, endings) = channel();
    let (left, leaving) = channel();
    let passes = Arc::new(Mutex::new(passes));
    let mut host = Host::asking(|database| Gate { database, entered, passes, ended, left }, |_| ());
    host.store("notes", ["The heron stands.".to_string()]);
    let cancelled = host.begin("tools/call", json!({"name": "search", "arguments": {"query": "heron"}}));
    // A call that is cancelled before it has begun never begins.
    entering.recv().unwrap();
    let notice = json!({"requestId": cancelled});
    host.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": notice}));
    leaving.recv().unwrap();
    // One thread moves messages: what it answers now comes after all that the cancellation did.
    let tools = host.begin("tools/list", json!({}));
    assert_eq!(host.hear()["id"], tools);
    pass.send(()).unwrap();
    assert_eq!(endings.recv().unwrap().as_deref(), Some("unavailable"), "the engine is told that nobody waits");
    pass.send(()).unwrap();
    let id = host.begin("tools/call", json!({"name": "search", "arguments": {"query": "heron"}}));
    assert_eq!(host.hear()["id"], id);
    assert_eq!(endings.recv().unwrap(), None);
    assert!(host.leave().is_empty());
}

#[test]
fn many_questions_at_once_are_all_answered() {
    let mut host = Host::new();
    host.store("notes", (0..200).map(|at| format!("Heron {at} stands in the reeds.")));
    let ids: Vec<u64> = (0..100)
        .map(|at| {
            let arguments = json!({"query": format!("heron {at}")});
            host.begin("tools/call", json!({"name": "search", "arguments": arguments}))
        })
        .collect();
    let mut answered: Vec<u64> = ids.iter().map(|_| host.hear()["id"].as_u64().unwrap()).collect();
    answered.sort_unstable();
    assert_eq!(answered, ids);
    host.leave();
}

#[test]
fn a_host_that_goes_is_answered_what_it_asked_before() {
    let mut host = Host::new();
    host.store("notes", ["The heron stands.".to_string()]);
    let id = host.begin("tools/call", json!({"name": "search", "arguments": {"query": "heron"}}));
    let said = host.leave();
    assert_eq!(said.len(), 1);
    assert_eq!(said[0]["id"], id);
    assert_eq!(said[0]["result"]["isError"], false);
}
