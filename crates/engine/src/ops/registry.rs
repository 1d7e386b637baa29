//! The list of all operations, by which one that comes over the socket is found.

use serde::de::DeserializeOwned;

use crate::call::Outcome;
use crate::database::Database;
use crate::ops::{
    Op, Repeat, Scope, View, collections, files, graph, keys, keyspaces, maintenance, read_point, records, search,
    tenants,
};
use crate::{Error, ErrorKind, Result};

/// An operation whose type is known by its name alone. Operations and answers are encoded with postcard.
pub struct Entry {
    /// [`Op::NAME`].
    pub name: &'static str,
    /// What a key must be allowed to ask it.
    pub scope: Scope,
    /// What becomes of it when it is asked for twice.
    pub repeat: Repeat,
    /// Decodes it, runs it on the view, and encodes its answer.
    pub run: fn(&View<'_>, &[u8]) -> Result<Vec<u8>>,
    /// The encoded answer of one that was found done.
    pub again: fn(&Database, &[u8], Outcome) -> Result<Vec<u8>>,
}

static ALL: &[Entry] = &[
    // Of records.
    entry::<records::Get>(),
    entry::<records::Count>(),
    entry::<records::Facets>(),
    entry::<crate::Scan>(),
    entry::<crate::Search>(),
    entry::<search::SearchMany>(),
    entry::<records::Info>(),
    entry::<records::Upsert>(),
    entry::<records::Delete>(),
    entry::<records::DeleteWhere>(),
    entry::<records::DeletePrefix>(),
    entry::<records::Optimize>(),
    entry::<records::WaitUntilIndexed>(),
    entry::<records::WaitUntilEmbedded>(),
    entry::<files::Files>(),
    entry::<files::RemoveFiles>(),
    entry::<files::Apply>(),
    entry::<files::PassageEmbedder>(),
    entry::<files::Embed>(),
    entry::<files::VectorsOf>(),
    entry::<files::WaitForVectors>(),
    entry::<files::EntryOf>(),
    entry::<files::EntriesOf>(),
    // Of keys.
    entry::<keys::Get>(),
    entry::<keys::MultiGet>(),
    entry::<keys::Entries>(),
    entry::<keys::Contains>(),
    entry::<keys::ExpiresIn>(),
    entry::<crate::KeyScan>(),
    entry::<keys::CountEstimate>(),
    entry::<keys::MultiPut>(),
    entry::<keys::Delete>(),
    entry::<keys::DeletePrefix>(),
    entry::<keys::CompareAndSet>(),
    entry::<keys::WriteIf>(),
    entry::<keys::Increment>(),
    entry::<keys::Append>(),
    entry::<keys::Expire>(),
    // Of nodes and edges.
    entry::<graph::GetNodes>(),
    entry::<graph::GetEdge>(),
    entry::<graph::NeighborsOf>(),
    entry::<crate::ListNodes>(),
    entry::<crate::Traverse>(),
    entry::<graph::Counts>(),
    entry::<graph::PutNodes>(),
    entry::<graph::PutEdges>(),
    entry::<graph::DeleteNodes>(),
    entry::<graph::DeleteEdges>(),
    // Of everything.
    entry::<collections::Open>(),
    entry::<collections::Make>(),
    entry::<collections::Names>(),
    entry::<collections::Infos>(),
    entry::<collections::Drop>(),
    entry::<keyspaces::Open>(),
    entry::<keyspaces::Names>(),
    entry::<keyspaces::Drop>(),
    entry::<crate::WriteBatch>(),
    entry::<maintenance::Stats>(),
    entry::<maintenance::Doctor>(),
    entry::<maintenance::Optimize>(),
    entry::<maintenance::Reclaim>(),
    entry::<maintenance::EraseIn>(),
    entry::<maintenance::Receipts>(),
    entry::<maintenance::Sync>(),
    entry::<maintenance::Migration>(),
    entry::<maintenance::Migrate>(),
    entry::<tenants::Create>(),
    entry::<tenants::Find>(),
    entry::<tenants::Names>(),
    entry::<tenants::Infos>(),
    entry::<tenants::Info>(),
    entry::<tenants::SetLimits>(),
    entry::<tenants::Drop>(),
    entry::<tenants::Limits>(),
    entry::<tenants::Usage>(),
    // Of a snapshot.
    entry::<read_point::CollectionShard>(),
    entry::<read_point::KeyspaceShard>(),
    entry::<read_point::Commit>(),
];

/// The operation of that name.
///
/// # Errors
/// `Unavailable` for a name that another version has given.
pub fn find(name: &str) -> Result<&'static Entry> {
    ALL.iter().find(|entry| entry.name == name).ok_or_else(|| {
        let message = format!("this process does not know operation {name:?}; run the same version in all processes");
        Error::new(ErrorKind::Unavailable, message)
    })
}

const fn entry<O: Op>() -> Entry {
    assert!(
        !matches!(O::SCOPE, Scope::Read) || matches!(O::REPEAT, Repeat::Read),
        "an operation that changes data needs more than read permission"
    );
    Entry { name: O::NAME, scope: O::SCOPE, repeat: O::REPEAT, run: run::<O>, again: again::<O> }
}

fn run<O: Op>(view: &View<'_>, body: &[u8]) -> Result<Vec<u8>> {
    encoded(&decoded::<O>(body)?.run(view)?)
}

fn again<O: Op>(db: &Database, body: &[u8], outcome: Outcome) -> Result<Vec<u8>> {
    encoded(&decoded::<O>(body)?.again(db, outcome)?)
}

fn decoded<T: DeserializeOwned>(body: &[u8]) -> Result<T> {
    postcard::from_bytes(body).map_err(|error| Error::invalid(format!("an operation cannot be decoded: {error}")))
}

fn encoded(answer: &impl serde::Serialize) -> Result<Vec<u8>> {
    postcard::to_stdvec(answer).map_err(|error| Error::internal(format!("an answer cannot be encoded: {error}")))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_operation_has_a_name_of_its_own() {
        let names: HashSet<&str> = ALL.iter().map(|entry| entry.name).collect();
        assert_eq!(names.len(), ALL.len());
        assert!(find("of no version").is_err());
    }
}
