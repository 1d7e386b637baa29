//! A test as the range of stored values that pass it, one kind at a time: what a column can be scanned for.
//!
//! The ranges are inclusive, so that one form serves integers and floats, and exact: `x > 2.5` is `3..` among the integers
//! and starts at the next float among the floats. [`crate::compare`] says the same row by row; they share no code on
//! purpose, so that testing one against the other means something.

use std::ops::{Bound, RangeInclusive};

use crate::compare::Literal;
use crate::time::parse_nanos;
use crate::{CompareOp, Value};

/// The ends of a range of texts, as bytes.
pub(crate) type TextBounds<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// Two ends, each with its literal and whether the literal itself stays outside.
pub(crate) struct Interval<'a> {
    low: Option<(Literal<'a>, bool)>,
    high: Option<(Literal<'a>, bool)>,
}

impl<'a> Interval<'a> {
    pub fn equal(value: &'a Value) -> Self {
        Self::between(value, value)
    }

    pub fn between(low: &'a Value, high: &'a Value) -> Self {
        Self { low: Some((Literal::new(low), false)), high: Some((Literal::new(high), false)) }
    }

    /// The values that pass `op value`. For `Ne` these are the same as for `Eq`, and the caller subtracts them.
    pub fn of(op: CompareOp, value: &'a Value) -> Self {
        let literal = Literal::new(value);
        match op {
            CompareOp::Eq | CompareOp::Ne => Self::equal(value),
            CompareOp::Lt => Self { low: None, high: Some((literal, true)) },
            CompareOp::Le => Self { low: None, high: Some((literal, false)) },
            CompareOp::Gt => Self { low: Some((literal, true)), high: None },
            CompareOp::Ge => Self { low: Some((literal, false)), high: None },
        }
    }

    /// The values of one kind that pass; `None` when none can.
    pub fn range<K: Scalars>(&self) -> Option<RangeInclusive<K::Stored>> {
        let low = self.low.as_ref().map_or(Some(K::LOWEST), |(literal, strict)| K::at_least(literal, *strict))?;
        let high = self.high.as_ref().map_or(Some(K::HIGHEST), |(literal, strict)| K::at_most(literal, *strict))?;
        (low <= high).then_some(low..=high)
    }

    /// The texts that pass, by their bytes; `None` when none can.
    pub fn text_bounds(&self) -> Option<TextBounds<'a>> {
        let bound = |end: &Option<(Literal<'a>, bool)>| match end {
            None => Some(Bound::Unbounded),
            Some((Literal::Text(text), true)) => Some(Bound::Excluded(text.as_bytes())),
            Some((Literal::Text(text), false)) => Some(Bound::Included(text.as_bytes())),
            Some(_) => None,
        };
        Some((bound(&self.low)?, bound(&self.high)?))
    }
}

/// One kind of stored value, and its values closest to a literal from above and below.
pub(crate) trait Scalars {
    type Stored: Copy + PartialOrd;
    const LOWEST: Self::Stored;
    const HIGHEST: Self::Stored;
    /// The smallest stored value that is at least the literal (`strict`: greater); `None` when there is none.
    fn at_least(literal: &Literal, strict: bool) -> Option<Self::Stored>;
    /// The largest stored value that is at most the literal (`strict`: less); `None` when there is none.
    fn at_most(literal: &Literal, strict: bool) -> Option<Self::Stored>;
}

pub(crate) struct Bools;
pub(crate) struct Ints;
pub(crate) struct Floats;
pub(crate) struct Datetimes;

impl Scalars for Bools {
    type Stored = bool;
    const LOWEST: bool = false;
    const HIGHEST: bool = true;

    fn at_least(literal: &Literal, strict: bool) -> Option<bool> {
        match (literal, strict) {
            (Literal::Bool(value), false) => Some(*value),
            (Literal::Bool(false), true) => Some(true),
            _ => None,
        }
    }

    fn at_most(literal: &Literal, strict: bool) -> Option<bool> {
        match (literal, strict) {
            (Literal::Bool(value), false) => Some(*value),
            (Literal::Bool(true), true) => Some(false),
            _ => None,
        }
    }
}

/// 2^63, the first float past the integers; its negative is the lowest of them.
const TWO_POW_63: f64 = 9_223_372_036_854_775_808.0;

impl Scalars for Ints {
    type Stored = i64;
    const LOWEST: i64 = i64::MIN;
    const HIGHEST: i64 = i64::MAX;

    fn at_least(literal: &Literal, strict: bool) -> Option<i64> {
        match literal {
            Literal::Int(value) if strict => value.checked_add(1),
            Literal::Int(value) => Some(*value),
            Literal::Float(value) if value.is_nan() => None,
            Literal::Float(value) => {
                let ceiling = value.ceil();
                if ceiling < -TWO_POW_63 {
                    Some(i64::MIN)
                } else if ceiling >= TWO_POW_63 {
                    None
                } else if strict && ceiling == *value {
                    (ceiling as i64).checked_add(1)
                } else {
                    Some(ceiling as i64)
                }
            }
            _ => None,
        }
    }

    fn at_most(literal: &Literal, strict: bool) -> Option<i64> {
        match literal {
            Literal::Int(value) if strict => value.checked_sub(1),
            Literal::Int(value) => Some(*value),
            Literal::Float(value) if value.is_nan() => None,
            Literal::Float(value) => {
                let floor = value.floor();
                if floor >= TWO_POW_63 {
                    Some(i64::MAX)
                } else if floor < -TWO_POW_63 {
                    None
                } else if strict && floor == *value {
                    (floor as i64).checked_sub(1)
                } else {
                    Some(floor as i64)
                }
            }
            _ => None,
        }
    }
}

impl Scalars for Floats {
    type Stored = f64;
    const LOWEST: f64 = f64::NEG_INFINITY;
    const HIGHEST: f64 = f64::INFINITY;

    fn at_least(literal: &Literal, strict: bool) -> Option<f64> {
        let (nearest, literal_is_above) = nearest_float(literal, |nearest, exact| nearest < exact)?;
        let next = literal_is_above || (strict && !literal_is_below(literal, nearest));
        let low = if next { nearest.next_up() } else { nearest };
        // A column tells -0.0 from 0.0 by its bits; a comparison does not.
        Some(if low == 0.0 { -0.0 } else { low })
    }

    fn at_most(literal: &Literal, strict: bool) -> Option<f64> {
        let (nearest, literal_is_below_nearest) = nearest_float(literal, |nearest, exact| nearest > exact)?;
        let next = literal_is_below_nearest || (strict && !literal_is_above(literal, nearest));
        let high = if next { nearest.next_down() } else { nearest };
        Some(if high == 0.0 { 0.0 } else { high })
    }
}

/// The float nearest to a number, and whether it stands to the exact number as `rounded` asks.
fn nearest_float(literal: &Literal, rounded: impl Fn(i128, i128) -> bool) -> Option<(f64, bool)> {
    match literal {
        Literal::Float(value) if !value.is_nan() => Some((*value, false)),
        // The nearest float of an i64 is a whole number of at most 2^63, which i128 holds exactly.
        Literal::Int(value) => Some((*value as f64, rounded(*value as f64 as i128, i128::from(*value)))),
        _ => None,
    }
}

fn literal_is_below(literal: &Literal, float: f64) -> bool {
    matches!(literal, Literal::Int(value) if i128::from(*value) < float as i128)
}

fn literal_is_above(literal: &Literal, float: f64) -> bool {
    matches!(literal, Literal::Int(value) if i128::from(*value) > float as i128)
}

impl Scalars for Datetimes {
    type Stored = i64;
    const LOWEST: i64 = i64::MIN;
    const HIGHEST: i64 = i64::MAX;

    fn at_least(literal: &Literal, strict: bool) -> Option<i64> {
        match literal {
            Literal::Datetime(micros) if strict => micros.checked_add(1),
            Literal::Datetime(micros) => Some(*micros),
            Literal::Text(text) => {
                let nanos = parse_nanos(text)?;
                let ceiling = -(-nanos).div_euclid(1000);
                let exact = ceiling * 1000 == nanos;
                i64::try_from(ceiling + i128::from(strict && exact)).ok()
            }
            _ => None,
        }
    }

    fn at_most(literal: &Literal, strict: bool) -> Option<i64> {
        match literal {
            Literal::Datetime(micros) if strict => micros.checked_sub(1),
            Literal::Datetime(micros) => Some(*micros),
            Literal::Text(text) => {
                let nanos = parse_nanos(text)?;
                let floor = nanos.div_euclid(1000);
                let exact = floor * 1000 == nanos;
                i64::try_from(floor - i128::from(strict && exact)).ok()
            }
            _ => None,
        }
    }
}
