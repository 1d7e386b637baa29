//! Requests: arrays of byte strings, or lines of words. The decoder keeps its place, so half a command is not read again.

use thiserror::Error;

use crate::protocol::inline;

/// A command's name and its arguments.
pub type Command = Vec<Vec<u8>>;

/// The longest line: a length, or a command written as words.
const LINE_BYTES_MAX: usize = 64 << 10;
/// The cost of an argument on top of its bytes.
const ARGUMENT_COST_BYTES: usize = 32;

/// How large a command may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Arguments of one command, with its name.
    pub arguments_max: usize,
    /// Of one argument.
    pub argument_bytes_max: usize,
    /// Of all arguments together, each with 32 bytes for itself.
    pub command_bytes_max: usize,
}

impl Limits {
    /// For clients that have not authenticated: small commands are enough to do so.
    pub const UNAUTHENTICATED: Self =
        Self { arguments_max: 10, argument_bytes_max: 16 << 10, command_bytes_max: 64 << 10 };
}

impl Default for Limits {
    fn default() -> Self {
        Self { arguments_max: 1 << 20, argument_bytes_max: 65 << 20, command_bytes_max: 128 << 20 }
    }
}

/// Bytes that are no command. Nothing after them can be understood, so the connection ends.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ProtocolError {
    /// The number of arguments is none, or greater than [`Limits::arguments_max`].
    #[error("Protocol error: invalid multibulk length")]
    Count,
    /// The length of an argument is none, or greater than [`Limits::argument_bytes_max`].
    #[error("Protocol error: invalid bulk length")]
    Length,
    /// An argument begins with this, in place of a length.
    #[error("Protocol error: expected '$', got '{0}'")]
    NoLength(char),
    /// No line end follows where an argument should end.
    #[error("Protocol error: no line end after an argument")]
    NoLineEnd,
    /// A command written as words has no end of line within 64 KiB.
    #[error("Protocol error: too big inline request")]
    LongLine,
    /// A length has no end of line within 64 KiB.
    #[error("Protocol error: too big mbulk count string")]
    LongNumber,
    /// A command written as words opens a quote and does not close it.
    #[error("Protocol error: unbalanced quotes in request")]
    Quotes,
    /// A line begins as those of HTTP do.
    #[error("Protocol error: this is HTTP, and here Redis clients are answered")]
    Http,
    /// More arguments than [`Limits::UNAUTHENTICATED`] allows.
    #[error("Protocol error: unauthenticated multibulk length")]
    UnauthenticatedCount,
    /// A longer argument than [`Limits::UNAUTHENTICATED`] allows.
    #[error("Protocol error: unauthenticated bulk length")]
    UnauthenticatedLength,
    /// All arguments together take more than [`Limits::command_bytes_max`], which it holds.
    #[error("Protocol error: a command of more than {0} bytes")]
    LargeCommand(usize),
}

/// Takes bytes as they come and gives whole commands.
#[derive(Debug)]
pub struct Decoder {
    limits: Limits,
    input: Vec<u8>,
    /// How far `input` has been consumed.
    at: usize,
    /// Up to where the line at `at` has been searched for its end.
    searched: usize,
    state: State,
    command: Command,
    /// The cost of `command`.
    command_bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before a command.
    Start,
    /// This many arguments are still to come; the length of the next one first.
    Length { left: usize },
    /// The last argument of the command is being filled, to this length.
    Filling { left: usize, bytes: usize },
}

/// The outcome of one step in decoding a command.
enum Step {
    /// The next step can begin.
    On,
    /// More bytes have to come first.
    Short,
    Whole(Command),
}

impl Decoder {
    /// Waits for the first command.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            input: Vec::new(),
            at: 0,
            searched: 0,
            state: State::Start,
            command: Vec::new(),
            command_bytes: 0,
        }
    }

    /// Holds from the next argument on: for a connection that has logged in.
    pub(crate) fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Adds bytes that have come.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.at == self.input.len() {
            self.input.clear();
            self.at = 0;
            self.searched = 0;
        } else if self.at >= self.input.len() / 2 {
            self.input.drain(..self.at);
            self.searched = self.searched.saturating_sub(self.at);
            self.at = 0;
        }
        self.input.extend_from_slice(bytes);
    }

    /// Bytes of memory that half a command and what comes after it take.
    pub fn held_bytes(&self) -> usize {
        self.input.capacity() + self.command_bytes
    }

    /// Whether a command has begun and not ended.
    pub fn is_within_command(&self) -> bool {
        self.state != State::Start || self.at < self.input.len()
    }

    /// The next whole command; `None` when more bytes have to come first.
    pub fn next_command(&mut self) -> Result<Option<Command>, ProtocolError> {
        loop {
            let step = match self.state {
                State::Start => self.begin()?,
                State::Length { left: 0 } => {
                    self.state = State::Start;
                    self.command_bytes = 0;
                    Step::Whole(std::mem::take(&mut self.command))
                }
                State::Length { left } => self.length(left)?,
                State::Filling { left, bytes } => self.fill(left, bytes)?,
            };
            match step {
                Step::On => {}
                Step::Short => return Ok(None),
                Step::Whole(command) => return Ok(Some(command)),
            }
        }
    }

    /// How many arguments come, or a whole command in one line.
    fn begin(&mut self) -> Result<Step, ProtocolError> {
        match self.input.get(self.at) {
            None => return Ok(Step::Short),
            Some(b'*') => {}
            Some(_) => return self.inline(),
        }
        let Some(line) = self.line(ProtocolError::LongNumber)? else { return Ok(Step::Short) };
        let count = number(&self.input[line.0 + 1..line.1]).ok_or(ProtocolError::Count)?;
        let most = self.limits.arguments_max as i64;
        match count {
            count if count > most && self.is_unauthenticated() => return Err(ProtocolError::UnauthenticatedCount),
            count if count > most => return Err(ProtocolError::Count),
            // Nothing was asked, and nothing is answered.
            count if count <= 0 => {}
            count => self.state = State::Length { left: count as usize },
        }
        Ok(Step::On)
    }

    fn inline(&mut self) -> Result<Step, ProtocolError> {
        let Some(line) = self.line(ProtocolError::LongLine)? else { return Ok(Step::Short) };
        let words = inline::words(&self.input[line.0..line.1]).ok_or(ProtocolError::Quotes)?;
        if words.first().is_some_and(|word| is_http(word)) {
            return Err(ProtocolError::Http);
        }
        Ok(if words.is_empty() { Step::On } else { Step::Whole(words) })
    }

    /// How long the next argument is.
    fn length(&mut self, left: usize) -> Result<Step, ProtocolError> {
        match self.input.get(self.at) {
            None => return Ok(Step::Short),
            Some(b'$') => {}
            Some(other) => return Err(ProtocolError::NoLength(char::from(*other))),
        }
        let Some(line) = self.line(ProtocolError::LongNumber)? else { return Ok(Step::Short) };
        let bytes = number(&self.input[line.0 + 1..line.1]).and_then(|bytes| usize::try_from(bytes).ok());
        let bytes = bytes.ok_or(ProtocolError::Length)?;
        if bytes > self.limits.argument_bytes_max {
            return Err(match self.is_unauthenticated() {
                true => ProtocolError::UnauthenticatedLength,
                false => ProtocolError::Length,
            });
        }
        self.grow(ARGUMENT_COST_BYTES)?;
        self.command.push(Vec::new());
        self.state = State::Filling { left: left - 1, bytes };
        Ok(Step::On)
    }

    /// Reads as much of an argument as has arrived, and its line end.
    fn fill(&mut self, left: usize, bytes: usize) -> Result<Step, ProtocolError> {
        let argument = self.command.last_mut().expect("pushed with its length");
        let missing = bytes - argument.len();
        if missing > 0 {
            let there = &self.input[self.at..];
            let taken = missing.min(there.len());
            argument.extend_from_slice(&there[..taken]);
            self.at += taken;
            self.searched = self.at;
            self.grow(taken)?;
            if taken < missing {
                return Ok(Step::Short);
            }
        }
        match self.input.get(self.at..self.at + 2) {
            None => return Ok(Step::Short),
            Some(b"\r\n") => self.at += 2,
            Some(_) => return Err(ProtocolError::NoLineEnd),
        }
        self.searched = self.at;
        self.state = State::Length { left };
        Ok(Step::On)
    }

    /// From and to of the next line, without its end; what comes after it is next.
    fn line(&mut self, too_long: ProtocolError) -> Result<Option<(usize, usize)>, ProtocolError> {
        let from = self.at;
        let Some(end) = self.input[self.searched.max(from)..].iter().position(|byte| *byte == b'\n') else {
            self.searched = self.input.len();
            return match self.input.len() - from > LINE_BYTES_MAX {
                true => Err(too_long),
                false => Ok(None),
            };
        };
        let end = self.searched.max(from) + end;
        if end - from > LINE_BYTES_MAX {
            return Err(too_long);
        }
        self.at = end + 1;
        self.searched = self.at;
        let to = if end > from && self.input[end - 1] == b'\r' { end - 1 } else { end };
        Ok(Some((from, to)))
    }

    fn grow(&mut self, bytes: usize) -> Result<(), ProtocolError> {
        self.command_bytes += bytes;
        match self.command_bytes > self.limits.command_bytes_max {
            true => Err(ProtocolError::LargeCommand(self.limits.command_bytes_max)),
            false => Ok(()),
        }
    }

    fn is_unauthenticated(&self) -> bool {
        self.limits == Limits::UNAUTHENTICATED
    }
}

/// A number as lengths are written: digits, with a minus perhaps.
fn number(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Whether a line is of a request that a page in a browser had sent to this port. Its body, which comes later, may be commands.
fn is_http(first_word: &[u8]) -> bool {
    first_word.eq_ignore_ascii_case(b"POST") || first_word.eq_ignore_ascii_case(b"Host:")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Result<Vec<Command>, ProtocolError> {
        let mut decoder = Decoder::new(Limits::default());
        decoder.feed(bytes);
        let mut commands = Vec::new();
        while let Some(command) = decoder.next_command()? {
            commands.push(command);
        }
        Ok(commands)
    }

    fn words(words: &[&str]) -> Command {
        words.iter().map(|word| word.as_bytes().to_vec()).collect()
    }

    #[test]
    fn arrays_and_lines_are_commands_and_what_is_empty_is_none() {
        let commands = all(b"*2\r\n$4\r\nECHO\r\n$4\r\na\r\nb\r\n*0\r\n\r\nPING 'x y'\r\n*-1\r\nGET k\n").unwrap();
        assert_eq!(commands, [words(&["ECHO", "a\r\nb"]), words(&["PING", "x y"]), words(&["GET", "k"])]);
    }

    #[test]
    fn malformed_bytes_are_named() {
        assert_eq!(all(b"*x\r\n"), Err(ProtocolError::Count));
        assert_eq!(all(b"*1048577\r\n"), Err(ProtocolError::Count));
        assert_eq!(all(b"*1\r\nGET\r\n"), Err(ProtocolError::NoLength('G')));
        assert_eq!(all(b"*1\r\n$-1\r\n"), Err(ProtocolError::Length));
        assert_eq!(all(b"*1\r\n$99999999999\r\n"), Err(ProtocolError::Length));
        assert_eq!(all(b"*1\r\n$1\r\nabc"), Err(ProtocolError::NoLineEnd));
        assert_eq!(all(b"SET 'a\r\n"), Err(ProtocolError::Quotes));
        assert_eq!(all(&[b'a'; LINE_BYTES_MAX + 2]), Err(ProtocolError::LongLine));
    }

    #[test]
    fn what_a_page_in_a_browser_sends_is_not_taken_for_commands() {
        for head in ["POST / HTTP/1.1\r\n", "OPTIONS / HTTP/1.1\r\nHost: localhost:6380\r\n", "host: localhost\r\n"] {
            let mut decoder = Decoder::new(Limits::default());
            decoder.feed(format!("{head}\r\nFLUSHALL\r\n").as_bytes());
            let end = std::iter::from_fn(|| decoder.next_command().transpose()).find(Result::is_err);
            assert_eq!(end, Some(Err(ProtocolError::Http)), "{head}");
            // As a connection does: it ends at the first error.
        }
    }

    #[test]
    fn promised_lengths_cost_nothing_before_their_bytes_come() {
        let mut decoder = Decoder::new(Limits::default());
        decoder.feed(b"*1048576\r\n$60000000\r\nabc");
        assert_eq!(decoder.next_command(), Ok(None));
        assert!(decoder.held_bytes() < 4096, "{}", decoder.held_bytes());
        assert!(decoder.is_within_command());
    }

    #[test]
    fn a_command_that_is_too_large_as_a_whole_is_refused_while_it_comes() {
        let limits = Limits { arguments_max: 1000, argument_bytes_max: 100, command_bytes_max: 1000 };
        let mut decoder = Decoder::new(limits);
        decoder.feed(b"*1000\r\n");
        let mut refused = false;
        for _ in 0..1000 {
            decoder.feed(b"$0\r\n\r\n");
            refused = decoder.next_command().is_err();
            if refused {
                break;
            }
        }
        assert!(refused && decoder.held_bytes() < 4096);
    }
}
