//! Where a printer writes: bytes in memory, with or without a terminal's colours, and never more than allowed.
//!
//! **Invariant.** What lies on the paper is what ripgrep would have printed, from where it was to begin to where it was full.

use std::io;

use termcolor::{Ansi, ColorSpec, NoColor, WriteColor};

/// Bytes in memory that refuse to grow over a limit.
#[derive(Debug)]
pub(crate) struct Sheet {
    pub(crate) bytes: Vec<u8>,
    /// How much of what comes is on an earlier sheet.
    pub(crate) skip: usize,
    /// At which length the sheet is full.
    pub(crate) end: usize,
    /// Whether something did not fit.
    pub(crate) full: bool,
}

impl io::Write for Sheet {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let skipped = self.skip.min(bytes.len());
        self.skip -= skipped;
        let rest = &bytes[skipped..];
        let fits = rest.len().min(self.end.saturating_sub(self.bytes.len()));
        self.bytes.extend_from_slice(&rest[..fits]);
        self.full |= fits < rest.len();
        match self.full {
            true => Err(io::Error::other("the output is as long as it may be")),
            false => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A sheet that knows colours, or does not.
#[derive(Debug)]
pub(crate) enum Paper {
    Plain(NoColor<Sheet>),
    Colored(Ansi<Sheet>),
}

impl Paper {
    pub(crate) fn new(color: bool) -> Self {
        let sheet = Sheet { bytes: Vec::new(), skip: 0, end: usize::MAX, full: false };
        if color { Self::Colored(Ansi::new(sheet)) } else { Self::Plain(NoColor::new(sheet)) }
    }

    pub(crate) fn sheet(&mut self) -> &mut Sheet {
        match self {
            Self::Plain(inner) => inner.get_mut(),
            Self::Colored(inner) => inner.get_mut(),
        }
    }
}

impl io::Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(inner) => inner.write(bytes),
            Self::Colored(inner) => inner.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl WriteColor for Paper {
    fn supports_color(&self) -> bool {
        matches!(self, Self::Colored(_))
    }

    fn set_color(&mut self, spec: &ColorSpec) -> io::Result<()> {
        match self {
            Self::Plain(inner) => inner.set_color(spec),
            Self::Colored(inner) => inner.set_color(spec),
        }
    }

    fn reset(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(inner) => inner.reset(),
            Self::Colored(inner) => inner.reset(),
        }
    }
}
