//! The source of passages: a content, read like files with a certain name.

use std::path::Path;

use nuthatch_extract::form_of;

use crate::tree::ContentId;

/// A content, and how it is read: the same bytes under another extension may give other passages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub id: ContentId,
    /// A file name that stands for all that are read alike.
    pub form: String,
}

impl Source {
    pub fn of(path: &str, id: ContentId) -> Self {
        Self { id, form: form_of(Path::new(path)) }
    }

    /// The name of its entry among the files of the collection, and the prefix of its passages' ids. Names sort as
    /// their contents do.
    pub fn name(&self) -> String {
        format!("{}/{}", self.id, self.form)
    }

    /// Parses the name of a source.
    pub fn of_name(name: &str) -> Option<Self> {
        let (id, form) = name.split_once('/')?;
        Some(Self { id: id.parse().ok()?, form: form.to_owned() })
    }

    /// By which its passages are filtered. Two sources may share a number, if somebody has looked for such a pair: a search
    /// compares contents before it shows a hit.
    pub fn number(&self) -> i64 {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.id.0).update(self.form.as_bytes());
        let mut number = [0; 8];
        number.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        i64::from_be_bytes(number)
    }
}

/// The source and the number of a passage's id.
pub(super) fn passage_of(id: &str) -> Option<(Source, usize)> {
    let (name, number) = id.rsplit_once('#')?;
    Some((Source::of_name(name)?, number.parse().ok()?))
}
