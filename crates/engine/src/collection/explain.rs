//! How an answer was found.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Counts and choices of one search. Every figure is counted, none estimated.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Explain {
    /// The legs that were searched: `hybrid`, `text` or `vector`.
    pub mode: String,
    /// The last change that the search saw.
    pub sequence: u64,
    /// Rows that passed the filter; absent without a filter.
    pub filter_matches: Option<u64>,
    /// How the leg of `vector`, `like` or the embedded text was searched.
    pub vector: Option<VectorPlan>,
    /// Of the further legs, by vector field.
    pub vectors: BTreeMap<String, VectorPlan>,
    /// How words were searched.
    pub text: Option<TextPlan>,
    /// How the legs became one score; absent with one leg.
    pub fusion: Option<String>,
    /// Rows that were reranked by their token vectors; absent if none were to be.
    pub reranked: Option<usize>,
    /// Times the search restarted because a hit vanished between finding and reading it.
    pub retries: u32,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct VectorPlan {
    /// `graph walk`, `flat scan`, `exact comparison`, `nothing matches`, joined by `, ` where segments differ; `fresh rows only`, or
    /// `exact scan of the stored vectors`.
    pub plan: String,
    /// The named field that was searched.
    pub using: Option<String>,
    pub metric: String,
    pub segments: usize,
    pub segment_rows: u64,
    /// Rows that no segment holds yet; always compared exactly.
    pub fresh_rows: u64,
    /// Size of the largest pool that a graph was walked with; 0 when none was.
    pub ef: usize,
    /// The deprecated name of `ef`; one version keeps both.
    pub effort: usize,
    /// Graph records read, times that the search waited for a read, and records that came from the disk.
    pub records_read: usize,
    pub rounds: usize,
    pub cold_reads: usize,
    /// Rows that the indexes' codes could not tell apart.
    pub candidates: usize,
    /// Of these, rows whose exact vectors had to be read.
    pub reranked: usize,
    /// True when every row was compared exactly or by bounds that exclude error.
    pub exact: bool,
    /// True when the query's vector was made from its text.
    pub embedded: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TextPlan {
    /// `bm25 index`, or `exact scan of the stored texts`.
    pub plan: String,
    pub index_rows: u64,
    /// Texts that the index does not hold yet; scored with the same statistics.
    pub fresh_rows: u64,
    pub candidates: usize,
}
