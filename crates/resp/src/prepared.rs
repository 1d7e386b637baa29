//! Collections that a transaction needs and that must be there before it begins.

use std::collections::HashMap;

/// By database and key, in the order in which they are asked for.
#[derive(Debug, Default)]
pub(crate) struct Prepared {
    made: HashMap<(usize, Vec<u8>), Vec<String>>,
    /// How many of a key's have been asked for in this run of the transaction.
    taken: HashMap<(usize, Vec<u8>), usize>,
}

impl Prepared {
    /// The next one made for this key, if there is.
    pub fn take(&mut self, database: usize, key: &[u8]) -> Option<String> {
        let place = (database, key.to_vec());
        let taken = self.taken.entry(place.clone()).or_default();
        let name = self.made.get(&place)?.get(*taken)?;
        *taken += 1;
        Some(name.clone())
    }

    pub fn add(&mut self, database: usize, key: &[u8], name: String) {
        self.made.entry((database, key.to_vec())).or_default().push(name);
    }

    /// The transaction is run again from its beginning.
    pub fn rewind(&mut self) {
        self.taken.clear();
    }

    /// Returns the names that were made but not used (after a commit), or all that were made (`committed` false).
    pub fn left(self, committed: bool) -> Vec<String> {
        let taken = self.taken;
        let left = self.made.into_iter().flat_map(|(place, names)| {
            let used = if committed { taken.get(&place).copied().unwrap_or_default() } else { 0 };
            names.into_iter().skip(used)
        });
        left.collect()
    }
}
