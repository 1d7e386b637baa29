//! The embedders that this process has given to collections. Batches, snapshots and transactions, which have no handle
//! that knows the embedder, use them, and so does a later handle without one.

use std::collections::HashMap;

use nuthatch_embed::Embedder;
use nuthatch_engine::database::Database;
use nuthatch_engine::record::Record;
use nuthatch_engine::transaction::WriteBatch;
use nuthatch_engine::{EmbedderChoice, Error, Result};
use parking_lot::Mutex;

/// By number of the tenant and name of the collection. Only of a process that is served: one that holds the folder keeps them with the collections.
#[derive(Default)]
pub(crate) struct Given {
    choices: Mutex<HashMap<(u32, String), EmbedderChoice>>,
}

impl Given {
    pub fn note(&self, tenant: u32, collection: &str, choice: &EmbedderChoice) {
        let place = (tenant, collection.to_string());
        match choice {
            EmbedderChoice::Given(_) => drop(self.choices.lock().insert(place, choice.clone())),
            EmbedderChoice::None | EmbedderChoice::BuiltIn(_) => drop(self.choices.lock().remove(&place)),
            EmbedderChoice::Auto => {}
        }
    }

    /// A collection of that name that is made later is another one.
    pub fn forget(&self, tenant: u32, collection: &str) {
        self.choices.lock().remove(&(tenant, collection.to_string()));
    }

    pub fn of(&self, tenant: u32, collection: &str) -> EmbedderChoice {
        self.choices.lock().get(&(tenant, collection.to_string())).cloned().unwrap_or(EmbedderChoice::Auto)
    }

    /// Makes the vectors of a batch's texts that come without one, where the embedder is this process's own.
    pub fn embed(&self, tenant: u32, batch: &mut WriteBatch) -> Result<()> {
        for (collection, records) in batch.records_mut() {
            if let EmbedderChoice::Given(embedder) = self.of(tenant, collection) {
                embed(&*embedder, records)?;
            }
        }
        Ok(())
    }

    /// Hands them to the database, when this process has come to hold it.
    pub fn pass_on(&self, db: &Database) {
        for choice in self.choices.lock().values() {
            if let EmbedderChoice::Given(embedder) = choice {
                db.remember_embedder(embedder);
            }
        }
    }
}

fn embed<'r>(embedder: &dyn Embedder, records: impl Iterator<Item = &'r mut Record>) -> Result<()> {
    let (texts, places): (Vec<String>, Vec<&mut Option<Vec<f32>>>) =
        records.filter_map(|record| Some((record.text_to_embed()?, &mut record.vector))).unzip();
    if texts.is_empty() {
        return Ok(());
    }
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = embedder.embed_passages(&texts).map_err(Error::from)?;
    places.into_iter().zip(vectors).for_each(|(place, vector)| *place = Some(vector));
    Ok(())
}
