//! How searches, listings and options are spelt on the socket.

use std::time::Duration;

use nuthatch_vector::Accuracy;
use serde::{Deserialize, Serialize};

use crate::collection::{CollectionOptions, Fusion, Include, Mode, NamedVectors, Scan, Search, VectorFieldOptions};
use crate::process::request::Choice;
use crate::{EmbedderChoice, Error, Result};

/// A search as it goes over the socket. Cancelling is a message of its own.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SearchAsk {
    text: Option<String>,
    vector: Option<Vec<f32>>,
    like: Option<String>,
    using: Option<String>,
    vectors: NamedVectors,
    mode: Option<Mode>,
    filter: Option<String>,
    limit: usize,
    offset: usize,
    include: Include,
    fusion: Fusion,
    accuracy: AccuracyAsk,
    time_limit: Option<Duration>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum AccuracyAsk {
    Recall(f32),
    Effort(usize),
    Exact,
}

impl From<&Search> for SearchAsk {
    fn from(search: &Search) -> Self {
        Self {
            text: search.text.clone(),
            vector: search.vector.clone(),
            like: search.like.clone(),
            using: search.using.clone(),
            vectors: search.vectors.clone(),
            mode: search.mode,
            filter: search.filter.as_ref().map(ToString::to_string),
            limit: search.limit,
            offset: search.offset,
            include: search.include,
            fusion: search.fusion,
            accuracy: match search.accuracy {
                Accuracy::Recall(recall) => AccuracyAsk::Recall(recall),
                Accuracy::Effort(effort) => AccuracyAsk::Effort(effort),
                Accuracy::Exact => AccuracyAsk::Exact,
            },
            time_limit: search.time_limit,
        }
    }
}

impl SearchAsk {
    pub fn all(asked: Vec<Self>) -> Result<Vec<Search>> {
        asked.into_iter().map(Self::search).collect()
    }

    pub fn search(self) -> Result<Search> {
        Ok(Search {
            text: self.text,
            vector: self.vector,
            like: self.like,
            using: self.using,
            vectors: self.vectors,
            mode: self.mode,
            filter: self.filter.map(|filter| nuthatch_filter::parse(&filter)).transpose()?,
            limit: self.limit,
            offset: self.offset,
            include: self.include,
            fusion: self.fusion,
            accuracy: match self.accuracy {
                AccuracyAsk::Recall(recall) => Accuracy::Recall(recall),
                AccuracyAsk::Effort(effort) => Accuracy::Effort(effort),
                AccuracyAsk::Exact => Accuracy::Exact,
            },
            time_limit: self.time_limit,
            cancel: None,
        })
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ScanAsk {
    cursor: Option<String>,
    limit: usize,
    filter: Option<String>,
    vectors: bool,
}

impl From<&Scan> for ScanAsk {
    fn from(scan: &Scan) -> Self {
        Self {
            cursor: scan.cursor.clone(),
            limit: scan.limit,
            filter: scan.filter.as_ref().map(ToString::to_string),
            vectors: scan.vectors,
        }
    }
}

impl ScanAsk {
    pub fn scan(self) -> Result<Scan> {
        let filter = self.filter.map(|filter| nuthatch_filter::parse(&filter)).transpose()?;
        Ok(Scan { cursor: self.cursor, limit: self.limit, filter, vectors: self.vectors })
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct OptionsAsk {
    dim: Option<usize>,
    metric: Option<String>,
    element: Option<String>,
    vectors: Vec<(String, FieldAsk)>,
    pub embedder: Choice,
    language: Option<String>,
}

/// Dimension, metric and element type.
type FieldAsk = (Option<usize>, Option<String>, Option<String>);

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
    pub fn options(self, embedder: EmbedderChoice) -> Result<CollectionOptions> {
        Ok(CollectionOptions {
            dim: self.dim,
            metric: self.metric.map(|metric| metric.parse()).transpose().map_err(Error::from)?,
            element: self.element.map(|element| element.parse()).transpose().map_err(Error::from)?,
            vectors: self
                .vectors
                .into_iter()
                .map(|(name, ask)| Ok((name, field_options(ask)?)))
                .collect::<Result<_>>()?,
            embedder,
            language: self.language,
        })
    }
}

fn field_ask(field: &VectorFieldOptions) -> FieldAsk {
    (field.dim, field.metric.map(|metric| metric.to_string()), field.element.map(|element| element.to_string()))
}

fn field_options((dim, metric, element): FieldAsk) -> Result<VectorFieldOptions> {
    Ok(VectorFieldOptions {
        dim,
        metric: metric.map(|metric| metric.parse()).transpose().map_err(Error::from)?,
        element: element.map(|element| element.parse()).transpose().map_err(Error::from)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_survive_the_way() {
        for text in [
            "year >= 2024 and team in ('core', 'o''ps')",
            "not (tags contains 'a' or \"odd name\".x is null)",
            "when between '2024-01-01T00:00:00Z' and '2025-01-01T00:00:00Z'",
            "name like '50!%' escape '!' and starts_with(path, 'a/b') and x = 1.5e300",
        ] {
            let search = Search::text("words").filter(text).unwrap();
            let back = SearchAsk::from(&search).search().unwrap();
            assert_eq!(back.filter, search.filter, "{text}");
        }
    }
}
