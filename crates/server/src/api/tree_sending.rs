//! The bytes of a version that are sent, a part at a time.
//!
//! **Invariant:** all parts are of one version, whatever is written meanwhile; a version that goes breaks the answer off.

use std::io;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::HeaderMap;
use nuthatch_link::{Error, Files, Result as EngineResult, TreeEntry, What};

use crate::access::Turn;
use crate::admission::Admitted;
use crate::api::conditions::{self, Wanted};
use crate::caller::{Caller, CancelledOnDrop};

/// Bytes of a file that are sent, and held, at a time.
const SENT_AT_ONCE: usize = 1 << 20;

/// A version of a file, and how to read it.
pub struct Version {
    files: Files,
    as_of: Option<String>,
    pub entry: TreeEntry,
}

/// A file, and what is answered of it.
pub struct Opened {
    pub version: Version,
    pub tag: String,
    pub wanted: Wanted,
    /// The first bytes, if any are sent.
    pub first: Option<Vec<u8>>,
}

impl Version {
    fn part(&self, from: u64, to: u64) -> EngineResult<Vec<u8>> {
        let limit = usize::try_from(to - from).unwrap_or(usize::MAX).min(SENT_AT_ONCE);
        self.files.read_version(self.as_of.as_deref(), &self.entry, from, limit)
    }
}

/// Opens the file at a path, and evaluates what the headers of a request want of it.
///
/// # Errors
/// `NotFound` when nothing stands there, `Invalid` for a folder or a link; those of reading.
pub fn open(
    files: Files,
    as_of: Option<String>,
    path: &str,
    headers: &HeaderMap,
    has_body: bool,
) -> EngineResult<Opened> {
    let Some(entry) = files.entry(as_of.as_deref(), path)? else {
        let why = format!("tree {:?} has no file {path:?}", files.name());
        return Err(Error::not_found(why).about(What::File, path));
    };
    let Some(content) = entry.content else {
        let kind = if entry.target.is_some() { "link" } else { "folder" };
        return Err(Error::invalid(format!(
            "{path:?} is a {kind}, and only files have bytes; its entry tells the rest"
        )));
    };
    let (tag, wanted) = (conditions::tag(&content), conditions::wanted(headers, &content, entry.bytes));
    let version = Version { files, as_of, entry };
    let sent = match wanted {
        Wanted::Whole => Some((0, version.entry.bytes)),
        Wanted::Part(from, to) => Some((from, to)),
        Wanted::Nothing | Wanted::Other | Wanted::Beyond => None,
    };
    let first = sent.filter(|_| has_body).map(|(from, to)| version.part(from, to)).transpose()?;
    Ok(Opened { version, tag, wanted, first })
}

/// The guards that a request keeps until its answer is sent: its turn, its wish to go on, its place.
pub type Held = (Option<Turn>, CancelledOnDrop, Option<Arc<Admitted>>);

/// A file that is being sent, a part at a time: the next one is read when the client has taken this one.
struct Sending {
    caller: Caller,
    version: Arc<Version>,
    first: Option<Vec<u8>>,
    at: u64,
    to: u64,
    _held: Held,
}

/// The bytes of a version from `at` to before `to`, of which the first have been read.
pub fn body(caller: Caller, version: Version, first: Vec<u8>, at: u64, to: u64, held: Held) -> Body {
    let sending = Sending { caller, version: Arc::new(version), first: Some(first), at, to, _held: held };
    Body::from_stream(futures_util::stream::unfold(sending, Sending::next))
}

impl Sending {
    async fn next(mut self) -> Option<(io::Result<Bytes>, Self)> {
        let part = match self.first.take() {
            Some(first) => Ok(first),
            None if self.at >= self.to => return None,
            None => {
                let (version, from, to) = (self.version.clone(), self.at, self.to);
                self.caller.step(move || version.part(from, to)).await
            }
        };
        match part {
            Ok(part) if part.is_empty() => None,
            Ok(part) => {
                self.at += part.len() as u64;
                Some((Ok(part.into()), self))
            }
            // The head is sent: a connection that breaks off says that the file is not whole.
            Err(problem) => {
                self.at = self.to;
                Some((Err(io::Error::other(problem.detail)), self))
            }
        }
    }
}
