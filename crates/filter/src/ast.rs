//! The filter as a tree.

use std::collections::BTreeSet;

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
    Not(Box<Filter>),
    /// [`CompareOp::Ne`] is `Not` of [`CompareOp::Eq`], so it holds for rows without the field.
    Compare {
        field: String,
        op: CompareOp,
        value: Value,
    },
    /// Equal to any of the values.
    In {
        field: String,
        values: Vec<Value>,
    },
    /// One and the same element is at least `low` and at most `high`.
    Between {
        field: String,
        low: Value,
        high: Value,
    },
    /// The field is there and not null. An empty array or map is there.
    Exists {
        field: String,
    },
    /// `%` stands for any characters, `_` for one; `escape` before either takes it literally. Case sensitive, whole text.
    Like {
        field: String,
        pattern: String,
        escape: Option<char>,
    },
    Prefix {
        field: String,
        prefix: String,
    },
    /// An element of the array equals the value. On a field that is no array this is plain equality, not a substring.
    Contains {
        field: String,
        value: Value,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
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
