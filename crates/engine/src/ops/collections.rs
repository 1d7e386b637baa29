//! Getting, listing and dropping collections.

use serde::{Deserialize, Serialize};

use crate::call::{Choice, Outcome};
use crate::codec::json;
use crate::collection::{CollectionInfo, CollectionOptions, VectorFieldOptions};
use crate::database::Database;
use crate::embedder::EmbedderChoice;
use crate::ops::{Op, Repeat, Scope, View, on};
use crate::transfer::CollectionEntry;
use crate::tree::TREES;
use crate::{Error, Result};

/// The collection of that name, made when there is none, unless it must exist.
#[derive(Serialize, Deserialize)]
pub struct Open {
    /// The name within the tenant.
    pub name: String,
    /// The options; omitted ones keep their stored values, or take the defaults.
    pub options: OptionsAsk,
    /// Refuse in place of making one.
    pub must_exist: bool,
}

/// The data that a handle in another process keeps of a collection.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Opened {
    /// Its number within the tenant.
    pub id: u32,
    /// Of the unnamed vectors.
    pub metric: String,
    /// Of the unnamed vectors, as they are stored.
    pub element: String,
}

impl Op for Open {
    type On = on::Everything;
    type Answer = Opened;
    const NAME: &'static str = "collections.open";
    const SCOPE: Scope = Scope::Write;

    fn run(self, view: &View<'_>) -> Result<Opened> {
        let db = view.database()?;
        let collection = match self.must_exist {
            true if self.name == TREES => db.passages_of_trees()?,
            true => db.existing_collection(&self.name)?,
            false => db.collection(&self.name, self.options.options(db.call.embedder())?)?,
        };
        Ok(Opened {
            id: collection.core.shard.collection,
            metric: collection.metric().to_string(),
            element: collection.element().to_string(),
        })
    }
}

/// A collection of an import, with exactly these options, unless there is one of that name.
#[derive(Serialize, Deserialize)]
pub struct Make(#[serde(with = "json")] pub CollectionEntry);

impl Op for Make {
    type On = on::Everything;
    type Answer = ();
    const NAME: &'static str = "collections.make";
    const SCOPE: Scope = Scope::Write;

    fn run(self, view: &View<'_>) -> Result<()> {
        view.database()?.make_collection(&self.0)
    }
}

/// Names of all collections of the tenant.
#[derive(Serialize, Deserialize)]
pub struct Names;

impl Op for Names {
    type On = on::Everything;
    type Answer = Vec<String>;
    const NAME: &'static str = "collections.names";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.database()?.listed_collections()
    }
}

/// All collections of the tenant, for listings.
#[derive(Serialize, Deserialize)]
pub struct Infos;

impl Op for Infos {
    type On = on::Everything;
    type Answer = Vec<CollectionInfo>;
    const NAME: &'static str = "collections.infos";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.database()?.collections()
    }
}

/// Deletes a collection with everything in it. False when there is none.
#[derive(Serialize, Deserialize)]
pub struct Drop(pub String);

impl Op for Drop {
    type On = on::Everything;
    type Answer = bool;
    const NAME: &'static str = "collections.drop";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Once;

    fn run(self, view: &View<'_>) -> Result<bool> {
        view.database()?.drop_collection(&self.0)
    }

    fn again(self, _: &Database, outcome: Outcome) -> Result<bool> {
        Ok(outcome.dropped > 0)
    }
}

/// [`CollectionOptions`] without the embedder itself, which stays with the caller.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OptionsAsk {
    dim: Option<usize>,
    metric: Option<String>,
    element: Option<String>,
    vectors: Vec<(String, FieldAsk)>,
    embedder: Choice,
    language: Option<String>,
}

/// Kind, dimension, metric and element type.
type FieldAsk = (Option<String>, Option<usize>, Option<String>, Option<String>);

impl From<&CollectionOptions> for OptionsAsk {
    fn from(options: &CollectionOptions) -> Self {
        Self {
            dim: options.dim,
            metric: options.metric.map(|metric| metric.to_string()),
            element: options.element.map(|element| element.to_string()),
            vectors: options.vectors.iter().map(|(name, field)| (name.clone(), field_ask(field))).collect(),
            embedder: Choice::from(&options.embedder),
            language: options.language.clone(),
        }
    }
}

impl OptionsAsk {
    /// `embedder`: the caller's own, where that is what it chose.
    fn options(self, embedder: Option<EmbedderChoice>) -> Result<CollectionOptions> {
        Ok(CollectionOptions {
            dim: self.dim,
            metric: self.metric.map(|metric| metric.parse()).transpose().map_err(Error::from)?,
            element: self.element.map(|element| element.parse()).transpose().map_err(Error::from)?,
            vectors: self
                .vectors
                .into_iter()
                .map(|(name, ask)| Ok((name, field_options(ask)?)))
                .collect::<Result<_>>()?,
            embedder: self.embedder.chosen(embedder),
            language: self.language,
        })
    }
}

fn field_ask(field: &VectorFieldOptions) -> FieldAsk {
    (
        field.kind.map(|kind| kind.as_str().to_string()),
        field.dim,
        field.metric.map(|metric| metric.to_string()),
        field.element.map(|element| element.to_string()),
    )
}

fn field_options((kind, dim, metric, element): FieldAsk) -> Result<VectorFieldOptions> {
    Ok(VectorFieldOptions {
        kind: kind.map(|kind| kind.parse()).transpose()?,
        dim,
        metric: metric.map(|metric| metric.parse()).transpose().map_err(Error::from)?,
        element: element.map(|element| element.parse()).transpose().map_err(Error::from)?,
    })
}
