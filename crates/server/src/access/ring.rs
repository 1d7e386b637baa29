//! The keys that a running server knows. It looks whether the file has changed at each request, which costs one `stat`.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use nuthatch_link::Result;
use parking_lot::RwLock;

use super::file::KeyFile;
use super::key::{Key, digest, hex};

/// Tells one content of the file from another: it is replaced, never written into.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    number: u64,
    bytes: u64,
    changed_ns: i128,
}

#[derive(Default)]
struct Known {
    stamp: Option<Stamp>,
    by_digest: HashMap<String, Arc<Key>>,
    by_id: HashMap<String, Arc<Key>>,
    /// Those with a password, by their names.
    users: HashMap<String, Vec<Arc<Key>>>,
}

/// The keys of one data folder.
pub struct Ring {
    file: KeyFile,
    known: RwLock<Known>,
    /// Keys of this process alone, by their digest; the file has none of them.
    lent: RwLock<HashMap<String, Arc<Key>>>,
}

impl Ring {
    /// # Errors
    /// As [`KeyFile::read`].
    pub fn open(data_dir: &Path) -> Result<Self> {
        let ring = Self { file: KeyFile::of(data_dir), known: RwLock::default(), lent: RwLock::default() };
        ring.refresh()?;
        Ok(ring)
    }

    /// Whether a key was ever made. Once one was, it stays so while the server runs, whatever becomes of the file.
    pub fn has_keys(&self) -> Result<bool> {
        self.refresh()?;
        Ok(self.known.read().stamp.is_some())
    }

    /// Makes a key hold until this process ends, without writing it anywhere.
    pub fn lend(&self, key: Key) {
        if let Some(digest) = key.sha256.clone() {
            self.lent.write().insert(digest, Arc::new(key));
        }
    }

    /// The key that this token is, if it holds.
    ///
    /// # Errors
    /// As [`KeyFile::read`]: nobody gets in by a file that cannot be read.
    pub fn find(&self, token: &str, now: Timestamp) -> Result<Option<Arc<Key>>> {
        self.refresh()?;
        let digest = hex(&digest(token));
        let found = self.known.read().by_digest.get(&digest).cloned();
        let found = found.or_else(|| self.lent.read().get(&digest).cloned());
        Ok(found.filter(|key| key.holds(now)))
    }

    /// Whether a key that was found before is still valid, with its secret and scopes of then: an operator who narrows
    /// its scopes in the file need not wait until connections end by themselves.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn holds(&self, key: &Key, now: Timestamp) -> Result<bool> {
        self.refresh()?;
        let known = self.known.read();
        let is_still = |known: &Arc<Key>| known.has_secret_of(key) && known.opens_what(key) && known.holds(now);
        let is_lent = || self.lent.read().values().any(is_still);
        Ok(known.by_id.get(&key.id).is_some_and(is_still) || is_lent())
    }

    /// The key with a password that a user of that name has.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn find_user(&self, name: &str, now: Timestamp) -> Result<Option<Arc<Key>>> {
        self.refresh()?;
        let known = self.known.read();
        Ok(known.users.get(name).and_then(|keys| keys.iter().find(|key| key.holds(now)).cloned()))
    }

    /// Whether anybody has a password.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn has_users(&self) -> Result<bool> {
        self.refresh()?;
        Ok(!self.known.read().users.is_empty())
    }

    pub fn file(&self) -> &KeyFile {
        &self.file
    }

    fn refresh(&self) -> Result<()> {
        let stamp = stamp(&self.file.path());
        if self.known.read().stamp == stamp {
            return Ok(());
        }
        let keys = self.file.read()?;
        let mut known = self.known.write();
        match keys {
            Some(keys) => {
                *known = Known { stamp, ..Known::default() };
                for key in keys.into_iter().map(Arc::new) {
                    known.by_id.insert(key.id.clone(), key.clone());
                    if let Some(digest) = key.sha256.clone() {
                        known.by_digest.insert(digest, key);
                    } else {
                        known.users.entry(key.name.clone()).or_default().push(key);
                    }
                }
            }
            // Somebody removed the file: nobody holds a key any more, and still nobody gets in without one.
            None => *known = Known { stamp: known.stamp, ..Known::default() },
        }
        Ok(())
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let about = std::fs::metadata(path).ok()?;
    #[cfg(unix)]
    let (number, changed_ns) = {
        use std::os::unix::fs::MetadataExt;
        (about.ino(), i128::from(about.ctime()) * 1_000_000_000 + i128::from(about.ctime_nsec()))
    };
    #[cfg(not(unix))]
    let (number, changed_ns) = {
        let since = about.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
        (0, since.as_nanos() as i128)
    };
    Some(Stamp { number, bytes: about.len(), changed_ns })
}

#[cfg(test)]
mod tests {
    use super::super::key::NewKey;
    use super::super::scope::{Scope, Scopes};
    use super::*;

    #[test]
    fn what_a_command_changes_holds_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = KeyFile::of(folder.path());
        let ring = Ring::open(folder.path()).unwrap();
        let now = Timestamp::now();
        assert!(!ring.has_keys().unwrap());
        let (key, token) = file.create(NewKey::new("a", Scopes::all()), now).unwrap();
        assert!(ring.has_keys().unwrap());
        assert_eq!(ring.find(&token.0, now).unwrap().unwrap().id, key.id);
        assert!(ring.find(&format!("{}0", token.0), now).unwrap().is_none());
        assert!(ring.holds(&key, now).unwrap());
        file.revoke(&key.id, now).unwrap();
        assert!(ring.find(&token.0, now).unwrap().is_none());
        assert!(!ring.holds(&key, now).unwrap());
        let user = file.create_with_password(NewKey::new("anna", Scopes::all()), b"a heron in the reeds", now).unwrap();
        assert_eq!(ring.find_user("anna", now).unwrap().unwrap().id, user.id);
        file.set_password(&user.id, b"another password", now).unwrap();
        assert!(!ring.holds(&user, now).unwrap(), "it was another password");
    }

    #[test]
    fn what_was_opened_with_more_scopes_ends_when_they_are_narrowed() {
        let folder = tempfile::tempdir().unwrap();
        let file = KeyFile::of(folder.path());
        let now = Timestamp::now();
        let (key, token) = file.create(NewKey::new("a", Scopes::new([Scope::Write])), now).unwrap();
        let ring = Ring::open(folder.path()).unwrap();
        assert!(ring.holds(&key, now).unwrap());
        let narrowed = std::fs::read_to_string(file.path()).unwrap().replace("\"write\"", "\"read\"");
        std::fs::write(file.path(), narrowed).unwrap();
        assert!(!ring.holds(&key, now).unwrap());
        let again = ring.find(&token.0, now).unwrap().unwrap();
        assert!(ring.holds(&again, now).unwrap() && !again.scopes.allow(Scope::Write));
    }

    #[test]
    fn removing_the_file_lets_nobody_in() {
        let folder = tempfile::tempdir().unwrap();
        let file = KeyFile::of(folder.path());
        let (_, token) = file.create(NewKey::new("a", Scopes::all()), Timestamp::now()).unwrap();
        let ring = Ring::open(folder.path()).unwrap();
        std::fs::remove_file(file.path()).unwrap();
        assert!(ring.find(&token.0, Timestamp::now()).unwrap().is_none());
        assert!(ring.has_keys().unwrap());
    }
}
