//! The memtable, rows that no segment holds yet: their vectors' codes and their payloads, in memory.
//!
//! They lie in parts of some tens of kilobytes, each shared with the searches that read it: a write copies the part
//! that it changes if a search is reading it, so that neither waits for the other. Removing a row leaves its part's
//! codes unchanged.
//!
//! **Useful for** taking writes while searches go on; a clone is as cheap as a list of its parts. **Not for** ids: rows are numbers.
//!
//! **Invariant:** rows ascend, from part to part and inside each.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use nuthatch_filter::Filter;
use nuthatch_sparse::{FreshVectors, SparseVector};
use nuthatch_vector::{MemtableSearch, VectorMemtable};
use roaring::RoaringTreemap;

use crate::Result;
use crate::descriptor::field::{FieldId, FieldVectors, Fields};
use crate::vector_value::VectorValue;

/// The rows and code bytes at which a part is full. They bound what a write copies.
const PART_ROWS_MAX: usize = 256;
const PART_BYTES_MAX: u64 = 32 << 10;
/// The memory that a row takes besides its payload and codes.
const ROW_OVERHEAD_BYTES: u64 = 48;

#[derive(Clone, Default)]
pub(crate) struct Memtable {
    parts: Vec<Part>,
    len: usize,
    bytes: u64,
}

#[derive(Clone, Default)]
struct Part {
    rows: Arc<Rows>,
    /// By place among the rows.
    removed: [u64; PART_ROWS_MAX / 64],
    live: usize,
}

/// The rows of a part, removed ones included.
#[derive(Clone, Default)]
struct Rows {
    ids: Vec<u64>,
    payloads: Vec<Arc<[u8]>>,
    vectors: BTreeMap<FieldId, VectorMemtable>,
    sparse: BTreeMap<FieldId, FreshVectors>,
}

impl Memtable {
    /// Adds a row behind all others.
    pub fn insert(&mut self, row: u64, payload: &[u8], vectors: &FieldVectors, fields: &Fields) -> Result<()> {
        let mut rows = Rows::default();
        for (id, value) in vectors {
            let Some(field) = fields.get(*id) else { continue };
            let vector = match value {
                VectorValue::Dense(vector) => vector,
                VectorValue::Sparse(vector) => {
                    rows.sparse.entry(*id).or_default().push(row, vector);
                    continue;
                }
                // Read from the store for the few rows that are ranked by them.
                VectorValue::Tokens(_) => continue,
            };
            let mut memtable = VectorMemtable::new(vector.len(), field.metric)?;
            memtable.push(row, vector)?;
            rows.vectors.insert(*id, memtable);
        }
        rows.ids.push(row);
        rows.payloads.push(payload.into());
        self.add(Part::of(rows));
        Ok(())
    }

    /// Adds rows that all come after the present ones. Encoding them was the slow part.
    pub fn append(&mut self, later: Memtable) {
        later.parts.into_iter().for_each(|part| self.add(part));
    }

    fn add(&mut self, mut part: Part) {
        if part.live < part.rows.ids.len() {
            part.compact();
        }
        debug_assert!(part.rows.ids.is_sorted_by(|row, next| row < next), "rows ascend inside a part");
        debug_assert!(self.parts.last().is_none_or(|last| last.rows.ids.last() < part.rows.ids.first()), "rows ascend");
        self.len += part.live;
        match self.parts.last_mut() {
            Some(last) if last.has_room_for(&part) => {
                self.bytes -= last.bytes();
                last.take(&part);
                self.bytes += last.bytes();
            }
            _ => {
                self.bytes += part.bytes();
                self.parts.push(part);
            }
        }
    }

    /// False when the row is not here.
    pub fn remove(&mut self, row: u64) -> bool {
        let Some((at, place)) = self.find(row) else { return false };
        let part = &mut self.parts[at];
        part.removed[place / 64] |= 1 << (place % 64);
        part.live -= 1;
        self.len -= 1;
        if part.live == 0 {
            self.bytes -= part.bytes();
            self.parts.remove(at);
        } else if part.live * 2 < part.rows.ids.len() {
            // Each copy is paid for by as many removals.
            self.bytes -= part.bytes();
            part.compact();
            self.bytes += part.bytes();
        }
        true
    }

    pub fn contains(&self, row: u64) -> bool {
        self.find(row).is_some()
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds the rows that can be among the best by their vectors of a field, of those passing `keep`.
    pub fn search(&self, field: FieldId, search: &mut MemtableSearch, keep: impl Fn(u64) -> bool) {
        for part in &self.parts {
            let Some(memtable) = part.rows.vectors.get(&field) else { continue };
            match part.live == part.rows.ids.len() {
                true => search.look_at(memtable, &keep),
                false => {
                    let mut places = part.rows.ids.iter().zip(0..);
                    search.look_at(memtable, |row| {
                        // Both sides ascend.
                        let place = places.find(|(id, _)| **id == row).map(|(_, place)| place);
                        place.is_some_and(|place| !part.is_removed(place)) && keep(row)
                    });
                }
            }
        }
    }

    /// Shows the rows that share a term with a sparse query, of those passing `keep`, and their scores.
    pub fn search_sparse(
        &self,
        field: FieldId,
        query: &SparseVector,
        keep: &dyn Fn(u64) -> bool,
        show: &mut dyn FnMut(u64, f32),
    ) {
        for part in &self.parts {
            let Some(fresh) = part.rows.sparse.get(&field) else { continue };
            fresh.search(query, &mut |row, score| {
                let is_live = || part.rows.ids.binary_search(&row).is_ok_and(|place| !part.is_removed(place));
                if (part.live == part.rows.ids.len() || is_live()) && keep(row) {
                    show(row, score);
                }
            });
        }
    }

    pub fn rows(&self) -> RoaringTreemap {
        self.live().map(|(row, _)| row).collect()
    }

    /// Rows whose payload passes the filter.
    pub fn matching(&self, filter: &Filter) -> Result<RoaringTreemap> {
        let mut rows = RoaringTreemap::new();
        for (row, payload) in self.live() {
            if filter.matches(&nuthatch_filter::decode(payload)?) {
                rows.insert(row);
            }
        }
        Ok(rows)
    }

    /// Each live row and its payload.
    pub fn live(&self) -> impl Iterator<Item = (u64, &Arc<[u8]>)> {
        self.parts.iter().flat_map(Part::live)
    }

    /// The part of a live row, and its place there.
    fn find(&self, row: u64) -> Option<(usize, usize)> {
        let at = self.parts.partition_point(|part| part.rows.ids.last().is_some_and(|last| *last < row));
        let part = self.parts.get(at)?;
        let place = part.rows.ids.binary_search(&row).ok()?;
        (!part.is_removed(place)).then_some((at, place))
    }
}

impl Part {
    fn of(rows: Rows) -> Self {
        Self { live: rows.ids.len(), rows: Arc::new(rows), removed: Default::default() }
    }

    fn is_removed(&self, place: usize) -> bool {
        self.removed[place / 64] >> (place % 64) & 1 == 1
    }

    fn live(&self) -> impl Iterator<Item = (u64, &Arc<[u8]>)> {
        let rows = self.rows.ids.iter().zip(&self.rows.payloads).enumerate();
        rows.filter(|(place, _)| !self.is_removed(*place)).map(|(_, (row, payload))| (*row, payload))
    }

    fn bytes(&self) -> u64 {
        let payloads: usize = self.rows.payloads.iter().map(|payload| payload.len()).sum();
        payloads as u64 + self.rows.ids.len() as u64 * ROW_OVERHEAD_BYTES + self.rows.code_bytes()
    }

    fn has_room_for(&self, other: &Part) -> bool {
        self.rows.ids.len() + other.live <= PART_ROWS_MAX
            && self.rows.code_bytes() + other.rows.code_bytes() <= PART_BYTES_MAX
    }

    /// Adds the rows of another part, of which none was removed.
    fn take(&mut self, other: &Part) {
        let rows = Arc::make_mut(&mut self.rows);
        rows.ids.extend(&other.rows.ids);
        rows.payloads.extend(other.rows.payloads.iter().cloned());
        for (field, memtable) in &other.rows.vectors {
            match rows.vectors.entry(*field) {
                Entry::Occupied(mut entry) => entry.get_mut().append(memtable),
                Entry::Vacant(none) => drop(none.insert(memtable.clone())),
            }
        }
        for (field, fresh) in &other.rows.sparse {
            rows.sparse.entry(*field).or_default().append(fresh);
        }
        self.live += other.live;
    }

    /// Leaves out what was removed.
    fn compact(&mut self) {
        let (ids, payloads): (Vec<u64>, Vec<Arc<[u8]>>) =
            self.live().map(|(row, payload)| (row, payload.clone())).unzip();
        let mut vectors = self.rows.vectors.clone();
        vectors.values_mut().for_each(|memtable| memtable.retain(|row| ids.binary_search(&row).is_ok()));
        let mut sparse = self.rows.sparse.clone();
        sparse.values_mut().for_each(|fresh| fresh.retain(|row| ids.binary_search(&row).is_ok()));
        *self = Self::of(Rows { ids, payloads, vectors, sparse });
    }
}

impl Rows {
    fn code_bytes(&self) -> u64 {
        let dense: u64 = self.vectors.values().map(VectorMemtable::bytes).sum();
        dense + self.sparse.values().map(FreshVectors::bytes).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use nuthatch_vector::Metric;

    use super::*;
    use crate::descriptor::field::UNNAMED;
    use crate::descriptor::meta::Meta;

    const DIM: usize = 8;

    fn fields() -> Fields {
        let meta = serde_json::json!({
            "id": 1, "name": "notes", "dim": DIM, "metric": "l2", "language": "none", "embeds": false, "embedder": null, "created": "",
        });
        Fields::of(&serde_json::from_value::<Meta>(meta).unwrap()).unwrap()
    }

    /// A row's vector; one row in five has none.
    fn vectors(row: u64) -> FieldVectors {
        let vector: Vec<f32> = (0..DIM as u64).map(|at| ((row + 1) * (at + 3) % 101) as f32).collect();
        if row.is_multiple_of(5) { FieldVectors::new() } else { vec![(UNNAMED, vector.into())] }
    }

    fn payload(row: u64) -> Vec<u8> {
        nuthatch_filter::encode(&[("n".to_string(), nuthatch_filter::Value::Int(row as i64))].into())
    }

    /// Everything that can be asked of `memtable` is as the rows say that there are.
    fn assert_holds(memtable: &Memtable, rows: &[u64]) {
        assert_eq!(memtable.rows().iter().collect::<Vec<_>>(), rows);
        assert_eq!(memtable.len(), rows.len());
        assert_eq!(memtable.bytes(), memtable.parts.iter().map(Part::bytes).sum::<u64>());
        let odd = |row: &&u64| **row % 3 == 1;
        let filter = nuthatch_filter::parse("n >= 40").unwrap();
        assert!(memtable.matching(&filter).unwrap().iter().eq(rows.iter().copied().filter(|row| *row >= 40)));
        let query = vectors(7).remove(0).1.into_dense().unwrap();
        let mut search = MemtableSearch::new(&query, DIM, Metric::L2, rows.len().max(1)).unwrap();
        memtable.search(UNNAMED, &mut search, |row| odd(&&row));
        let mut found: Vec<u64> = search.finish().into_iter().map(|found| found.row_id).collect();
        found.sort_unstable();
        assert!(found.iter().eq(rows.iter().filter(odd).filter(|row| **row % 5 != 0)));
    }

    #[test]
    fn rows_come_and_go_and_whoever_looks_sees_one_moment() {
        let fields = fields();
        let mut dice = fastrand::Rng::with_seed(7);
        let (mut memtable, mut rows, mut next) = (Memtable::default(), Vec::new(), 0u64);
        let mut seen: Vec<(Memtable, Vec<u64>)> = Vec::new();
        for step in 0..1500 {
            match dice.u8(..8) {
                0..3 => {
                    let mut later = Memtable::default();
                    for _ in 0..dice.u64(1..80) {
                        later.insert(next, &payload(next), &vectors(next), &fields).unwrap();
                        rows.push(next);
                        next += dice.u64(1..3);
                    }
                    memtable.append(later);
                }
                3 => {
                    memtable.insert(next, &payload(next), &vectors(next), &fields).unwrap();
                    rows.push(next);
                    next += 1;
                }
                _ => {
                    for _ in 0..dice.usize(..40).min(rows.len()) {
                        let row = rows.remove(dice.usize(..rows.len()));
                        assert!(memtable.contains(row) && memtable.remove(row));
                        assert!(!memtable.contains(row) && !memtable.remove(row));
                    }
                }
            }
            if step % 100 == 0 {
                seen.push((memtable.clone(), rows.clone()));
                seen.iter().for_each(|(memtable, rows)| assert_holds(memtable, rows));
            }
        }
        assert!(memtable.parts.len() > 3, "several parts: {}", memtable.parts.len());
        assert!(!memtable.remove(next));
    }

    #[test]
    fn parts_stay_small_whatever_their_rows_are() {
        let fields = fields();
        let mut memtable = Memtable::default();
        for row in 0..2000 {
            memtable.insert(row, &payload(row), &vectors(row), &fields).unwrap();
        }
        assert!(memtable.parts.iter().all(|part| part.rows.ids.len() <= PART_ROWS_MAX));
        assert!(memtable.parts.len() <= 2000 / PART_ROWS_MAX + 1, "and are filled: {}", memtable.parts.len());
    }
}
