//! A file of a tree that comes in parts.
//!
//! **Invariant:** what has come of a file that is never put goes again, also when its client goes away.

use nuthatch_link::{Database, PutFile, PutFiles, PutReport, Result as EngineResult, Tree};
use tokio::runtime::Handle;

use crate::api::durable::Durable;
use crate::caller::Caller;
use crate::problem::Problem;

/// A file that comes in parts.
pub struct Upload {
    begun: Begun,
    /// The number of bytes sent so far.
    bytes: u64,
}

/// An upload that is ended when this is dropped, unless it has been put.
struct Begun {
    runtime: Handle,
    caller: Caller,
    tree: Tree,
    number: u64,
    is_put: bool,
}

impl Upload {
    pub async fn begin(
        caller: &Caller,
        database: Database,
        tree: String,
        durability: Durable,
    ) -> Result<Self, Problem> {
        let (runtime, mine) = (Handle::current(), caller.clone());
        let begun = caller.step(move || {
            let tree = database.tree(&tree)?.with_durability(durability.into());
            let number = tree.begin_upload()?;
            Ok(Begun { runtime, caller: mine, tree, number, is_put: false })
        });
        Ok(Self { begun: begun.await?, bytes: 0 })
    }

    pub async fn send(&mut self, part: Vec<u8>, is_last: bool) -> Result<(), Problem> {
        let (tree, number, offset) = (self.begun.tree.clone(), self.begun.number, self.bytes);
        self.bytes += part.len() as u64;
        self.begun.caller.step(move || tree.upload(number, offset, part, is_last)).await
    }

    pub async fn put(self, file: impl FnOnce(u64) -> PutFile) -> Result<PutReport, Problem> {
        let (caller, file, mut begun) = (self.begun.caller.clone(), file(self.begun.number), self.begun);
        // The step has the upload, and goes on when nobody waits for it any more: nothing may end the upload while it is put.
        let put = caller.step(move || {
            let report = put_one(&begun.tree, file)?;
            begun.keep();
            Ok(report)
        });
        put.await
    }
}

impl Begun {
    /// A file has what was uploaded.
    fn keep(&mut self) {
        self.is_put = true;
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        if !self.is_put {
            let (caller, tree, number) = (self.caller.clone(), self.tree.clone(), self.number);
            self.runtime.spawn(async move { caller.step(move || tree.end_upload(number)).await });
        }
    }
}

/// Puts a file by itself.
pub fn put_one(tree: &Tree, file: PutFile) -> EngineResult<PutReport> {
    tree.put(PutFiles { files: vec![file], ..PutFiles::default() })
}
