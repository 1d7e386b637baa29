//! Text to tokens, each with the byte where it begins.

use std::borrow::Cow;
use std::fmt;

use winnow::Parser;
use winnow::ascii::{digit1, multispace0};
use winnow::combinator::{alt, delimited, opt, peek, repeat};
use winnow::error::{EmptyError, ModalResult};
use winnow::stream::{AsChar, LocatingSlice, Location, Stream};
use winnow::token::{any, literal, one_of, take_till, take_while};

use crate::SyntaxError;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'a> {
    /// A keyword or a name: the grammar decides by the place where it stands.
    Word(&'a str),
    /// `"odd name"`
    Quoted(Cow<'a, str>),
    /// `'text'`
    Text(Cow<'a, str>),
    Number(&'a str),
    Symbol(&'static str),
    End,
}

#[derive(Clone, Debug)]
pub(super) struct Spanned<'a> {
    pub token: Token<'a>,
    pub start: usize,
}

type Input<'a> = LocatingSlice<&'a str>;
type Lexed<T> = ModalResult<T, EmptyError>;

/// Longest first, so that `<=` is not read as `<`.
const SYMBOLS: [&str; 14] = ["<=", ">=", "<>", "!=", "==", "=", "<", ">", "(", ")", ",", ".", "-", "+"];

pub(super) fn tokens(text: &str) -> Result<Vec<Spanned<'_>>, SyntaxError> {
    let mut input = LocatingSlice::new(text);
    let mut tokens = Vec::new();
    loop {
        let _: Lexed<&str> = multispace0.parse_next(&mut input);
        let start = input.current_token_start();
        if input.is_empty() {
            tokens.push(Spanned { token: Token::End, start });
            return Ok(tokens);
        }
        match token(&mut input) {
            Ok(token) => tokens.push(Spanned { token, start }),
            Err(_) => return Err(SyntaxError::new(explain(&text[start..]), text, start)),
        }
    }
}

fn token<'a>(input: &mut Input<'a>) -> Lexed<Token<'a>> {
    alt((
        word.map(Token::Word),
        number.map(Token::Number),
        quoted('\'').map(Token::Text),
        quoted('"').map(Token::Quoted),
        symbol.map(Token::Symbol),
    ))
    .parse_next(input)
}

fn word<'a>(input: &mut Input<'a>) -> Lexed<&'a str> {
    let first = one_of(|c: char| c.is_alphabetic() || c == '_');
    (first, take_while(0.., |c: char| c.is_alphanumeric() || c == '_')).take().parse_next(input)
}

/// Unsigned: the sign is a token of its own.
fn number<'a>(input: &mut Input<'a>) -> Lexed<&'a str> {
    let exponent = (one_of(['e', 'E']), opt(one_of(['+', '-'])), digit1);
    let number = (digit1, opt(('.', digit1)), opt(exponent)).take().parse_next(input)?;
    // `12abc` is neither a number nor a name.
    let follows: Option<char> = opt(peek(any)).parse_next(input)?;
    match follows {
        Some(c) if c.is_alphanum() || c == '_' => Err(winnow::error::ErrMode::Backtrack(EmptyError)),
        _ => Ok(number),
    }
}

/// Between two quotes, where a doubled quote stands for one.
fn quoted<'a>(quote: char) -> impl FnMut(&mut Input<'a>) -> Lexed<Cow<'a, str>> {
    move |input| {
        let doubled = if quote == '"' { "\"\"" } else { "''" };
        let piece = alt((take_till(1.., quote), literal(doubled).map(|pair: &'a str| &pair[1..])));
        let whole = repeat(0.., piece).fold(
            || Cow::Borrowed(""),
            |text: Cow<'a, str>, piece: &'a str| {
                if text.is_empty() { Cow::Borrowed(piece) } else { Cow::Owned(text.into_owned() + piece) }
            },
        );
        delimited(quote, whole, quote).parse_next(input)
    }
}

fn symbol(input: &mut Input<'_>) -> Lexed<&'static str> {
    let found = SYMBOLS.iter().find(|symbol| input.as_ref().starts_with(**symbol));
    let symbol = found.ok_or(winnow::error::ErrMode::Backtrack(EmptyError))?;
    input.next_slice(symbol.len());
    Ok(symbol)
}

/// Why no token begins here, in words that help.
fn explain(rest: &str) -> String {
    let first = rest.chars().next().unwrap_or_default();
    match first {
        '\'' => "this text has no closing quote; double a quote inside the text: 'it''s'".into(),
        '"' => "this name has no closing quote".into(),
        '0'..='9' => {
            let shown: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').take(20).collect();
            format!(
                "`{shown}` is neither a number nor a name; put text in single quotes and unusual names in double quotes"
            )
        }
        '‘' | '’' | '“' | '”' | '`' => {
            format!("`{first}` is not a quote here; text takes 'single' quotes, names take \"double\" ones")
        }
        '&' => "unexpected `&`; write AND".into(),
        '|' => "unexpected `|`; write OR".into(),
        '!' => "unexpected `!`; write NOT, or != between a field and a value".into(),
        '[' => "unexpected `[`; a list takes parentheses: IN ('a', 'b')".into(),
        '~' | '*' | '%' => format!("unexpected `{first}`; for patterns write LIKE 'abc%'"),
        other => format!("unexpected {other:?}"),
    }
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Word(word) => write!(f, "`{}`", clip(word)),
            Token::Quoted(name) => write!(f, "the name \"{}\"", clip(name)),
            Token::Text(text) => write!(f, "the text '{}'", clip(text)),
            Token::Number(number) => write!(f, "the number {}", clip(number)),
            Token::Symbol(symbol) => write!(f, "`{symbol}`"),
            Token::End => f.write_str("the end of the filter"),
        }
    }
}

/// An error quotes a token, not a megabyte.
fn clip(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(40) {
        Some((at, _)) => Cow::Owned(format!("{}…", &text[..at])),
        None => Cow::Borrowed(text),
    }
}
