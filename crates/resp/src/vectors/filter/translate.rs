//! The same condition in the engine's `where` language, where that is exact: comparisons of a field with numbers whose values have all
//! been numbers, or with texts whose values have all been texts, and what `and`, `or` and `not` make of them.

use std::collections::BTreeSet;

use crate::vectors::filter::{Node, Operator};

/// Doubles tell whole numbers apart up to here.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
/// From this many fields on, the engine remembers no more of them.
const KNOWN_FIELDS_MAX: usize = 4096;

/// The translation of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Translation {
    Where(String),
    /// A field is named that no element has: none passes.
    Nothing,
    /// The language has no word for it.
    None,
}

/// The kinds of values that fields have had.
type Known = [(String, Vec<String>)];

pub(super) fn translate(root: &Node, known: &Known) -> Translation {
    if known.len() >= KNOWN_FIELDS_MAX {
        return Translation::None;
    }
    let fields: BTreeSet<&str> = root.fields().into_iter().collect();
    if fields.iter().any(|field| kinds(field, known).is_none()) {
        return Translation::Nothing;
    }
    let (Some(condition), false) = (condition(root, known), fields.is_empty()) else { return Translation::None };
    // A field that is missing fails the whole, also behind `not` and `or`.
    let there: Option<Vec<String>> = fields.iter().map(|field| Some(format!("exists({})", quoted(field)?))).collect();
    match there {
        Some(there) => Translation::Where(format!("{} and ({condition})", there.join(" and "))),
        None => Translation::None,
    }
}

fn condition(node: &Node, known: &Known) -> Option<String> {
    match node {
        Node::Not(inner) => Some(format!("not ({})", condition(inner, known)?)),
        Node::Field(field) if is_numeric(field, known) => Some(format!("not ({} = 0)", quoted(field)?)),
        Node::Binary(Operator::And, left, right) => {
            Some(format!("({}) and ({})", condition(left, known)?, condition(right, known)?))
        }
        Node::Binary(Operator::Or, left, right) => {
            Some(format!("({}) or ({})", condition(left, known)?, condition(right, known)?))
        }
        Node::Binary(operator, left, right) => match (&**left, &**right) {
            (Node::Field(field), Node::List(items)) if *operator == Operator::In => {
                let values = items.iter().map(|item| literal(field, item, known)).collect::<Option<Vec<_>>>()?;
                (!values.is_empty()).then(|| Some(format!("{} in ({})", quoted(field)?, values.join(", ")))).flatten()
            }
            (Node::Field(field), value) => comparison(field, *operator, value, known),
            (value, Node::Field(field)) => comparison(field, swapped(*operator)?, value, known),
            _ => None,
        },
        _ => None,
    }
}

fn comparison(field: &str, operator: Operator, value: &Node, known: &Known) -> Option<String> {
    let symbol = match (operator, value) {
        (Operator::Equal, _) => "=",
        (Operator::Differs, _) => "!=",
        (Operator::Less, Node::Number(_)) => "<",
        (Operator::LessEqual, Node::Number(_)) => "<=",
        (Operator::Greater, Node::Number(_)) => ">",
        (Operator::GreaterEqual, Node::Number(_)) => ">=",
        // Texts are ordered as the numbers that they spell: the engine orders them as texts.
        _ => return None,
    };
    Some(format!("{} {symbol} {}", quoted(field)?, literal(field, value, known)?))
}

/// A value that can be compared with a field and means the same there.
fn literal(field: &str, value: &Node, known: &Known) -> Option<String> {
    match value {
        Node::Number(number) if is_numeric(field, known) => {
            Some(match number.fract() == 0.0 && number.abs() <= EXACT_MAX {
                true => format!("{}", *number as i64),
                false => format!("{number:e}"),
            })
        }
        Node::Text(text) if kinds(field, known)? == ["text"] => Some(format!("'{}'", text.replace('\'', "''"))),
        _ => None,
    }
}

fn is_numeric(field: &str, known: &Known) -> bool {
    let numeric = |kinds: &[String]| !kinds.is_empty() && kinds.iter().all(|kind| kind == "int" || kind == "float");
    kinds(field, known).is_some_and(numeric)
}

fn kinds<'k>(field: &str, known: &'k Known) -> Option<&'k [String]> {
    known.iter().find(|(name, _)| name == field).map(|(_, kinds)| kinds.as_slice())
}

fn swapped(operator: Operator) -> Option<Operator> {
    Some(match operator {
        Operator::Less => Operator::Greater,
        Operator::LessEqual => Operator::GreaterEqual,
        Operator::Greater => Operator::Less,
        Operator::GreaterEqual => Operator::LessEqual,
        Operator::Equal | Operator::Differs => operator,
        _ => return None,
    })
}

fn quoted(field: &str) -> Option<String> {
    (!field.contains('"')).then(|| format!("\"{field}\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::filter::Expression;

    #[test]
    fn what_has_an_exact_word_is_translated_and_nothing_else() {
        let known = [
            ("year".to_string(), vec!["int".to_string(), "float".to_string()]),
            ("name".to_string(), vec!["text".to_string()]),
            ("mixed".to_string(), vec!["int".to_string(), "text".to_string()]),
        ];
        let translated = |text: &str| Expression::parse(text.as_bytes()).unwrap().translated(&known);
        let said = |text: &str| Translation::Where(text.to_string());
        assert_eq!(translated(".year > 10"), said("exists(\"year\") and (\"year\" > 10)"));
        assert_eq!(translated("1.5 >= .year"), said("exists(\"year\") and (\"year\" <= 1.5e0)"));
        assert_eq!(
            translated(".year in [1, 2] or not .name == 'x'"),
            Translation::None,
            "`not` binds tighter than a comparison"
        );
        assert_eq!(
            translated("not (.name == \"it's\") or .year"),
            said("exists(\"name\") and exists(\"year\") and ((not (\"name\" = 'it''s')) or (not (\"year\" = 0)))")
        );
        assert_eq!(translated(".unknown > 1 or .year > 1"), Translation::Nothing);
        for none in [".mixed > 1", ".year == 'x'", ".name < 'x'", ".year + 1 > 2", ".name in [1]", ".year in []", "1"] {
            assert_eq!(translated(none), Translation::None, "{none}");
        }
    }
}
