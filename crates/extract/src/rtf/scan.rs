//! RTF to tokens. Any bytes give some.

/// Control words are shorter; what is longer is none that anybody knows.
const WORD_BYTES_MAX: usize = 32;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Open,
    Close,
    /// `\par`, `\fs24`.
    Word(&'a str, Option<i32>),
    /// `\*`: who does not know the next word passes over the group.
    Ignorable,
    /// Of text, in an encoding that is said elsewhere.
    Byte(u8),
    Char(char),
}

pub(super) struct Scan<'a> {
    rest: &'a [u8],
}

impl<'a> Scan<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Scan { rest: bytes }
    }

    fn next_byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    /// The next bytes that are so, at most that many.
    fn take_while(&mut self, bytes_max: usize, is_so: impl Fn(&u8) -> bool) -> &'a str {
        let count = self.rest.iter().take(bytes_max).take_while(|byte| is_so(byte)).count();
        let (taken, rest) = self.rest.split_at(count);
        self.rest = rest;
        std::str::from_utf8(taken).unwrap_or_default()
    }

    /// Behind a backslash.
    fn control(&mut self) -> Option<Token<'a>> {
        if self.rest.first().is_some_and(u8::is_ascii_alphabetic) {
            let word = self.take_while(WORD_BYTES_MAX, u8::is_ascii_alphabetic);
            let sign = self.take_while(1, |byte| *byte == b'-');
            let digits = self.take_while(10, u8::is_ascii_digit);
            let number = digits.parse::<i32>().ok().map(|number| if sign.is_empty() { number } else { -number });
            self.take_while(1, |byte| *byte == b' ');
            if word == "bin" {
                // Bytes of a picture.
                let count = usize::try_from(number.unwrap_or(0)).unwrap_or(0).min(self.rest.len());
                self.rest = &self.rest[count..];
            }
            return Some(Token::Word(word, number));
        }
        Some(match self.next_byte()? {
            b'\'' => {
                let digits = self.take_while(2, u8::is_ascii_hexdigit);
                u8::from_str_radix(digits, 16).map_or(Token::Word("", None), Token::Byte)
            }
            b'*' => Token::Ignorable,
            b'~' => Token::Char('\u{a0}'),
            b'_' => Token::Char('\u{2011}'),
            // Where a word may be divided.
            b'-' | b':' | b'|' => Token::Word("", None),
            b'\r' | b'\n' => Token::Word("par", None),
            b'\t' => Token::Word("tab", None),
            byte => Token::Byte(byte),
        })
    }
}

impl<'a> Iterator for Scan<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            return Some(match self.next_byte()? {
                b'{' => Token::Open,
                b'}' => Token::Close,
                b'\\' => return self.control(),
                // They only make the file readable.
                b'\r' | b'\n' | 0 => continue,
                b'\t' => Token::Word("tab", None),
                byte => Token::Byte(byte),
            });
        }
    }
}
