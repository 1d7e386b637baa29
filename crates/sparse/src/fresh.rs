use crate::SparseVector;

/// Sparse vectors of rows that no file has yet, in ascending order of the rows.
///
/// Memory: 8 bytes a term and 12 a row.
#[derive(Clone, Debug, Default)]
pub struct FreshVectors {
    rows: Vec<u64>,
    /// Where the terms of each row end.
    ends: Vec<u32>,
    indices: Vec<u32>,
    values: Vec<f32>,
}

impl FreshVectors {
    /// Adds a row that comes after all others.
    pub fn push(&mut self, row: u64, vector: &SparseVector) {
        self.rows.push(row);
        self.indices.extend_from_slice(vector.indices());
        self.values.extend_from_slice(vector.values());
        self.ends.push(self.indices.len() as u32);
    }

    /// Adds rows that all come after those that are here.
    pub fn append(&mut self, later: &Self) {
        let before = self.indices.len() as u32;
        self.rows.extend_from_slice(&later.rows);
        self.indices.extend_from_slice(&later.indices);
        self.values.extend_from_slice(&later.values);
        self.ends.extend(later.ends.iter().map(|end| before + end));
    }

    /// Keeps some rows.
    pub fn retain(&mut self, mut keep: impl FnMut(u64) -> bool) {
        let mut kept = Self::default();
        for (row, indices, values) in self.each() {
            if keep(row) {
                kept.rows.push(row);
                kept.indices.extend_from_slice(indices);
                kept.values.extend_from_slice(values);
                kept.ends.push(kept.indices.len() as u32);
            }
        }
        *self = kept;
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> u64 {
        (self.indices.len() * 8 + self.rows.len() * 12) as u64
    }

    /// Shows each row that shares a term with the query, and its score.
    pub fn search(&self, query: &SparseVector, show: &mut dyn FnMut(u64, f32)) {
        let few = Signature::of(query);
        for (row, indices, values) in self.each() {
            let (mut at, mut sum) = (0, None);
            for (index, value) in indices.iter().zip(values) {
                if !few.may_have(*index) {
                    continue;
                }
                at += query.indices()[at..].iter().take_while(|term| *term < index).count();
                if query.indices().get(at) == Some(index) {
                    sum = Some(sum.unwrap_or(0.0) + query.values()[at] * value);
                }
            }
            if let Some(score) = sum {
                show(row, score);
            }
        }
    }

    fn each(&self) -> impl Iterator<Item = (u64, &[u32], &[f32])> {
        let mut begins = 0;
        self.rows.iter().zip(&self.ends).map(move |(row, end)| {
            let range = begins..*end as usize;
            begins = range.end;
            (*row, &self.indices[range.clone()], &self.values[range])
        })
    }
}

/// Which terms a query may have, in a bit for each remainder: most terms of a row are passed over by one look.
struct Signature([u64; 64]);

impl Signature {
    fn of(query: &SparseVector) -> Self {
        let mut bits = [0; 64];
        query.indices().iter().for_each(|term| bits[(term >> 6) as usize % 64] |= 1 << (term % 64));
        Self(bits)
    }

    fn may_have(&self, term: u32) -> bool {
        self.0[(term >> 6) as usize % 64] >> (term % 64) & 1 == 1
    }
}
