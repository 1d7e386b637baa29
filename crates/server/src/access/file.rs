//! The file of keys: `keys.json` in the data folder, readable by its owner alone.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use nuthatch_link::{Database, Error, Receipt, Result, What};
use serde::{Deserialize, Serialize};

use super::key::{Key, NewKey, Token};
use super::password;

const NAME: &str = "keys.json";
/// Commands take turns on this one, so that none loses what another writes.
const LOCK: &str = "keys.lock";
/// Renamed to the file once it is complete.
const WRITING: &str = "keys.json.writing";
/// Without passwords; what reads nothing newer refuses a file that has some.
const VERSION: u32 = 1;
const VERSION_WITH_PASSWORDS: u32 = 2;
/// With passwords or without; keys of tenants say which one they mean by its number.
const VERSION_WITH_TENANTS: u32 = 3;

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    version: u32,
    keys: Vec<Key>,
}

/// Where the keys of a data folder are kept. It is there from the first key on, and stays.
#[derive(Clone, Debug)]
pub struct KeyFile {
    folder: PathBuf,
}

impl KeyFile {
    /// The keys of this data folder; nothing is read yet.
    pub fn of(data_dir: &Path) -> Self {
        Self { folder: data_dir.to_path_buf() }
    }

    /// The file that has them, whether it is there or not.
    pub fn path(&self) -> PathBuf {
        self.folder.join(NAME)
    }

    /// All keys, those that no longer hold included; `None` when none was ever made.
    ///
    /// # Errors
    /// `Corrupt` for a file that is not one of keys.
    pub fn read(&self) -> Result<Option<Vec<Key>>> {
        let path = self.path();
        #[allow(clippy::disallowed_methods, reason = "a file that is none of keys is named")]
        let body = match std::fs::read(&path) {
            Ok(body) => body,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io(&path, &error)),
        };
        let damaged = |why: String| {
            let remedy = "restore it, or remove it and make new keys";
            Error::corrupt(&path, format!("{} is not a key file: {why}; {remedy}", path.display()))
        };
        let stored: Stored = serde_json::from_slice(&body).map_err(|error| damaged(error.to_string()))?;
        match stored.version {
            VERSION..=VERSION_WITH_TENANTS => match stored.keys.iter().find(|key| !key.is_whole()) {
                Some(key) => Err(damaged(format!("key {} must have exactly one secret", key.id))),
                None => Ok(Some(stored.keys)),
            },
            other => {
                Err(damaged(format!("its version is {other}, this program reads {VERSION} to {VERSION_WITH_TENANTS}")))
            }
        }
    }

    /// Makes a key.
    ///
    /// # Errors
    /// As [`read`](Self::read), and those of writing.
    pub fn create(&self, new: NewKey, now: Timestamp) -> Result<(Key, Token)> {
        self.change(|keys| {
            let (key, token) = Key::make(new, now)?;
            keys.push(key.clone());
            Ok((key, token))
        })
    }

    /// Makes a key with a password, for the Redis user of its name.
    ///
    /// # Errors
    /// As [`create`](Self::create), and `Invalid` when there is such a user.
    pub fn create_with_password(&self, new: NewKey, password: &[u8], now: Timestamp) -> Result<Key> {
        let key = Key::with_password(new, password, now)?;
        self.change(|keys| {
            let is_user = |other: &&Key| other.argon2id.is_some() && other.holds(now) && other.name == key.name;
            if let Some(other) = keys.iter().find(is_user) {
                let message = format!(
                    "key {} already has the user name {:?}; set another password with `nuthatch key password {}`",
                    other.id, other.name, other.id
                );
                return Err(Error::invalid(message));
            }
            keys.push(key.clone());
            Ok(key)
        })
    }

    /// Sets another password. Connections that came in with the one before end with their next command.
    ///
    /// # Errors
    /// `NotFound` without such a key; `Invalid` for one that no longer holds or has a token.
    pub fn set_password(&self, id: &str, password: &[u8], now: Timestamp) -> Result<Key> {
        let hash = password::hash(password)?;
        self.change(|keys| {
            let key = find(keys, id)?;
            if !key.holds(now) {
                return Err(Error::invalid(format!("key {id} no longer holds; make a new one")));
            }
            if key.argon2id.is_none() {
                return Err(Error::invalid(format!("key {id} has a token; make a new one with `nuthatch key rotate`")));
            }
            key.argon2id = Some(hash);
            Ok(key.clone())
        })
    }

    /// Ends a key now.
    ///
    /// # Errors
    /// `NotFound` without such a key.
    pub fn revoke(&self, id: &str, now: Timestamp) -> Result<Key> {
        self.change(|keys| {
            let key = find(keys, id)?;
            key.revoke(now);
            Ok(key.clone())
        })
    }

    /// Makes a key like this one, which itself holds for `overlap` more, so that its holder can change over.
    ///
    /// # Errors
    /// `NotFound` without such a key; `Invalid` when it no longer holds.
    pub fn rotate(
        &self,
        id: &str,
        overlap: Duration,
        expires_in: Option<Duration>,
        now: Timestamp,
    ) -> Result<(Key, Token)> {
        self.change(|keys| {
            let old = find(keys, id)?;
            if !old.holds(now) {
                return Err(Error::invalid(format!("key {id} no longer holds; make a new one")));
            }
            if old.argon2id.is_some() {
                let message = format!("key {id} has a password; set another with `nuthatch key password {id}`");
                return Err(Error::invalid(message));
            }
            old.expire_in(overlap, now)?;
            let Key { name, tenant, tenant_number, scopes, .. } = old.clone();
            let (key, token) = Key::make(NewKey { name, tenant, tenant_number, scopes, expires_in }, now)?;
            keys.push(key.clone());
            Ok((key, token))
        })
    }

    /// Drops a tenant and ends the keys that open its data; how many held.
    ///
    /// # Errors
    /// Those of [`Database::drop_tenant`] and of [`create`](Self::create). The keys are ended where the data is gone, even if
    /// something is in the way of its bytes.
    pub fn drop_tenant(&self, database: &Database, name: &str, now: Timestamp) -> Result<(Receipt, usize)> {
        let number = database.tenant(name).map(|tenant| tenant.tenant_number());
        let dropped = database.drop_tenant(name);
        let ended = match number {
            Ok(number) if database.tenant(name).is_err() => self.end_tenant(number, now)?,
            Ok(_) | Err(_) => 0,
        };
        Ok((dropped?, ended))
    }

    fn end_tenant(&self, number: u32, now: Timestamp) -> Result<usize> {
        let is_its = |key: &Key| key.tenant_number == Some(number) && key.holds(now);
        // The first key makes the server ask for one: dropping a tenant must not.
        if !self.read()?.unwrap_or_default().iter().any(is_its) {
            return Ok(0);
        }
        self.change(|keys| {
            let ended = keys.iter_mut().filter(|key| is_its(key));
            Ok(ended.map(|key| key.revoke(now)).count())
        })
    }

    #[allow(clippy::disallowed_methods, reason = "it syncs the file and the folder by itself")]
    fn change<T>(&self, change: impl FnOnce(&mut Vec<Key>) -> Result<T>) -> Result<T> {
        let at = |name: &str| self.folder.join(name);
        let lock = private(&at(LOCK), false)?;
        lock.lock().map_err(|error| Error::io(&at(LOCK), &error))?;
        let mut keys = self.read()?.unwrap_or_default();
        let outcome = change(&mut keys)?;
        let has = |what: fn(&Key) -> bool| keys.iter().any(what);
        let version = match (has(|key| key.tenant_number.is_some()), has(|key| key.argon2id.is_some())) {
            (true, _) => VERSION_WITH_TENANTS,
            (false, true) => VERSION_WITH_PASSWORDS,
            (false, false) => VERSION,
        };
        let body = serde_json::to_vec_pretty(&Stored { version, keys }).expect("strings are JSON");
        let mut file = private(&at(WRITING), true)?;
        let written = file.write_all(&body).and_then(|()| file.sync_all());
        let named = written.and_then(|()| std::fs::rename(at(WRITING), self.path()));
        named.map_err(|error| Error::io(&self.path(), &error))?;
        let noted = File::open(&self.folder).and_then(|folder| folder.sync_all());
        noted.map_err(|error| Error::io(&self.folder, &error))?;
        Ok(outcome)
    }
}

fn find<'a>(keys: &'a mut [Key], id: &str) -> Result<&'a mut Key> {
    keys.iter_mut().find(|key| key.id == id).ok_or_else(|| {
        Error::not_found(format!("no key {id:?}; `nuthatch key list` shows all")).about(What::ApiKey, id)
    })
}

/// A file that its owner alone can read, from its first byte on.
#[allow(clippy::disallowed_methods, reason = "`change` syncs what it writes")]
fn private(path: &Path, anew: bool) -> Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(anew);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|error| Error::io(path, &error))
}

#[cfg(test)]
mod tests {
    use super::super::scope::{Scope, Scopes};
    use super::*;

    #[test]
    fn dropping_a_tenant_makes_no_file_of_keys() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(folder.path(), nuthatch_link::Options::default()).unwrap();
        database.create_tenant("amber").unwrap();
        let file = KeyFile::of(folder.path());
        let (_, ended) = file.drop_tenant(&database, "amber", Timestamp::now()).unwrap();
        assert_eq!((ended, file.read().unwrap()), (0, None), "a first key would make the server ask for one");
        assert!(file.drop_tenant(&database, "amber", Timestamp::now()).is_err());
    }

    #[test]
    fn keys_are_kept_hashed_in_a_file_of_their_owner() {
        let folder = tempfile::tempdir().unwrap();
        let file = KeyFile::of(folder.path());
        assert!(file.read().unwrap().is_none());
        let (key, token) = file.create(NewKey::new("a", Scopes::new([Scope::Read])), Timestamp::now()).unwrap();
        assert_eq!(file.read().unwrap().unwrap(), [key]);
        let text = std::fs::read_to_string(file.path()).unwrap();
        assert!(!text.contains(token.0.rsplit('_').next().unwrap()), "the secret is in the file");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            for name in [NAME, LOCK] {
                let mode = std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
                assert_eq!(mode & 0o777, 0o600, "{name}");
            }
        }
    }

    #[test]
    fn the_last_key_that_is_revoked_leaves_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = KeyFile::of(folder.path());
        let (key, _) = file.create(NewKey::new("a", Scopes::all()), Timestamp::now()).unwrap();
        file.revoke(&key.id, Timestamp::now()).unwrap();
        let keys = file.read().unwrap().unwrap();
        assert!(keys.len() == 1 && !keys[0].holds(Timestamp::now()));
        assert_eq!(file.revoke("none", Timestamp::now()).unwrap_err().kind.name(), "not_found");
        let rotated = file.rotate(&key.id, Duration::from_secs(60), None, Timestamp::now());
        assert!(rotated.is_err(), "what was revoked comes back by no rotation");
    }

    #[test]
    fn a_rotation_leaves_both_tokens_good_for_a_while() {
        let folder = tempfile::tempdir().unwrap();
        let file = KeyFile::of(folder.path());
        let now = Timestamp::now();
        let (old, _) = file.create(NewKey::new("a", Scopes::all()), now).unwrap();
        let (new, _) = file.rotate(&old.id, Duration::from_secs(60), None, now).unwrap();
        let keys = file.read().unwrap().unwrap();
        assert_eq!((keys[1].clone(), keys[1].scopes.clone()), (new, old.scopes));
        let later = now.checked_add(Duration::from_secs(61)).unwrap();
        assert!(keys[0].holds(now) && !keys[0].holds(later) && keys[1].holds(later));
    }

    #[test]
    fn a_user_has_one_password_which_can_be_changed() {
        let folder = tempfile::tempdir().unwrap();
        let file = KeyFile::of(folder.path());
        let (now, new) = (Timestamp::now(), || NewKey::new("anna", Scopes::all()));
        let key = file.create_with_password(new(), b"a heron in the reeds", now).unwrap();
        let text = std::fs::read_to_string(file.path()).unwrap();
        assert!(text.contains("\"version\": 2") && text.contains("$argon2id$") && !text.contains("heron"), "{text}");
        assert!(file.create_with_password(new(), b"another password", now).is_err(), "there is such a user");
        let changed = file.set_password(&key.id, b"another password", now).unwrap();
        assert!(!changed.has_secret_of(&key));
        assert!(file.rotate(&key.id, Duration::from_secs(1), None, now).is_err());
        file.revoke(&key.id, now).unwrap();
        assert!(file.set_password(&key.id, b"yet another password", now).is_err());
        file.create_with_password(new(), b"another password", now).unwrap();
    }

    #[test]
    fn a_damaged_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = KeyFile::of(folder.path());
        for text in ["", "{}", "{\"version\": 4, \"keys\": []}", "{\"version\": 1, \"keys\": [{}]}"] {
            std::fs::write(file.path(), text).unwrap();
            assert_eq!(file.read().unwrap_err().kind.name(), "corrupt", "{text}");
        }
    }
}
