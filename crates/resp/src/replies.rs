//! CLIENT REPLY: whether what a client asks is answered. Useful for loading data by clients that read nothing.

/// Whose replies are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Replies {
    #[default]
    On,
    Off,
    /// The next command has none.
    SkipNext,
    /// The command under way has none.
    Skip,
}

impl Replies {
    /// A command has come.
    pub fn begin(&mut self) {
        if *self == Self::SkipNext {
            *self = Self::Skip;
        }
    }

    /// Whether the command under way is answered.
    pub fn are_written(self) -> bool {
        self == Self::On
    }

    /// The command has ended.
    pub fn end(&mut self) {
        if *self == Self::Skip {
            *self = Self::On;
        }
    }
}
