//! Prefix tree over bytes, for completing what somebody has begun to type.

use std::collections::BTreeMap;

#[derive(Default)]
pub struct Trie {
    children: BTreeMap<u8, Trie>,
    /// How often the word that ends here was inserted; zero when none ends here.
    count: u64,
}

impl Trie {
    pub fn insert(&mut self, word: &str) {
        let mut node = self;
        for byte in word.bytes() {
            node = node.children.entry(byte).or_default();
        }
        node.count += 1;
    }

    /// The subtree of everything that begins with `prefix`.
    fn descend(&self, prefix: &str) -> Option<&Trie> {
        prefix.bytes().try_fold(self, |node, byte| node.children.get(&byte))
    }

    /// The `limit` most frequent words that begin with `prefix`; ties in alphabetical order.
    pub fn complete(&self, prefix: &str, limit: usize) -> Vec<(String, u64)> {
        let Some(start) = self.descend(prefix) else { return Vec::new() };
        let mut found = Vec::new();
        let mut pending = vec![(prefix.as_bytes().to_vec(), start)];
        while let Some((word, node)) = pending.pop() {
            if node.count > 0 {
                found.push((String::from_utf8_lossy(&word).into_owned(), node.count));
            }
            for (byte, child) in &node.children {
                let mut longer = word.clone();
                longer.push(*byte);
                pending.push((longer, child));
            }
        }
        found.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        found.truncate(limit);
        found
    }
}
