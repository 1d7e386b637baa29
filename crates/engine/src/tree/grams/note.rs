//! Keeping the index in step with a batch that changes trees.

use crate::Result;
use crate::tree::draft::Draft;
use crate::tree::grams::{Block, Derived, Pending, State, VERSION, block_of, derived, number_in};
use crate::tree::{ContentId, key};

/// A batch's view of how far the index is.
#[derive(Default)]
pub(crate) struct Noted {
    before: Option<State>,
    now: Option<State>,
}

impl Draft<'_> {
    /// How far the index is, as it will be.
    pub(super) fn gram_state(&mut self) -> Result<&mut State> {
        if self.noted.now.is_none() {
            let stored: Option<Derived<State>> = self.get(&key::gram_state())?;
            self.noted.before = stored.map(|(_, state)| state).filter(|state| state.version == VERSION);
            let filled_to = if self.is_first { None } else { Some(Vec::new()) };
            let new = State { version: VERSION, next: 0, filled_to };
            self.noted.now = Some(self.noted.before.clone().unwrap_or(new));
        }
        self.noted.now.as_mut().ok_or_else(crate::tree::draft::lacking)
    }

    /// Writes how far the index is, where that has changed.
    pub(crate) fn put_gram_state(&mut self) -> Result<()> {
        match &self.noted.now {
            Some(now) if self.noted.before.as_ref() != Some(now) => {
                let now = derived(now.clone());
                self.put(key::gram_state(), &now)
            }
            _ => Ok(()),
        }
    }

    /// Notes that a version has a content.
    pub(crate) fn note_path(
        &mut self,
        (tree, path, sequence): (&str, &str, u64),
        content: &ContentId,
        bytes: u64,
    ) -> Result<()> {
        let number = match self.gram_number(content)? {
            Some(number) => number,
            None => {
                let number = self.next_number()?;
                self.put(key::gram_number(content), &derived(number))?;
                self.put(key::gram_pending(number), &derived(Pending { bytes }))?;
                number
            }
        };
        self.put(key::gram_path(number, tree, path, sequence), &derived(()))
    }

    /// Notes that a version that has a content goes.
    pub(crate) fn forget_path(&mut self, tree: &str, path: &str, sequence: u64, content: &ContentId) -> Result<()> {
        if let Some(number) = self.gram_number(content)? {
            self.delete(key::gram_path(number, tree, path, sequence));
        }
        Ok(())
    }

    /// Removes what is known of a content that goes.
    pub(crate) fn forget_grams(&mut self, content: &ContentId) -> Result<()> {
        let Some(number) = self.gram_number(content)? else { return Ok(()) };
        self.delete(key::gram_number(content));
        let (block, at) = block_of(number);
        if let Some((_, row)) = self.get::<Derived<Block>>(&key::gram_block(block))?
            && row.contents.iter().any(|indexed| indexed.at == at)
        {
            self.drop_block(block, &row)?;
        }
        self.delete(key::gram_pending(number));
        Ok(())
    }

    /// Removes a block; its contents wait again.
    pub(super) fn drop_block(&mut self, block: u64, row: &Block) -> Result<()> {
        self.delete(key::gram_block(block));
        for (part, pieces) in row.pieces.iter().enumerate() {
            (0..*pieces).for_each(|piece| self.delete(key::gram_postings(part as u8, block, piece)));
        }
        row.contents.iter().try_for_each(|indexed| {
            let row = key::gram_pending(number_in(block, indexed.at));
            self.put(row, &derived(Pending { bytes: indexed.bytes }))
        })
    }

    pub(super) fn gram_number(&self, content: &ContentId) -> Result<Option<u64>> {
        Ok(self.get::<Derived<u64>>(&key::gram_number(content))?.map(|(_, number)| number))
    }

    pub(super) fn next_number(&mut self) -> Result<u64> {
        let state = self.gram_state()?;
        state.next += 1;
        Ok(state.next - 1)
    }
}
