//! The work of the calling thread while it waits for an answer.

use nuthatch_engine::call::Waits;
use nuthatch_engine::{EmbedderChoice, Result};

use crate::long::{Listener, Told};

/// Takes the progress of a long request. An error hangs up, which ends the request, and the call returns it.
pub(crate) type OnTold<'a> = dyn FnMut(Told) -> Result<()> + 'a;

pub(crate) struct Meanwhile<'a> {
    /// Embeds when the holder asks for it.
    pub embedder: &'a EmbedderChoice,
    pub waits: &'a Waits,
    pub on_told: Option<&'a mut OnTold<'a>>,
    /// Called from time to time. An error hangs up, as above.
    pub still_wanted: Option<&'a (dyn Fn() -> Result<()> + 'a)>,
}

impl<'a> Meanwhile<'a> {
    pub fn new(embedder: &'a EmbedderChoice, waits: &'a Waits) -> Self {
        Self { embedder, waits, on_told: None, still_wanted: None }
    }

    /// True when there is something to look at while waiting.
    pub fn is_watched(&self) -> bool {
        self.waits.may_end() || self.still_wanted.is_some()
    }

    pub fn check_wanted(&self) -> Result<()> {
        self.still_wanted.map_or(Ok(()), |check| check())
    }
}

/// For a request that this process answers itself, because it has come to hold the folder.
impl Listener for Meanwhile<'_> {
    fn tell(&mut self, told: Told) -> Result<()> {
        self.on_told.as_mut().map_or(Ok(()), |tell| tell(told))
    }

    fn check_there(&self) -> Result<()> {
        self.check_wanted()
    }
}
