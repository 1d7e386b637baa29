//! The messages of a gRPC request, as their bytes come: how long each is, and how much memory they take.
//!
//! **Invariant:** the memory of a message is held from its first byte until its reader is done with it.

use std::collections::VecDeque;

use crate::admission::BodyReservation;
use crate::problem::Problem;

/// Before each message: whether it is compressed, and its length in big endian.
const PREFIX_BYTES: usize = 5;

pub struct Messages {
    held: BodyReservation,
    /// Bytes of the prefix that is coming.
    prefix: Vec<u8>,
    /// Bytes that the message at hand still lacks, and all that it has.
    lacking: u64,
    coming: u64,
    /// Messages that are whole, prefixes included, oldest first.
    whole: VecDeque<u64>,
}

impl Messages {
    pub fn new(held: BodyReservation) -> Self {
        Self { held, prefix: Vec::with_capacity(PREFIX_BYTES), lacking: 0, coming: 0, whole: VecDeque::new() }
    }

    /// Takes memory for bytes that have come.
    ///
    /// # Errors
    /// 503 when all requests together take too much.
    pub fn receive(&mut self, mut data: &[u8]) -> Result<(), Problem> {
        self.held.grow(data.len() as u64)?;
        while !data.is_empty() {
            if self.lacking == 0 {
                let (first, rest) = data.split_at(data.len().min(PREFIX_BYTES - self.prefix.len()));
                self.prefix.extend_from_slice(first);
                data = rest;
                let [_, length @ ..] = &self.prefix[..] else { continue };
                let Ok(length) = <[u8; 4]>::try_from(length) else { continue };
                self.lacking = u64::from(u32::from_be_bytes(length));
                self.coming = PREFIX_BYTES as u64 + self.lacking;
                self.prefix.clear();
            }
            let here = self.lacking.min(data.len() as u64);
            self.lacking -= here;
            data = &data[here as usize..];
            if self.lacking == 0 {
                self.whole.push_back(std::mem::take(&mut self.coming));
            }
        }
        Ok(())
    }

    /// The oldest message needs no memory any more.
    pub fn release(&mut self) {
        if let Some(bytes) = self.whole.pop_front() {
            self.held.shrink(bytes);
        }
    }

    /// A part of a message has come, and not all of it.
    pub fn is_amid(&self) -> bool {
        self.lacking > 0 || !self.prefix.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::admission::Admission;
    use crate::config::Config;

    #[test]
    fn a_message_is_held_until_it_is_released_however_it_comes() {
        let admission = Arc::new(Admission::new(&Config { bodies_memory_bytes: 64, ..Config::default() }));
        let sent = [&[0, 0, 0, 0, 3, 7, 7, 7][..], &[0, 0, 0, 0, 0], &[0, 0, 0, 0, 20], &[1; 20]].concat();
        for piece in 1..=sent.len() {
            let mut messages = Messages::new(admission.hold());
            for data in sent.chunks(piece) {
                messages.receive(data).unwrap();
            }
            assert!(!messages.is_amid());
            assert_eq!(messages.whole, [8, 5, 25]);
            let too_much = Messages::new(admission.hold()).receive(&[0; 27]);
            assert_eq!(too_much.unwrap_err().status, 503);
            messages.release();
            messages.release();
            messages.receive(&[0; 4]).unwrap();
            assert!(messages.is_amid());
            assert_eq!(messages.held.bytes(), 29);
        }
        assert_eq!(admission.hold().grow(64), Ok(()));
    }
}
