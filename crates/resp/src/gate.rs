//! Who may come in, and what for. The server decides; this crate asks.

use std::sync::Arc;

use crate::tenant::Tenant;

/// Decides about connections and passwords.
pub trait Gate: Send + Sync {
    /// What a connection may do that has said nothing yet; `None`: it must AUTH first.
    fn stranger(&self) -> Option<Grant>;

    /// What this user may do. A client that gives a password alone is the user `default`.
    ///
    /// # Errors
    /// [`Refused`], which does not say whether user or password is the wrong one.
    fn authenticate(&self, user: &str, password: &[u8]) -> Result<Grant, Refused>;
}

/// What a connection may do.
#[derive(Clone)]
pub struct Grant {
    pub user: String,
    /// Whose data it is: the same `Arc` for every connection of a tenant.
    pub tenant: Arc<Tenant>,
    pub scopes: Scopes,
}

/// What may be done with the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scopes {
    pub read: bool,
    pub write: bool,
    /// Looking at and ending other connections, settings, figures.
    pub admin: bool,
}

impl Scopes {
    pub const ALL: Self = Self { read: true, write: true, admin: true };
    pub const READ: Self = Self { read: true, write: false, admin: false };
}

/// User or password is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

/// Everybody is the same tenant and may do everything: for a socket that only friends reach.
pub struct Open(pub Arc<Tenant>);

impl Gate for Open {
    fn stranger(&self) -> Option<Grant> {
        Some(Grant { user: "default".into(), tenant: self.0.clone(), scopes: Scopes::ALL })
    }

    fn authenticate(&self, _: &str, _: &[u8]) -> Result<Grant, Refused> {
        Err(Refused)
    }
}
