//! The filter as a tree.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::Value;

/// A condition on a payload, in two-valued logic: a test of a missing or null field is false, and [`Filter::Not`] makes it
/// true. On an array a test asks whether *any* element passes.
#[derive(Clone, Debug, PartialEq)]
pub enum Filter {
    /// Every row.
    True,
    /// All of them; every row when empty.
    And(Vec<Filter>),
    /// Any of them; no row when empty.
    Or(Vec<Filter>),
    /// The rows that the inner filter leaves out, with those that lack its fields.
    Not(Box<Filter>),
    /// [`CompareOp::Ne`] is `Not` of [`CompareOp::Eq`], so it holds for rows without the field.
    Compare {
        /// Dotted path of the field.
        field: String,
        /// How the field is compared.
        op: CompareOp,
        /// The value to compare with; kinds do not convert.
        value: Value,
    },
    /// Equal to any of the values.
    In {
        /// Dotted path of the field.
        field: String,
        /// No row when empty.
        values: Vec<Value>,
    },
    /// An int of the field is one of these, which ascend; a float never is. Made by programs, for large sets: the language has
    /// [`Filter::In`].
    Among {
        /// Dotted path of the field.
        field: String,
        /// No row when empty.
        numbers: Arc<[i64]>,
    },
    /// One and the same element is at least `low` and at most `high`.
    Between {
        /// Dotted path of the field.
        field: String,
        /// The least value that passes.
        low: Value,
        /// The greatest value that passes.
        high: Value,
    },
    /// The field is there and not null. An empty array or map is there.
    Exists {
        /// Dotted path of the field.
        field: String,
    },
    /// `%` stands for any characters, `_` for one; `escape` before either takes it literally. Case sensitive, whole text.
    Like {
        /// Dotted path of the field.
        field: String,
        /// With its wildcards.
        pattern: String,
        /// `None`: nothing in the pattern is escaped.
        escape: Option<char>,
    },
    /// A text of the field begins with `prefix`. Case sensitive, without wildcards.
    Prefix {
        /// Dotted path of the field.
        field: String,
        /// The beginning of the text.
        prefix: String,
    },
    /// An element of the array equals the value. On a field that is no array this is plain equality, not a substring.
    Contains {
        /// Dotted path of the field.
        field: String,
        /// The value that one element equals.
        value: Value,
    },
}

/// How a value of the field stands to the literal on the right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareOp {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
}

impl CompareOp {
    /// The operator as the language spells it.
    pub fn symbol(self) -> &'static str {
        match self {
            CompareOp::Eq => "=",
            CompareOp::Ne => "!=",
            CompareOp::Lt => "<",
            CompareOp::Le => "<=",
            CompareOp::Gt => ">",
            CompareOp::Ge => ">=",
        }
    }

    /// The operator that says the same with its sides swapped: `5 < x` is `x > 5`.
    pub(crate) fn swapped(self) -> Self {
        match self {
            CompareOp::Lt => CompareOp::Gt,
            CompareOp::Le => CompareOp::Ge,
            CompareOp::Gt => CompareOp::Lt,
            CompareOp::Ge => CompareOp::Le,
            CompareOp::Eq | CompareOp::Ne => self,
        }
    }
}

impl Filter {
    /// The dotted paths of every field that the filter looks at.
    pub fn fields(&self) -> BTreeSet<&str> {
        let mut fields = BTreeSet::new();
        self.collect_fields(&mut fields);
        fields
    }

    fn collect_fields<'a>(&'a self, fields: &mut BTreeSet<&'a str>) {
        match self {
            Filter::True => {}
            Filter::And(parts) | Filter::Or(parts) => parts.iter().for_each(|part| part.collect_fields(fields)),
            Filter::Not(inner) => inner.collect_fields(fields),
            Filter::Compare { field, .. }
            | Filter::In { field, .. }
            | Filter::Among { field, .. }
            | Filter::Between { field, .. }
            | Filter::Exists { field }
            | Filter::Like { field, .. }
            | Filter::Prefix { field, .. }
            | Filter::Contains { field, .. } => {
                fields.insert(field);
            }
        }
    }
}
