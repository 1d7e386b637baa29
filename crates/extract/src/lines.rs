//! Byte offsets to line numbers.

/// Where the lines of a text begin. A line ends after `\n`; a lone `\r` does not end one.
pub(crate) struct Lines {
    newlines: Vec<usize>,
}

impl Lines {
    pub(crate) fn new(text: &str) -> Self {
        Lines { newlines: memchr::memchr_iter(b'\n', text.as_bytes()).collect() }
    }

    /// The line, from 1, that holds the byte at `offset`.
    pub(crate) fn line(&self, offset: usize) -> u32 {
        let before = self.newlines.partition_point(|&at| at < offset);
        u32::try_from(before + 1).unwrap_or(u32::MAX)
    }
}
