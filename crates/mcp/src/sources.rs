//! Which records are passages of added files: only these are cited as such.
//!
//! **Invariant:** a caller that may only store notes cannot make one that is cited as a file. A passage's id is its
//! file's path with its number, the collection knows the file, and the file has that passage.

use std::collections::BTreeMap;

use nuthatch_link::{Collection, Payload, Result, Value};

/// The file and the number in an id that has the form of a passage's.
pub fn of_passage(id: &str) -> Option<(&str, usize)> {
    let (path, number) = id.rsplit_once('#')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    Some((path, number.parse().ok().filter(|_| is_number)?))
}

/// Files that were looked up for one answer, each with its number of passages.
#[derive(Default)]
pub struct Sources {
    known: BTreeMap<(String, String), usize>,
}

impl Sources {
    /// The path to cite for a record, where it is a passage of a file that was added.
    ///
    /// # Errors
    /// Those of the store.
    pub fn path<'p>(&mut self, collection: &Collection, id: &str, payload: &'p Payload) -> Result<Option<&'p str>> {
        let Some(Value::Text(path)) = payload.get("path") else { return Ok(None) };
        match of_passage(id) {
            Some((named, number)) if named == path => {
                let passages = self.passages(collection, path)?;
                Ok((number < passages).then_some(path))
            }
            _ => Ok(None),
        }
    }

    fn passages(&mut self, collection: &Collection, path: &str) -> Result<usize> {
        let key = (collection.name().to_string(), path.to_string());
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let file = collection.files(path)?.into_iter().find(|file| file.path == path);
        let passages = file.map_or(0, |file| file.passages);
        self.known.insert(key, passages);
        Ok(passages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_path_with_a_number_has_the_form_of_a_passages_id() {
        assert_eq!(of_passage("/docs/a#b.md#12"), Some(("/docs/a#b.md", 12)));
        for other in ["note-1", "a#", "a#b", "a#-1", "a#+1", "#", "a#99999999999999999999999"] {
            assert_eq!(of_passage(other), None, "{other}");
        }
    }
}
