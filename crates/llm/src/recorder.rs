//! Listening to a stream until its answer is whole.

use crate::answer::Answer;
use crate::api::Api;
use crate::events::{Event, Reader};

/// Listens to a stream. It gives the answer once the last event has arrived whole, and nothing before.
#[derive(Debug)]
pub struct Recorder {
    api: Api,
    reader: Reader,
    events: Vec<Event>,
    bytes: usize,
    bytes_max: usize,
    is_over: bool,
}

impl Recorder {
    /// Gives up on a stream of more bytes than that.
    pub fn new(api: Api, bytes_max: usize) -> Self {
        Self { api, reader: Reader::default(), events: Vec::new(), bytes: 0, bytes_max, is_over: false }
    }

    /// Takes the next bytes. The answer, when they bring the last event and all events are those of an answer.
    pub fn hear(&mut self, more: &[u8]) -> Option<Answer> {
        if self.is_over {
            return None;
        }
        self.bytes += more.len();
        if self.bytes > self.bytes_max {
            self.give_up();
            return None;
        }
        let before = self.events.len();
        self.reader.feed(more, &mut self.events);
        let last = (before..self.events.len()).find(|at| self.api.is_last(&self.events[*at]))?;
        self.events.truncate(last + 1);
        let answer = self.api.assembled(&self.events);
        self.give_up();
        answer
    }

    /// Whether nothing more is wanted: the answer is there, or will never be.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Forgets what it has heard, and stops listening.
    pub fn give_up(&mut self) {
        self.is_over = true;
        self.events = Vec::new();
        self.reader = Reader::default();
    }
}
