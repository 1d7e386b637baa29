//! A queue of fixed size that overwrites its oldest element.

/// Holds the last `capacity` elements that were pushed.
pub struct RingBuffer<T> {
    slots: Vec<Option<T>>,
    head: usize,
    len: usize,
}

impl<T> RingBuffer<T> {
    /// An empty buffer. Panics when `capacity` is zero, since such a buffer could never hold anything.
    pub fn new(capacity: usize) -> Self {
        assert!(capacity > 0, "a ring buffer needs room for one element");
        let mut slots = Vec::with_capacity(capacity);
        slots.resize_with(capacity, || None);
        RingBuffer { slots, head: 0, len: 0 }
    }

    /// Appends, and returns the element that had to make room, if the buffer was full.
    pub fn push(&mut self, value: T) -> Option<T> {
        let tail = (self.head + self.len) % self.slots.len();
        let evicted = self.slots[tail].replace(value);
        if self.len == self.slots.len() {
            self.head = (self.head + 1) % self.slots.len();
        } else {
            self.len += 1;
        }
        evicted
    }

    /// Takes the oldest element.
    pub fn pop(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        let value = self.slots[self.head].take();
        self.head = (self.head + 1) % self.slots.len();
        self.len -= 1;
        value
    }

    /// From oldest to youngest.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len).filter_map(|i| self.slots[(self.head + i) % self.slots.len()].as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::RingBuffer;

    #[test]
    fn full_buffer_hands_back_its_oldest() {
        let mut ring = RingBuffer::new(2);
        assert_eq!(ring.push(1), None);
        assert_eq!(ring.push(2), None);
        assert_eq!(ring.push(3), Some(1));
        assert_eq!(ring.iter().copied().collect::<Vec<_>>(), [2, 3]);
    }
}
