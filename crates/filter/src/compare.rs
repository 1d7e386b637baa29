//! How one value stands to one literal: exact, and undefined between kinds that differ.

use std::cmp::Ordering;

use crate::Value;
use crate::time::parse_nanos;

/// A literal of a filter, without the kinds that nothing compares with.
#[derive(Clone, Copy)]
pub(crate) enum Literal<'a> {
    Bool(bool),
    Int(i64),
    Float(f64),
    /// Compared with a datetime, it is parsed as one if it can be.
    Text(&'a str),
    Datetime(i64),
    /// Null, an array or a map: no value equals it, and the order with any is undefined.
    Incomparable,
}

impl<'a> Literal<'a> {
    pub fn new(value: &'a Value) -> Self {
        match value {
            Value::Bool(value) => Literal::Bool(*value),
            Value::Int(value) => Literal::Int(*value),
            Value::Float(value) => Literal::Float(*value),
            Value::Text(text) => Literal::Text(text),
            Value::Datetime(micros) => Literal::Datetime(*micros),
            Value::Null | Value::Array(_) | Value::Map(_) => Literal::Incomparable,
        }
    }
}

/// The order of a stored scalar and a literal; `None` when their kinds have nothing in common.
pub(crate) fn compare(value: &Value, literal: &Literal) -> Option<Ordering> {
    match (value, literal) {
        (Value::Bool(a), Literal::Bool(b)) => Some(a.cmp(b)),
        (Value::Int(a), Literal::Int(b)) => Some(a.cmp(b)),
        (Value::Float(a), Literal::Float(b)) => a.partial_cmp(b),
        (Value::Int(a), Literal::Float(b)) => compare_int_float(*a, *b),
        (Value::Float(a), Literal::Int(b)) => compare_int_float(*b, *a).map(Ordering::reverse),
        (Value::Text(a), Literal::Text(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
        (Value::Datetime(a), Literal::Datetime(b)) => Some(a.cmp(b)),
        (Value::Datetime(a), Literal::Text(b)) => Some((i128::from(*a) * 1000).cmp(&parse_nanos(b)?)),
        _ => None,
    }
}

/// Exact where `int as f64` would round: 2^53 + 1 is not 2^53.
fn compare_int_float(int: i64, float: f64) -> Option<Ordering> {
    const TWO_POW_63: f64 = 9_223_372_036_854_775_808.0;
    if float.is_nan() {
        None
    } else if float >= TWO_POW_63 {
        Some(Ordering::Less)
    } else if float < -TWO_POW_63 {
        Some(Ordering::Greater)
    } else {
        let whole = float.trunc();
        let fraction = float - whole;
        // In range, so the cast is exact; an equal whole part leaves the decision to the fraction.
        Some(int.cmp(&(whole as i64)).then_with(|| 0.0.partial_cmp(&fraction).unwrap_or(Ordering::Equal)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_floats_compare_exactly() {
        let order = |int: i64, float: f64| compare_int_float(int, float);
        assert_eq!(order(9_007_199_254_740_993, 9_007_199_254_740_992.0), Some(Ordering::Greater));
        assert_eq!(order(i64::MAX, i64::MAX as f64), Some(Ordering::Less));
        assert_eq!(order(i64::MIN, i64::MIN as f64), Some(Ordering::Equal));
        assert_eq!(order(-1, -1.5), Some(Ordering::Greater));
        assert_eq!(order(-2, -1.5), Some(Ordering::Less));
        assert_eq!(order(0, -0.0), Some(Ordering::Equal));
        assert_eq!(order(0, f64::NAN), None);
        assert_eq!(order(i64::MAX, f64::INFINITY), Some(Ordering::Less));
    }

    #[test]
    fn a_text_finer_than_a_microsecond_equals_no_datetime() {
        let literal = Value::from("1970-01-01T00:00:00.000001500Z");
        let literal = Literal::new(&literal);
        assert_eq!(compare(&Value::Datetime(1), &literal), Some(Ordering::Less));
        assert_eq!(compare(&Value::Datetime(2), &literal), Some(Ordering::Greater));
    }
}
