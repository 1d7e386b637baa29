//! The index of grams: which contents can match a pattern, and where they are.
//!
//! Each content has a number, given once. 256 numbers are a block, and a block is indexed as a whole: `nuthatch_grep` spells which
//! of its contents have which grams. So contents of all trees, and of all their versions, are indexed once. [`note`] keeps the
//! rows in step with every change, [`build`] finds grams behind it, and [`choose`] tells a search what to read.
//!
//! **Invariant:** a content of a version is in a block, or waits. A batch that removes a content also removes its index
//! data: its block goes with it, and its neighbours wait again.

mod build;
mod check;
mod choose;
mod note;

use nuthatch_grep::CONTENTS_A_BLOCK;
use serde::{Deserialize, Serialize};

pub(crate) use build::{Pace, indexed, remove_outdated, work};
pub(crate) use check::check;
pub(crate) use choose::{Choice, choose};
pub(crate) use note::Noted;

use crate::Result;
use crate::kv::Rows;
use crate::tree::key;
use crate::tree::value::{Piece, decode, encode};

/// Of the rows and of what grams are.
const VERSION: u8 = 1;
/// Bytes of one row; much larger values lie elsewhere.
const PIECE_BYTES: usize = 32 << 10;

/// A derived row: what an upload has that has no chunks, and what the row says.
type Derived<T> = (Vec<Piece>, T);

fn derived<T>(value: T) -> Derived<T> {
    (Vec::new(), value)
}

/// The first bytes of a derived row.
fn head() -> Result<Vec<u8>> {
    encode(&derived(()))
}

/// How far the index is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct State {
    version: u8,
    /// The number of the next content.
    next: u64,
    /// Versions behind this row have no paths in the index yet, because an earlier program wrote them; `None`: all have.
    filled_to: Option<Vec<u8>>,
}

/// A content that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Pending {
    bytes: u64,
}

/// The stored form of a block.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Block {
    contents: Vec<Indexed>,
    /// How many pieces each part is in.
    #[serde(with = "crate::codec::bytes")]
    pieces: Vec<u8>,
}

/// A content of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Indexed {
    /// Its number within the block.
    at: u8,
    bytes: u64,
    /// Nothing is known of its grams.
    is_always: bool,
}

/// How many contents the index has, and how many wait for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeIndex {
    /// Contents whose grams are known.
    pub indexed: u64,
    /// Contents that a search reads in any case, until their grams are found.
    pub pending: u64,
    /// Bytes of contents whose grams are known.
    pub indexed_bytes: u64,
    /// About how many bytes the index has, before they are compressed.
    pub index_bytes: u64,
}

fn block_of(number: u64) -> (u64, u8) {
    (number / CONTENTS_A_BLOCK as u64, (number % CONTENTS_A_BLOCK as u64) as u8)
}

fn number_in(block: u64, at: u8) -> u64 {
    block * CONTENTS_A_BLOCK as u64 + u64::from(at)
}

/// How far the index is; `None` where there is none, or one of another version.
fn state(rows: &dyn Rows) -> Result<Option<State>> {
    let Some(stored) = rows.values(&[key::gram_state()])?.pop().flatten() else { return Ok(None) };
    let (_, version): Derived<u8> = decode(&stored)?;
    match version {
        VERSION => decode::<Derived<State>>(&stored).map(|(_, state)| Some(state)),
        _ => Ok(None),
    }
}
