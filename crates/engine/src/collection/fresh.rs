//! Rows that no segment holds yet: their vectors' codes and their payloads, in memory.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use nuthatch_filter::Filter;
use nuthatch_vector::Delta;
use roaring::RoaringTreemap;

use crate::Result;
use crate::collection::field::{FieldId, FieldVectors, Fields};

#[derive(Clone, Default)]
pub(crate) struct Fresh {
    payloads: BTreeMap<u64, Box<[u8]>>,
    payload_bytes: u64,
    vectors: BTreeMap<FieldId, Delta>,
}

/// What a map entry costs besides its payload.
const ROW_OVERHEAD_BYTES: u64 = 48;

impl Fresh {
    pub fn insert(&mut self, row: u64, payload: &[u8], vectors: &FieldVectors, fields: &Fields) -> Result<()> {
        for (id, vector) in vectors {
            let Some(field) = fields.get(*id) else { continue };
            let delta = match self.vectors.entry(*id) {
                Entry::Occupied(delta) => delta.into_mut(),
                Entry::Vacant(none) => none.insert(Delta::new(vector.len(), field.metric)?),
            };
            delta.push(row, vector)?;
        }
        self.payload_bytes += payload.len() as u64 + ROW_OVERHEAD_BYTES;
        self.payloads.insert(row, payload.into());
        Ok(())
    }

    /// False when the row is not here.
    pub fn remove(&mut self, row: u64) -> bool {
        let Some(payload) = self.payloads.remove(&row) else {
            return false;
        };
        self.payload_bytes -= payload.len() as u64 + ROW_OVERHEAD_BYTES;
        for delta in self.vectors.values_mut() {
            delta.remove(row);
        }
        true
    }

    pub fn contains(&self, row: u64) -> bool {
        self.payloads.contains_key(&row)
    }

    pub fn len(&self) -> usize {
        self.payloads.len()
    }

    pub fn is_empty(&self) -> bool {
        self.payloads.is_empty()
    }

    pub fn bytes(&self) -> u64 {
        self.payload_bytes + self.vectors.values().map(Delta::bytes).sum::<u64>()
    }

    pub fn vectors(&self, field: FieldId) -> Option<&Delta> {
        self.vectors.get(&field)
    }

    pub fn rows(&self) -> RoaringTreemap {
        RoaringTreemap::from_sorted_iter(self.payloads.keys().copied()).expect("a BTreeMap's keys ascend")
    }

    /// Rows whose payload passes the filter.
    pub fn matching(&self, filter: &Filter) -> Result<RoaringTreemap> {
        let mut rows = RoaringTreemap::new();
        for (row, payload) in &self.payloads {
            if filter.matches(&nuthatch_filter::decode(payload)?) {
                rows.insert(*row);
            }
        }
        Ok(rows)
    }
}
