//! One key: what is stored of it, and the token that its holder has.

use std::time::Duration;

use jiff::Timestamp;
use nuthatch_link::{Database, Error, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::password;
use super::scope::Scopes;

/// The prefix of every token, which makes a lost one recognizable.
const PREFIX: &str = "nuthatch";
const SECRET_BYTES: usize = 32;
const ID_BYTES: usize = 6;
/// The tenant of those who name none.
pub const TENANT_DEFAULT: &str = "default";

/// A key as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// Also part of the token, so that the holder's can be found in the list.
    pub id: String,
    /// For people: who has it.
    pub name: String,
    /// Whose data it opens.
    pub tenant: String,
    /// The number of that tenant, except the default one: who gets the name later is somebody else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_number: Option<u32>,
    /// The scopes of the holder.
    pub scopes: Scopes,
    /// UTC, RFC 3339.
    pub created: String,
    /// UTC, RFC 3339; `None`: it never ends by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// UTC, RFC 3339, since when it opens nothing; `None`: it was not revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<String>,
    /// Of the whole token, in hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// In place of a token: the hash of a password, with which a Redis client is the user of this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argon2id: Option<String>,
}

/// How a key is made.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// For people: who has it.
    pub name: String,
    /// Whose data it opens.
    pub tenant: String,
    /// The number of that tenant; `None` for the default one.
    pub tenant_number: Option<u32>,
    /// The scopes of the holder.
    pub scopes: Scopes,
    /// From now; `None`: it never ends by itself.
    pub expires_in: Option<Duration>,
}

/// The token of a new key: `nuthatch_<id>_<secret>`, both in hex. Shown once and stored nowhere.
pub struct Token(pub String);

impl NewKey {
    /// A key of the default tenant that never ends by itself.
    pub fn new(name: impl Into<String>, scopes: Scopes) -> Self {
        Self { name: name.into(), tenant: TENANT_DEFAULT.into(), tenant_number: None, scopes, expires_in: None }
    }

    /// For the data of this handle.
    pub fn of(self, database: &Database) -> Self {
        let Some(tenant) = database.tenant_name() else { return self };
        Self { tenant: tenant.into(), tenant_number: Some(database.tenant_number()), ..self }
    }
}

impl Key {
    /// A key with a token nobody has had before.
    ///
    /// # Errors
    /// `Invalid` without a scope; `Internal` when the system gives no random bytes.
    pub fn make(new: NewKey, now: Timestamp) -> Result<(Self, Token)> {
        let random: [u8; SECRET_BYTES] = random()?;
        let mut key = Self::without_secret(new, now)?;
        let token = format!("{PREFIX}_{}_{}", key.id, hex(&random));
        key.sha256 = Some(hex(&digest(&token)));
        Ok((key, Token(token)))
    }

    /// A key whose holder has a password, and no token.
    ///
    /// # Errors
    /// As [`make`](Self::make), and `Invalid` for a password that is too short or too long.
    pub fn with_password(new: NewKey, password: &[u8], now: Timestamp) -> Result<Self> {
        let mut key = Self::without_secret(new, now)?;
        key.argon2id = Some(password::hash(password)?);
        Ok(key)
    }

    fn without_secret(new: NewKey, now: Timestamp) -> Result<Self> {
        if new.scopes.is_empty() {
            return Err(Error::invalid("a key without a scope opens nothing; give it read, write or admin"));
        }
        let expires = new.expires_in.map(|after| later(now, after)).transpose()?;
        Ok(Self {
            id: hex(&random::<ID_BYTES>()?),
            name: new.name,
            tenant: new.tenant,
            tenant_number: new.tenant_number,
            scopes: new.scopes,
            created: written(now),
            expires: expires.map(written),
            revoked: None,
            sha256: None,
            argon2id: None,
        })
    }

    /// Whether the other opens with the same token or password.
    pub fn has_secret_of(&self, other: &Self) -> bool {
        (&self.sha256, &self.argon2id) == (&other.sha256, &other.argon2id)
    }

    /// Whether the other opens the same data for the same things.
    pub fn opens_what(&self, other: &Self) -> bool {
        (&self.tenant, &self.scopes) == (&other.tenant, &other.scopes)
    }

    /// As it must be stored: with one secret.
    pub fn is_whole(&self) -> bool {
        self.sha256.is_some() != self.argon2id.is_some()
    }

    /// Whether it may open this tenant's data. The tenant that it was made for may have been dropped, and another have the name. A
    /// key of the default tenant opens every other's: that it has the scope of administrators is looked at before.
    pub fn opens(&self, tenant: &Database) -> bool {
        self.tenant == TENANT_DEFAULT || self.tenant_number == Some(tenant.tenant_number())
    }

    /// Whether these bytes are a token of some kind, and so no password.
    pub fn is_like_a_token(bytes: &[u8]) -> bool {
        bytes.strip_prefix(PREFIX.as_bytes()).is_some_and(|rest| rest.first() == Some(&b'_'))
    }

    /// Whether it still opens anything.
    pub fn holds(&self, now: Timestamp) -> bool {
        // A time that cannot be read must not keep a key alive.
        let is_over = |time: &String| time.parse::<Timestamp>().is_ok_and(|time| time > now);
        self.revoked.is_none() && self.expires.as_ref().is_none_or(is_over)
    }

    /// Makes it open nothing; the time of the first revocation stays.
    pub(crate) fn revoke(&mut self, now: Timestamp) {
        self.revoked.get_or_insert_with(|| written(now));
    }

    /// Makes it end after that time, unless it ends earlier.
    ///
    /// # Errors
    /// `Invalid` for a time out of reach.
    pub fn expire_in(&mut self, after: Duration, now: Timestamp) -> Result<()> {
        let end = written(later(now, after)?);
        // Both are written alike, so their order as texts is that of the times.
        self.expires = Some(self.expires.take().map_or(end.clone(), |earlier| earlier.min(end)));
        Ok(())
    }
}

/// SHA-256 of a token, by which its key is found.
pub(super) fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// Bytes that nobody guesses.
///
/// # Errors
/// `Internal` when the system gives none.
pub fn random<const BYTES: usize>() -> Result<[u8; BYTES]> {
    let mut random = [0; BYTES];
    getrandom::fill(&mut random).map_err(|error| Error::internal(format!("cannot get random bytes: {error}")))?;
    Ok(random)
}

fn later(now: Timestamp, after: Duration) -> Result<Timestamp> {
    now.checked_add(after).map_err(|_| Error::invalid("that is too far in the future"))
}

fn written(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Two digits a byte.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::scope::Scope;
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn a_key_ends_when_it_expires_or_is_revoked() {
        let new = NewKey { expires_in: Some(Duration::from_secs(60)), ..NewKey::new("a", Scopes::all()) };
        let (mut key, token) = Key::make(new, at(1000)).unwrap();
        assert!(key.holds(at(1059)) && !key.holds(at(1060)));
        key.expire_in(Duration::from_secs(10), at(1000)).unwrap();
        assert!(key.holds(at(1009)) && !key.holds(at(1010)));
        key.expire_in(Duration::from_secs(500), at(1000)).unwrap();
        assert!(!key.holds(at(1010)), "a rotation does not make a key live longer");
        key.revoke(at(1001));
        assert!(!key.holds(at(1002)));
        assert!(token.0.starts_with("nuthatch_") && token.0.contains(&key.id));
        assert_eq!(key.sha256, Some(hex(&digest(&token.0))));
    }

    #[test]
    fn no_two_keys_share_a_token_and_none_is_without_a_scope() {
        let make = || Key::make(NewKey::new("a", Scopes::new([Scope::Read])), at(0)).unwrap();
        assert_ne!(make().0.sha256, make().0.sha256);
        assert!(Key::make(NewKey::new("a", Scopes::new([])), at(0)).is_err());
    }
}
