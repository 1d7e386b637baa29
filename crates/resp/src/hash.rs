//! Hashes: fields with values, one value of a keyspace as a whole. Fields keep the order in which they came.
//!
//! Each field is its length, its bytes, the length of its value and its bytes; lengths are four bytes, little endian.

use std::collections::HashMap;

/// Fields and their values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hash {
    pub fields: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Up to so many fields are looked for one by one.
const LISTED_FIELDS: usize = 32;

impl Hash {
    pub fn decode(mut bytes: &[u8]) -> Option<Self> {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let field = take(&mut bytes)?;
            fields.push((field.to_vec(), take(&mut bytes)?.to_vec()));
        }
        Some(Self { fields })
    }

    /// Puts it behind what is there.
    pub fn encode(&self, mut out: Vec<u8>) -> Vec<u8> {
        for (field, value) in &self.fields {
            for part in [field, value] {
                out.extend_from_slice(&(part.len() as u32).to_le_bytes());
                out.extend_from_slice(part);
            }
        }
        out
    }

    pub fn get(&self, field: &[u8]) -> Option<&Vec<u8>> {
        self.fields.iter().find(|(name, _)| name == field).map(|(_, value)| value)
    }

    /// Sets several; how many are new.
    pub fn set(&mut self, pairs: impl IntoIterator<Item = (Vec<u8>, Vec<u8>)>) -> usize {
        let before = self.fields.len();
        let pairs: Vec<_> = pairs.into_iter().collect();
        if self.fields.len() + pairs.len() <= LISTED_FIELDS || pairs.len() == 1 {
            for (field, value) in pairs {
                match self.fields.iter_mut().find(|(name, _)| *name == field) {
                    Some(there) => there.1 = value,
                    None => self.fields.push((field, value)),
                }
            }
        } else {
            let mut places: HashMap<Vec<u8>, usize> =
                self.fields.iter().enumerate().map(|(at, (name, _))| (name.clone(), at)).collect();
            for (field, value) in pairs {
                match places.get(&field) {
                    Some(at) => self.fields[*at].1 = value,
                    None => {
                        places.insert(field.clone(), self.fields.len());
                        self.fields.push((field, value));
                    }
                }
            }
        }
        self.fields.len() - before
    }

    /// Removes several; how many were there.
    pub fn remove(&mut self, names: &[Vec<u8>]) -> usize {
        let before = self.fields.len();
        self.fields.retain(|(name, _)| !names.contains(name));
        before - self.fields.len()
    }
}

fn take<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (taken, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *bytes = rest;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_back_in_their_order() {
        let mut hash = Hash::default();
        let field = |n: usize| (n.to_string().into_bytes(), vec![n as u8]);
        assert_eq!(hash.set((0..100).map(field)), 100);
        assert_eq!(hash.set([field(7), (b"new".to_vec(), vec![])]), 1);
        assert_eq!(hash.remove(&[b"8".to_vec(), b"none".to_vec()]), 1);
        let again = Hash::decode(&hash.encode(Vec::new())).unwrap();
        assert_eq!(again, hash);
        assert_eq!((again.get(b"7"), again.get(b"8")), (Some(&vec![7]), None));
        assert!(Hash::decode(&hash.encode(Vec::new())[1..]).is_none() || hash.fields.is_empty());
    }
}
