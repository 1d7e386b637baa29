//! Where the calls of a handle go: to the local engine where this process holds the folder, to the holder where another does.

use std::sync::OnceLock;

use nuthatch_engine::database::Database as LocalDatabase;
use nuthatch_engine::{Error, Result};

use crate::link::Role;
use crate::owned::Owned;
use crate::request::ObjectRef;
use crate::route::Route;

/// Where a call goes.
pub(crate) enum Side<T> {
    Here(T),
    There(Route),
}

/// The object that a handle refers to, and its local counterpart as soon as this process holds the folder.
pub(crate) struct Anchor<T> {
    link: Route,
    pub place: ObjectRef,
    /// Set when this process holds the folder, and from then on.
    local: OnceLock<Owned<T>>,
}

impl<T> Anchor<T> {
    pub fn held(link: Route, place: ObjectRef, local: T) -> Self {
        Self { link, place, local: OnceLock::from(Owned::new(local)) }
    }

    pub fn served(link: Route, place: ObjectRef) -> Self {
        Self { link, place, local: OnceLock::new() }
    }

    /// `hand` makes the call's handle from the local one; `find` looks that up once this process holds the folder.
    pub fn side(&self, hand: impl Fn(&T) -> T, find: impl FnOnce(&LocalDatabase) -> Result<T>) -> Result<Side<T>> {
        if self.link.is_ours()
            && let Some(local) = self.local.get()
        {
            return Ok(Side::Here(hand(local.get())));
        }
        let link = self.link.here()?;
        match link.role()? {
            Role::Holds(held) => {
                let local = find(&link.local(&held))?;
                let here = Side::Here(hand(&local));
                if self.link.is_ours() {
                    self.local.set(Owned::new(local)).ok(); // another thread may have been first
                }
                Ok(here)
            }
            Role::IsServed(_) => Ok(Side::There(link)),
            Role::Closed => Err(Error::closed()),
        }
    }
}
