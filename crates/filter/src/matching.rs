//! A filter on one payload: the definition of what a filter means. The columns must agree with it.

use std::cmp::Ordering;

use crate::compare::{Literal, compare};
use crate::like::LikePattern;
use crate::{CompareOp, Filter, Payload, Value};

impl Filter {
    /// Whether the payload passes.
    pub fn matches(&self, payload: &Payload) -> bool {
        match self {
            Filter::True => true,
            Filter::And(parts) => parts.iter().all(|part| part.matches(payload)),
            Filter::Or(parts) => parts.iter().any(|part| part.matches(payload)),
            Filter::Not(inner) => !inner.matches(payload),
            Filter::Exists { field } => any_at(payload, field, &mut |_| true),
            Filter::Compare { field, op: CompareOp::Ne, value } => !any_equal(payload, field, value),
            Filter::Compare { field, op, value } => {
                let literal = Literal::new(value);
                any_at(payload, field, &mut |found| compare(found, &literal).is_some_and(|order| op.accepts(order)))
            }
            Filter::Contains { field, value } => any_equal(payload, field, value),
            Filter::In { field, values } => any_at(payload, field, &mut |found| {
                values.iter().any(|value| compare(found, &Literal::new(value)) == Some(Ordering::Equal))
            }),
            Filter::Among { field, numbers } => any_at(payload, field, &mut |found| match found {
                Value::Int(number) => numbers.binary_search(number).is_ok(),
                _ => false,
            }),
            Filter::Between { field, low, high } => {
                let (low, high) = (Literal::new(low), Literal::new(high));
                any_at(payload, field, &mut |found| {
                    compare(found, &low).is_some_and(Ordering::is_ge)
                        && compare(found, &high).is_some_and(Ordering::is_le)
                })
            }
            Filter::Prefix { field, prefix } => any_text(payload, field, &mut |text| text.starts_with(prefix.as_str())),
            Filter::Like { field, pattern, escape } => {
                let pattern = LikePattern::new(pattern, *escape);
                any_text(payload, field, &mut |text| pattern.matches(text))
            }
        }
    }
}

impl CompareOp {
    /// For the five operators that ask for an order; `Ne` is a negation of its own.
    fn accepts(self, order: Ordering) -> bool {
        match self {
            CompareOp::Eq => order.is_eq(),
            CompareOp::Ne => order.is_ne(),
            CompareOp::Lt => order.is_lt(),
            CompareOp::Le => order.is_le(),
            CompareOp::Gt => order.is_gt(),
            CompareOp::Ge => order.is_ge(),
        }
    }
}

fn any_equal(payload: &Payload, field: &str, value: &Value) -> bool {
    let literal = Literal::new(value);
    any_at(payload, field, &mut |found| compare(found, &literal) == Some(Ordering::Equal))
}

fn any_text(payload: &Payload, field: &str, test: &mut dyn FnMut(&str) -> bool) -> bool {
    any_at(payload, field, &mut |found| if let Value::Text(text) = found { test(text) } else { false })
}

/// Whether any value that the path reaches passes: every value but null, arrays as themselves and element by element.
fn any_at(payload: &Payload, path: &str, test: &mut dyn FnMut(&Value) -> bool) -> bool {
    let (name, rest) = match path.split_once('.') {
        Some((name, rest)) => (name, Some(rest)),
        None => (path, None),
    };
    payload.get(name).is_some_and(|value| any_in(value, rest, test))
}

fn any_in(value: &Value, rest: Option<&str>, test: &mut dyn FnMut(&Value) -> bool) -> bool {
    match (value, rest) {
        (Value::Null, _) => false,
        (Value::Array(values), _) => {
            (rest.is_none() && test(value)) || values.iter().any(|value| any_in(value, rest, test))
        }
        (Value::Map(map), Some(rest)) => any_at(map, rest, test),
        (_, Some(_)) => false,
        (_, None) => test(value),
    }
}
