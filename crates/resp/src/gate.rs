//! The admission and the permissions of connections. The server decides; this crate asks.

use std::any::Any;
use std::net::SocketAddr;
use std::sync::Arc;

use crate::tenant::Tenant;

/// Decides about connections and passwords.
pub trait Gate: Send + Sync {
    /// Returns the grant of a connection from this address that has said nothing yet; `None`: it must AUTH first.
    fn stranger(&self, from: SocketAddr) -> Option<Grant>;

    /// Returns the grant of this user. A client that gives a password alone is the user `default`.
    ///
    /// # Errors
    /// [`Refused`], which does not say whether user or password is the wrong one.
    fn authenticate(&self, from: SocketAddr, user: &str, password: &[u8]) -> Result<Grant, Refused>;
}

/// The permissions of a connection.
#[derive(Clone)]
pub struct Grant {
    /// The name that they have logged in with.
    pub user: String,
    /// Whose data it is: the same `Arc` for every connection of a tenant.
    pub tenant: Arc<Tenant>,
    /// The scopes that they have.
    pub scopes: Scopes,
    /// Asked at every command; `None`: what was granted holds without bounds.
    pub pass: Option<Arc<dyn Pass>>,
}

/// Checks and accounts for a grant, command by command.
pub trait Pass: Send + Sync {
    /// Whether it still holds: otherwise the connection ends with its next command.
    fn holds(&self) -> bool;

    /// A command about data begins; it is over when what is returned is dropped. May wait until it is this tenant's turn.
    ///
    /// # Errors
    /// A sentence, when it is one too many.
    fn begin(&self, writes: bool) -> Result<Turn, String>;

    /// Something was done that is noted; `failed` has the code of an error.
    fn note(&self, action: &str, target: &str, failed: Option<&str>);
}

/// A command that has begun.
pub type Turn = Option<Box<dyn Any>>;

/// The permitted uses of the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scopes {
    /// Commands that read.
    pub read: bool,
    /// Commands that write.
    pub write: bool,
    /// Looking at and ending other connections, settings, figures.
    pub admin: bool,
}

impl Scopes {
    /// Everything.
    pub const ALL: Self = Self { read: true, write: true, admin: true };
    /// Reading alone.
    pub const READ: Self = Self { read: true, write: false, admin: false };
}

/// Why nobody comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// User or password is wrong.
    Wrong,
    /// Too many have been tried; this one was not looked at.
    TooMany,
}

/// Everybody is the same tenant and may do everything: for a socket that only friends reach.
pub struct Open(pub Arc<Tenant>);

impl Gate for Open {
    fn stranger(&self, _: SocketAddr) -> Option<Grant> {
        Some(Grant { user: "default".into(), tenant: self.0.clone(), scopes: Scopes::ALL, pass: None })
    }

    fn authenticate(&self, _: SocketAddr, _: &str, _: &[u8]) -> Result<Grant, Refused> {
        Err(Refused::Wrong)
    }
}
