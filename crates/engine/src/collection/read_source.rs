//! The source of a read: a collection as it is now, or as it was when a snapshot was taken.

use nuthatch_filter::Filter;
use nuthatch_store::Reader;
use parking_lot::RwLock;

use crate::Error;
use crate::call::{FOREVER, Waits};
use crate::collection::Core;
use crate::index::{IndexId, Indexed};
use crate::state::State;

#[derive(Clone, Copy)]
pub(crate) struct ReadSource<'p> {
    pub state: &'p RwLock<State>,
    pub reader: &'p dyn Reader,
    /// The limits on the wait for the answer.
    pub waits: &'p Waits,
}

impl Core {
    pub(crate) fn live(&self) -> ReadSource<'_> {
        ReadSource { state: &self.state, reader: &self.shared.store, waits: &FOREVER }
    }

    /// A dropped collection can still be read as of before.
    pub(crate) fn check_open_for(&self, place: ReadSource<'_>) -> crate::Result<()> {
        match std::ptr::eq(place.state, &self.state) {
            true => self.check_open(),
            false => self.shared.check_open(),
        }
    }

    /// Refuses a filter on a field that the collection has never had.
    pub(crate) fn check_filter(&self, filter: &Filter) -> crate::Result<()> {
        Ok(filter.check(&self.descriptor().schema)?)
    }

    /// Notes damage for where it was met. A snapshot's copy is passed by, too, and the live index looks for itself.
    pub(crate) fn note_damage_in(&self, place: ReadSource<'_>, error: &Error, index: IndexId) {
        match std::ptr::eq(place.state, &self.state) {
            true => self.note_damage(error, index),
            false => place.state.write().pass_by(index, error.to_string()),
        }
    }
}
