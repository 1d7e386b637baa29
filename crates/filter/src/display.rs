//! Formats a filter as text again, for `explain` and for errors. The text of a filter that [`crate::parse`] can make
//! parses to the same tree.

use std::fmt;

use crate::{Filter, Value, format_datetime};

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Filter::True => f.write_str("TRUE"),
            Filter::And(parts) if parts.is_empty() => f.write_str("TRUE"),
            Filter::Or(parts) if parts.is_empty() => f.write_str("FALSE"),
            Filter::And(parts) => joined(f, parts, " AND "),
            Filter::Or(parts) => joined(f, parts, " OR "),
            Filter::Not(inner) => match &**inner {
                Filter::True => f.write_str("FALSE"),
                Filter::Exists { field } => write!(f, "{} IS NULL", Path(field)),
                inner => write!(f, "NOT ({inner})"),
            },
            Filter::Compare { field, op, value } => write!(f, "{} {} {}", Path(field), op.symbol(), Literal(value)),
            // The grammar has no empty list, and nothing is in it.
            Filter::In { values, .. } if values.is_empty() => f.write_str("FALSE"),
            Filter::In { field, values } => {
                write!(f, "{} IN (", Path(field))?;
                for (at, value) in values.iter().enumerate() {
                    write!(f, "{}{}", if at == 0 { "" } else { ", " }, Literal(value))?;
                }
                f.write_str(")")
            }
            // Made by programs: the text tells people, and is not read again.
            Filter::Among { field, numbers } => write!(f, "{} AMONG {} NUMBERS", Path(field), numbers.len()),
            Filter::Between { field, low, high } => {
                write!(f, "{} BETWEEN {} AND {}", Path(field), Literal(low), Literal(high))
            }
            Filter::Exists { field } => write!(f, "{} IS NOT NULL", Path(field)),
            Filter::Like { field, pattern, escape } => {
                write!(f, "{} LIKE {}", Path(field), Quoted(pattern, '\''))?;
                escape.map_or(Ok(()), |escape| write!(f, " ESCAPE {}", Quoted(&escape.to_string(), '\'')))
            }
            Filter::Prefix { field, prefix } => write!(f, "STARTS_WITH({}, {})", Path(field), Quoted(prefix, '\'')),
            Filter::Contains { field, value } => write!(f, "{} CONTAINS {}", Path(field), Literal(value)),
        }
    }
}

fn joined(f: &mut fmt::Formatter<'_>, parts: &[Filter], word: &str) -> fmt::Result {
    for (at, part) in parts.iter().enumerate() {
        let between = if at == 0 { "" } else { word };
        match part {
            Filter::And(_) | Filter::Or(_) => write!(f, "{between}({part})")?,
            part => write!(f, "{between}{part}")?,
        }
    }
    Ok(())
}

/// Every name in double quotes that a keyword or an odd character could spoil: all but plain words.
struct Path<'a>(&'a str);

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |name: &str| {
            name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        for (at, name) in self.0.split('.').enumerate() {
            f.write_str(if at == 0 { "" } else { "." })?;
            if plain(name) && !crate::parse::is_reserved(name) {
                f.write_str(name)?
            } else {
                write!(f, "{}", Quoted(name, '"'))?
            }
        }
        Ok(())
    }
}

struct Quoted<'a>(&'a str, char);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let doubled = self.0.replace(self.1, &format!("{0}{0}", self.1));
        write!(f, "{0}{doubled}{0}", self.1)
    }
}

struct Literal<'a>(&'a Value);

impl fmt::Display for Literal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Bool(value) => f.write_str(if *value { "TRUE" } else { "FALSE" }),
            Value::Int(value) => write!(f, "{value}"),
            // `Debug` keeps the point or the exponent that makes it a float, and every digit that matters.
            Value::Float(value) => write!(f, "{value:?}"),
            Value::Text(text) => write!(f, "{}", Quoted(text, '\'')),
            Value::Datetime(micros) => match format_datetime(*micros) {
                Some(text) => write!(f, "TIMESTAMP '{text}'"),
                None => write!(f, "TIMESTAMP {micros} µs"),
            },
            // These come from code only; the language has no way to write them.
            other => write!(f, "{}", other.to_json()),
        }
    }
}

/// For errors, which need not repeat a megabyte.
pub(crate) fn clipped_literal(value: &Value) -> String {
    let text = Literal(value).to_string();
    match text.char_indices().nth(60) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
