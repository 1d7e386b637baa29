//! The words of an expression.

use crate::failure::{Failure, Outcome};
use crate::vectors::filter::Operator;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Number(f64),
    Text(String),
    Field(String),
    Null,
    Not,
    Operator(Operator),
    Open,
    Close,
    ListOpen,
    ListClose,
    Comma,
}

/// Splits an expression. A minus right before a digit belongs to the number where a value is expected.
pub(super) fn tokens(text: &str) -> Outcome<Vec<Token>> {
    let mut found: Vec<Token> = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let after_value = matches!(
            found.last(),
            Some(Token::Number(_) | Token::Text(_) | Token::Field(_) | Token::Null | Token::Close | Token::ListClose)
        );
        let (token, taken) = match first {
            '\'' | '"' => quoted(rest, first)?,
            '.' if rest[1..].starts_with(is_name) => {
                let end = rest[1..].find(|c| !is_name(c)).map_or(rest.len(), |end| end + 1);
                (Token::Field(rest[1..end].to_string()), end)
            }
            first if first.is_ascii_digit() => number(rest)?,
            '-' if !after_value && rest[1..].starts_with(|c: char| c.is_ascii_digit()) => number(rest)?,
            first if first.is_ascii_alphabetic() => word(rest)?,
            _ => symbol(rest)?,
        };
        found.push(token);
        rest = rest[taken..].trim_start();
    }
    Ok(found)
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}

/// After a backslash, letters mean what they mean in JSON; any other character is itself.
fn quoted(text: &str, quote: char) -> Outcome<(Token, usize)> {
    let mut value = String::new();
    let mut letters = text.char_indices().skip(1);
    while let Some((at, letter)) = letters.next() {
        match letter {
            letter if letter == quote => return Ok((Token::Text(value), at + letter.len_utf8())),
            '\\' => match escaped(&mut letters) {
                Some(letter) => value.push(letter),
                None => break,
            },
            letter => value.push(letter),
        }
    }
    Err(wrong(text))
}

/// Reads the character behind a backslash; `None` if there is nothing, or no code of a character.
fn escaped(letters: &mut impl Iterator<Item = (usize, char)>) -> Option<char> {
    Some(match letters.next()?.1 {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'u' => {
            let unit = code_unit(letters)?;
            match char::from_u32(unit) {
                Some(letter) => letter,
                // Half of a character beyond the first 65,536: the other half follows.
                None => {
                    let mut is_next = |wanted| letters.next().is_some_and(|(_, letter)| letter == wanted);
                    let other = (is_next('\\') && is_next('u')).then(|| code_unit(letters)).flatten()?;
                    char::decode_utf16([unit as u16, other as u16]).next()?.ok()?
                }
            }
        }
        itself => itself,
    })
}

/// Four hexadecimal digits.
fn code_unit(letters: &mut impl Iterator<Item = (usize, char)>) -> Option<u32> {
    letters
        .take(4)
        .try_fold((0, 0), |(number, digits), (_, letter)| Some((number * 16 + letter.to_digit(16)?, digits + 1)))
        .and_then(|(number, digits)| (digits == 4).then_some(number))
}

fn number(text: &str) -> Outcome<(Token, usize)> {
    let mut end = 1;
    let bytes = text.as_bytes();
    while let Some(byte) = bytes.get(end) {
        match byte {
            b'0'..=b'9' | b'.' | b'e' | b'E' => end += 1,
            b'+' | b'-' if matches!(bytes[end - 1], b'e' | b'E') => end += 1,
            _ => break,
        }
    }
    let number = text[..end].parse::<f64>().ok().filter(|number| number.is_finite());
    number.map(|number| (Token::Number(number), end)).ok_or_else(|| wrong(text))
}

fn word(text: &str) -> Outcome<(Token, usize)> {
    let end = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
    let token = match &text[..end] {
        "and" => Token::Operator(Operator::And),
        "or" => Token::Operator(Operator::Or),
        "in" => Token::Operator(Operator::In),
        "not" => Token::Not,
        "null" => Token::Null,
        _ => return Err(wrong(text)),
    };
    Ok((token, end))
}

fn symbol(text: &str) -> Outcome<(Token, usize)> {
    // The longer before what they begin with.
    let symbols = [
        ("**", Token::Operator(Operator::Power)),
        ("==", Token::Operator(Operator::Equal)),
        ("!=", Token::Operator(Operator::Differs)),
        ("<=", Token::Operator(Operator::LessEqual)),
        (">=", Token::Operator(Operator::GreaterEqual)),
        ("&&", Token::Operator(Operator::And)),
        ("||", Token::Operator(Operator::Or)),
        ("<", Token::Operator(Operator::Less)),
        (">", Token::Operator(Operator::Greater)),
        ("+", Token::Operator(Operator::Plus)),
        ("-", Token::Operator(Operator::Minus)),
        ("*", Token::Operator(Operator::Times)),
        ("/", Token::Operator(Operator::Over)),
        ("%", Token::Operator(Operator::Modulo)),
        ("!", Token::Not),
        ("(", Token::Open),
        (")", Token::Close),
        ("[", Token::ListOpen),
        ("]", Token::ListClose),
        (",", Token::Comma),
    ];
    let found = symbols.into_iter().find(|(symbol, _)| text.starts_with(symbol));
    found.map(|(symbol, token)| (token, symbol.len())).ok_or_else(|| wrong(text))
}

/// The expression cannot be read from here on.
pub(super) fn wrong(rest: &str) -> Failure {
    let shown: String = rest.chars().take(40).collect();
    Failure::error(format!("syntax error in FILTER expression near: {shown}"))
}
