//! Operations on files: listing and removing them, and the steps of adding them.

use std::time::Duration;

use nuthatch_filter::FieldChange;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::call::Outcome;
use crate::collection::WriteSet;
use crate::database::Database;
use crate::files::{Embedding, FileEntry, FileInfo, PassageSink};
use crate::ops::{Op, Repeat, Scope, View, on};

/// Files that were added at or below a path (all with ""), by path.
#[derive(Serialize, Deserialize)]
pub struct Files(pub String);

impl Op for Files {
    type On = on::Records;
    type Answer = Vec<FileInfo>;
    const NAME: &'static str = "files.list";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.records()?.ask(|core, place| core.files(place.reader, &self.0))
    }
}

/// Removes the file at a path, or all files below it, in as many batches as that takes. Says how many files.
#[derive(Serialize, Deserialize)]
pub struct RemoveFiles(pub String);

impl Op for RemoveFiles {
    type On = on::Records;
    type Answer = u64;
    const NAME: &'static str = "files.remove";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Resumes;

    fn run(self, view: &View<'_>) -> Result<u64> {
        let collection = view.collection()?;
        Ok(collection.call.before().files + collection.remove_files(&self.0)?)
    }
}

/// Changes fields of all passages of the files at or below some paths, in as many batches as that takes.
#[derive(Serialize, Deserialize)]
pub struct UpdateFiles {
    /// Files and folders.
    pub paths: Vec<String>,
    /// The change to the passages' fields.
    #[serde(with = "crate::codec::change")]
    pub change: FieldChange,
}

impl Op for UpdateFiles {
    type On = on::Records;
    /// How many passages changed.
    type Answer = u64;
    const NAME: &'static str = "files.update";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Resumes;

    fn run(self, view: &View<'_>) -> Result<u64> {
        let collection = view.collection()?;
        Ok(collection.call.before().replaced + PassageSink::update_files(collection, self.paths, &self.change)?)
    }
}

/// Writes what adding files has made.
#[derive(Serialize, Deserialize)]
pub struct Apply(pub WriteSet);

impl Op for Apply {
    type On = on::Records;
    type Answer = ();
    const NAME: &'static str = "files.apply";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Once;

    fn run(self, view: &View<'_>) -> Result<()> {
        PassageSink::apply(view.collection()?, self.0)
    }

    fn again(self, _: &Database, _: Outcome) -> Result<()> {
        Ok(())
    }
}

/// How texts without vectors get theirs; from here on that embedder is the collection's.
#[derive(Serialize, Deserialize)]
pub struct PassageEmbedder;

impl Op for PassageEmbedder {
    type On = on::Records;
    type Answer = Option<Embedding>;
    const NAME: &'static str = "files.passage_embedder";
    const SCOPE: Scope = Scope::Write;

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.collection()?.embedding()
    }
}

/// The vectors of texts; `None` when the collection does not embed.
#[derive(Serialize, Deserialize)]
pub struct Embed(pub Vec<String>);

impl Op for Embed {
    type On = on::Records;
    type Answer = Option<Vec<Vec<f32>>>;
    const NAME: &'static str = "files.embed";
    const SCOPE: Scope = Scope::Write;

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        let collection = view.collection()?;
        let texts: Vec<&str> = self.0.iter().map(String::as_str).collect();
        let embedder = collection.core.embedder_for_passages(&collection.call)?;
        Ok(embedder.map(|embedder| embedder.embed_passages(&texts)).transpose()?)
    }
}

/// Waits for vectors that are still to come, for as long as this at most; how many are missing then.
#[derive(Serialize, Deserialize)]
pub struct WaitForVectors(pub Duration);

impl Op for WaitForVectors {
    type On = on::Records;
    type Answer = u64;
    const NAME: &'static str = "files.wait_for_vectors";

    fn run(self, view: &View<'_>) -> Result<u64> {
        view.collection()?.wait_for_vectors(self.0)
    }
}

/// The stored vectors of records.
#[derive(Serialize, Deserialize)]
pub struct VectorsOf(pub Vec<String>);

impl Op for VectorsOf {
    type On = on::Records;
    type Answer = Vec<Option<Vec<f32>>>;
    const NAME: &'static str = "files.vectors_of";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        PassageSink::vectors(view.collection()?, self.0)
    }
}

/// The stored entry of a file.
#[derive(Serialize, Deserialize)]
pub struct EntryOf(pub String);

impl Op for EntryOf {
    type On = on::Records;
    type Answer = Option<FileEntry>;
    const NAME: &'static str = "files.entry";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        PassageSink::entry(view.collection()?, &self.0)
    }
}

/// The same of the file at a path, or of all files below it.
#[derive(Serialize, Deserialize)]
pub struct EntriesOf(pub String);

impl Op for EntriesOf {
    type On = on::Records;
    type Answer = Vec<(String, FileEntry)>;
    const NAME: &'static str = "files.entries";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        PassageSink::entries(view.collection()?, &self.0)
    }
}
