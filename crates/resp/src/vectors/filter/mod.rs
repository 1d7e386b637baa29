//! The FILTER language of vector sets: `.year >= 1980 and .genre in ["action", "drama"]`.
//!
//! **Useful for** judging an element's attributes, and for saying the same in the engine's `where` language, so that the index
//! does it. **Not for** anything nested: a selector names a field at the top.
//!
//! **Invariant:** an element whose attributes lack a field that the expression names does not pass, whatever stands around the name; a
//! translation lets exactly the elements pass that the expression does, or there is none.

mod evaluate;
mod parse;
mod tokens;
mod translate;

use serde_json::Value as Json;

use crate::failure::Outcome;

pub(crate) use translate::Translation;

/// A parsed expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expression {
    root: Node,
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Number(f64),
    Text(String),
    List(Vec<Node>),
    Null,
    /// A field of the attributes.
    Field(String),
    Not(Box<Node>),
    Binary(Operator, Box<Node>, Box<Node>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Or,
    And,
    Equal,
    Differs,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    In,
    Plus,
    Minus,
    Times,
    Over,
    Modulo,
    Power,
}

impl Expression {
    pub fn parse(text: &[u8]) -> Outcome<Self> {
        parse::parse(text).map(|root| Self { root })
    }

    /// Whether an element of these attributes passes.
    pub fn lets_pass(&self, attributes: Option<&str>) -> bool {
        let Some(Ok(Json::Object(fields))) = attributes.map(serde_json::from_str) else {
            // Without attributes only what names none can pass.
            return self.root.fields().is_empty() && evaluate::holds(&self.root, &serde_json::Map::new());
        };
        evaluate::holds(&self.root, &fields)
    }

    /// The same in the `where` language, for a collection whose payloads have had these fields, of these kinds.
    pub fn translated(&self, known: &[(String, Vec<String>)]) -> Translation {
        translate::translate(&self.root, known)
    }
}

impl Node {
    /// Every field that is named.
    fn fields(&self) -> Vec<&str> {
        match self {
            Self::Field(name) => vec![name],
            Self::Not(inner) => inner.fields(),
            Self::Binary(_, left, right) => [left.fields(), right.fields()].concat(),
            Self::Number(_) | Self::Text(_) | Self::List(_) | Self::Null => Vec::new(),
        }
    }
}
