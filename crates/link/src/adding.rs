//! Adding files to a collection that another process holds: they are read and split here, where the caller's paths, working
//! folder and permissions are; the holder embeds and stores them, a commit at a time.

use std::path::PathBuf;
use std::time::Duration;

use nuthatch_engine::collection::WriteSet;
use nuthatch_engine::durability::Durability;
use nuthatch_engine::files::{Embedding, FileEntry, PassageSink};
use nuthatch_engine::ops::{Op, files, on, records};
use nuthatch_engine::record::Record;
use nuthatch_engine::{EmbedderChoice, Error, FieldChange, Payload, Result};

use crate::records::Inner;
use crate::route::Route;

/// A collection in another process. Each call is one request, so a holder may die between any two of them.
pub(crate) struct Elsewhere<'a> {
    pub collection: &'a Inner,
    pub durability: Durability,
    pub link: &'a Route,
}

impl Elsewhere<'_> {
    fn ask<O: Op<On = on::Records>>(&self, op: O) -> Result<O::Answer> {
        self.collection.ask(op, self.durability)
    }
}

impl PassageSink for Elsewhere<'_> {
    fn own_folder(&self) -> PathBuf {
        self.link.root().to_path_buf()
    }

    fn embedding(&self) -> Result<Option<Embedding>> {
        self.ask(files::PassageEmbedder)
    }

    fn entry(&self, path: &str) -> Result<Option<FileEntry>> {
        self.ask(files::EntryOf(path.into()))
    }

    fn entries(&self, path: &str) -> Result<Vec<(String, FileEntry)>> {
        self.ask(files::EntriesOf(path.into()))
    }

    fn vectors(&self, ids: Vec<String>) -> Result<Vec<Option<Vec<f32>>>> {
        self.ask(files::VectorsOf(ids))
    }

    fn payload_of(&self, id: &str) -> Result<Option<Payload>> {
        let found = self.ask(records::Get { ids: vec![id.into()], vectors: false })?.pop();
        Ok(found.flatten().map(|record| record.payload))
    }

    fn update_files(&self, paths: Vec<String>, change: &FieldChange) -> Result<u64> {
        self.ask(files::UpdateFiles { paths, change: change.clone() })
    }

    fn embed_missing(&self, records: &mut [Record]) -> Result<()> {
        let texts: Vec<String> = records.iter().filter_map(Record::text_to_embed).collect();
        if texts.is_empty() {
            return Ok(());
        }
        let vectors = match &self.collection.embedder {
            // A given embedder runs here, which saves a round trip.
            EmbedderChoice::Given(embedder) => {
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                Some(embedder.embed_passages(&texts).map_err(Error::from)?)
            }
            _ => self.ask(files::Embed(texts))?,
        };
        let Some(vectors) = vectors else { return Ok(()) };
        let mut vectors = vectors.into_iter();
        for record in records.iter_mut() {
            if record.text_to_embed().is_some() {
                record.vector = vectors.next();
            }
        }
        Ok(())
    }

    fn apply(&self, set: WriteSet) -> Result<()> {
        self.ask(files::Apply(set))
    }

    fn wait_for_vectors(&self, limit: Duration) -> Result<u64> {
        self.ask(files::WaitForVectors(limit))
    }
}
