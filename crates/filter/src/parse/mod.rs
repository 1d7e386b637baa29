//! The `where` language: text to [`Filter`]. Tokens come from [`lexer`] (winnow), the tree from [`grammar`].
//!
//! ```text
//! filter     = conjunction { OR conjunction }
//! conjunction= negation { AND negation }
//! negation   = { NOT } primary
//! primary    = "(" filter ")" | TRUE | FALSE
//!            | EXISTS "(" field ")" | STARTS_WITH "(" field "," text ")" | CONTAINS "(" field "," value ")"
//!            | value operator field | value [NOT] IN field
//!            | field [ test ]                                  a bare field asks for `= true`
//! test       = operator value
//!            | IS [NOT] NULL
//!            | [NOT] ( IN "(" value { "," value } ")" | BETWEEN value AND value | LIKE text [ESCAPE text] | CONTAINS value )
//! operator   = "=" | "==" | "!=" | "<>" | "<" | "<=" | ">" | ">="
//! value      = text | [ "-" | "+" ] number | TRUE | FALSE | ( TIMESTAMP | DATETIME | DATE ) text
//! field      = name { "." name }
//! name       = word | '"' any '"'                              a quote inside is doubled, in text as well
//! ```

mod grammar;
mod lexer;

pub(crate) use grammar::is_reserved;

use crate::{Filter, FilterError, SyntaxError};

/// Longest filter text, in bytes.
pub const TEXT_BYTES_MAX: usize = 1 << 20;
/// Deepest nesting of parentheses; bounds the stack that parsing, evaluating and dropping a filter take.
pub const NESTING_MAX: usize = 64;

/// The filter that the text says.
///
/// # Errors
/// [`FilterError::Syntax`] with offset, line and column of the character that does not fit.
pub fn parse(text: &str) -> Result<Filter, FilterError> {
    if text.len() > TEXT_BYTES_MAX {
        let message = format!("the filter has {} bytes, and the limit is {TEXT_BYTES_MAX}; split its list", text.len());
        return Err(SyntaxError::new(message, text, 0).into());
    }
    let tokens = lexer::tokens(text)?;
    Ok(grammar::Parser::new(text, tokens).filter()?)
}
