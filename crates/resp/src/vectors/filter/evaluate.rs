//! The evaluation of an expression on an element's attributes.

use serde_json::{Map, Value as Json};

use crate::vectors::filter::{Node, Operator};

/// The value of a part of an expression.
#[derive(Clone, Debug, PartialEq)]
enum Item {
    Number(f64),
    Text(String),
    List(Vec<Item>),
    Null,
}

/// False, too, when a field is missing.
pub(super) fn holds(node: &Node, fields: &Map<String, Json>) -> bool {
    value(node, fields).is_some_and(|item| item.is_true())
}

/// `None` when a field is missing, or is neither number, text, store value nor a list of numbers and texts.
fn value(node: &Node, fields: &Map<String, Json>) -> Option<Item> {
    Some(match node {
        Node::Number(number) => Item::Number(*number),
        Node::Text(text) => Item::Text(text.clone()),
        Node::Null => Item::Null,
        Node::List(items) => Item::List(items.iter().map(|item| value(item, fields)).collect::<Option<_>>()?),
        Node::Field(name) => attribute(fields.get(name)?)?,
        Node::Not(inner) => store(!value(inner, fields)?.is_true()),
        // Both sides, always: a missing field is missing wherever it stands.
        Node::Binary(operator, left, right) => {
            let (left, right) = (value(left, fields)?, value(right, fields)?);
            combined(*operator, &left, &right)
        }
    })
}

fn attribute(json: &Json) -> Option<Item> {
    match json {
        Json::Number(number) => number.as_f64().map(Item::Number),
        Json::String(text) => Some(Item::Text(text.clone())),
        Json::Bool(yes) => Some(store(*yes)),
        Json::Array(items) => {
            let scalars = items.iter().map(|item| match item {
                Json::Number(_) | Json::String(_) => attribute(item),
                _ => None,
            });
            scalars.collect::<Option<_>>().map(Item::List)
        }
        Json::Null | Json::Object(_) => None,
    }
}

fn combined(operator: Operator, left: &Item, right: &Item) -> Item {
    let (a, b) = (left.number(), right.number());
    match operator {
        Operator::Or => store(left.is_true() || right.is_true()),
        Operator::And => store(left.is_true() && right.is_true()),
        Operator::Equal => store(left.equals(right)),
        Operator::Differs => store(!left.equals(right)),
        Operator::Less => store(a < b),
        Operator::LessEqual => store(a <= b),
        Operator::Greater => store(a > b),
        Operator::GreaterEqual => store(a >= b),
        Operator::In => store(match (left, right) {
            (item, Item::List(items)) => items.iter().any(|other| item.equals(other)),
            (Item::Text(part), Item::Text(whole)) => whole.contains(part.as_str()),
            _ => false,
        }),
        Operator::Plus => Item::Number(a + b),
        Operator::Minus => Item::Number(a - b),
        Operator::Times => Item::Number(a * b),
        Operator::Over => Item::Number(a / b),
        Operator::Modulo => Item::Number(a % b),
        Operator::Power => Item::Number(a.powf(b)),
    }
}

fn store(yes: bool) -> Item {
    Item::Number(f64::from(u8::from(yes)))
}

impl Item {
    /// Text as the number that it spells, or 0.
    fn number(&self) -> f64 {
        match self {
            Self::Number(number) => *number,
            Self::Text(text) => text.parse().unwrap_or(0.0),
            Self::List(_) | Self::Null => 0.0,
        }
    }

    fn is_true(&self) -> bool {
        match self {
            Self::Number(number) => *number != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::List(_) => true,
            Self::Null => false,
        }
    }

    fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(one), Self::Text(other)) => one == other,
            (Self::Null, other) | (other, Self::Null) => *other == Self::Null,
            (one, other) => one.number() == other.number(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::vectors::filter::Expression;

    #[test]
    fn expressions_mean_what_the_language_says() {
        let attributes = r#"{"year": 1985, "genre": "action", "rating": 8.5, "ok": true, "tags": ["a", 2], "deep": {"x": 1}, "none": null,
            "lines": "one\ntwo\tthree\\four", "odd": "\r\b\f/\"", "letters": "\u00e9\ud83d\ude00"}"#;
        let passes = |text: &str| Expression::parse(text.as_bytes()).unwrap().lets_pass(Some(attributes));
        for text in [
            ".year >= 1980 and .year < 1990",
            ".genre == \"action\" && .rating > 8.0",
            ".genre in ['drama', 'action']",
            "(.year - 2000) ** 2 < 300 and .rating / 2 > 4",
            "2 ** 3 ** 2 == 512",
            "'act' in .genre",
            "'a' in .tags and 2 in .tags",
            ".ok and not (.year == 3)",
            "!.ok == 0",
            ".year % 10 == 5",
            "-1 < .year",
            ".year -1 == 1984",
            "'10' == 10",
            "'it\\'s' == \"it's\"",
            r#".lines == "one\ntwo\tthree\\four""#,
            r#""\r\b\f\/\"" in .odd"#,
            r#"'\u00e9\ud83d\ude00' == .letters"#,
            r#"'\x' == 'x'"#,
            "1",
        ] {
            assert!(passes(text), "{text}");
        }
        for text in [
            ".missing == 1 or .year > 0",
            "not .missing",
            ".deep == 1",
            ".none == null",
            ".year in []",
            "3 in .tags",
            "''",
            "null",
        ] {
            assert!(!passes(text), "{text}");
        }
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        for text in [
            "",
            ".",
            "(",
            "(1",
            "1 2",
            "1 +",
            "foo",
            "[1, [2]]",
            "'open",
            ".a = 1",
            "1 in [",
            "\u{0}",
            r"'\u12'",
            r"'\ud83d'",
            r"'\ud83d\u0041'",
            r"'\",
        ] {
            assert!(Expression::parse(text.as_bytes()).is_err(), "{text:?}");
        }
        assert!(Expression::parse("not ".repeat(100).as_bytes()).is_err());
        assert!(Expression::parse("1 and ".repeat(5000).as_bytes()).is_err());
        assert!(Expression::parse(b"\xff").is_err());
    }

    #[test]
    fn elements_without_attributes_lack_every_field() {
        let expression = Expression::parse(b".a < 5").unwrap();
        assert!(
            !expression.lets_pass(None) && !expression.lets_pass(Some("no json")) && !expression.lets_pass(Some("{}"))
        );
    }
}
