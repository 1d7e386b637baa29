//! Writing for people and for programs.

use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use serde::Serialize;

/// Standard output. Styles written to it are dropped when nobody would see them.
pub type Out = BufWriter<OnDemand>;

/// Standard output, taken with the first thing that is written and then kept: a command that leaves it to other threads (of a
/// protocol, or of a server) must not hold its lock.
#[derive(Default)]
pub struct OnDemand(Option<AutoStream<StdoutLock<'static>>>);

pub const BOLD: Style = Style::new().bold();
pub const DIM: Style = Style::new().dimmed();
pub const SOURCE: Style = AnsiColor::Cyan.on_default();
pub const MATCH: Style = AnsiColor::Yellow.on_default().bold();
pub const GOOD: Style = AnsiColor::Green.on_default();
pub const BAD: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default();

pub fn stdout() -> Out {
    BufWriter::new(OnDemand::default())
}

/// Whether a terminal shows what is written to standard output, and colours are wanted.
pub fn is_seen() -> bool {
    io::stdout().is_terminal() && anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
}

/// Bytes that are somebody's file or another program's print: as they are, not as text.
pub fn raw(out: &mut Out, bytes: &[u8]) -> io::Result<()> {
    out.flush()?;
    let stream = &mut out.get_mut().0;
    let mut stdout = stream.take().map_or_else(|| io::stdout().lock(), AutoStream::into_inner);
    let written = stdout.write_all(bytes);
    *stream = Some(AutoStream::auto(stdout));
    written
}

impl Write for OnDemand {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.get_or_insert_with(|| AutoStream::auto(io::stdout().lock())).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.as_mut().map_or(Ok(()), Write::flush)
    }
}

/// One JSON document.
pub fn json(out: &mut Out, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)
}

/// A line on standard error for people. Whether it can be written must not decide how the command ends.
pub fn note(text: &str) {
    writeln!(anstream::stderr(), "{}", plain(text)).ok();
}

pub fn warning(text: &str) {
    writeln!(anstream::stderr(), "{WARNING}warning:{WARNING:#} {}", plain(text)).ok();
}

pub fn error(text: &str) {
    writeln!(anstream::stderr(), "{BAD}error:{BAD:#} {}", plain(text)).ok();
}

/// Text from documents, file names and errors without control characters: what is stored must not steer the terminal.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' && c != '\t' { '\u{FFFD}' } else { c }).collect()
}

/// The same for a name in a line that is made of several: quoted, where it could be taken for more than a name.
pub fn name(text: &str) -> String {
    let is_odd = |c: char| c.is_control() || (c.is_whitespace() && c != ' ');
    match text.contains(is_odd) || text.contains("  ") || text.starts_with(' ') || text.ends_with(' ') {
        true => format!("{text:?}"),
        false => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_makes_neither_a_line_nor_a_column() {
        assert_eq!(name("my notes"), "my notes");
        assert_eq!(name("x\n12:00  done"), r#""x\n12:00  done""#);
        assert_eq!(name("x  by root"), r#""x  by root""#);
        assert_eq!(name("\u{1b}[31m"), r#""\u{1b}[31m""#);
    }

    #[test]
    fn stored_escape_sequences_do_not_reach_the_terminal() {
        assert_eq!(plain("a\u{1b}[31mb\r\n\tc"), "a\u{FFFD}[31mb\u{FFFD}\n\tc");
    }
}
