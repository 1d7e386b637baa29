//! Reads of records that every face answers by name: each has a file and a line in [`RECORDS`].
//!
//! **Useful for** adding a read: HTTP's address, Flight's action, MCP's tool `ask`, Redis' `NH.` command, the command
//! line's command and Python's `ask` follow from the line.
//! **Not for** writes, which need a durability, a record of repetition and the audit log, and not for searches, which have a deadline.
//!
//! **Invariant:** a listed operation only reads; the compiler checks it.

mod count;
mod duplicates;
mod facets;

pub use facets::{Facet, FacetValue, text_of as facets_in_lines};
use nuthatch_engine::ops::{Op, Repeat, Scope, on};
use nuthatch_engine::{Error, ErrorKind, Result};
use nuthatch_link::Records;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};

use crate::fields::{Field, fields};

/// The operations on the records of a collection.
pub static RECORDS: &[Operation] = &[of::<count::Count>(), of::<facets::Facets>(), of::<duplicates::Duplicates>()];

/// How an operation is asked in JSON, and answered.
trait Named: DeserializeOwned + ToSchema {
    type Op: Op<On = on::Records>;
    type Answer: Serialize + ToSchema;
    /// In lower case and without a dot.
    const NAME: &'static str;
    /// A sentence that describes its answer.
    const SAYS: &'static str;
    /// The field that words without a name are of.
    const WORDS: &'static str;

    /// # Errors
    /// `Invalid` with the wrong part.
    fn into_op(self) -> Result<Self::Op>;

    fn answer(answer: <Self::Op as Op>::Answer) -> Self::Answer;

    /// An answer for people, and for models that are given no structure.
    fn text(answer: &Value) -> String;
}

/// An operation whose types are known by its name alone.
pub struct Operation {
    pub name: &'static str,
    /// A sentence that describes its answer.
    pub says: &'static str,
    words: &'static str,
    run: fn(&Records<'_>, Value) -> Result<Value>,
    text: fn(&Value) -> String,
    question: fn() -> Described,
    answer: fn() -> Described,
}

/// A type as OpenAPI describes it, with those that it is made of.
pub struct Described {
    pub name: String,
    pub schema: RefOr<Schema>,
    pub parts: Vec<(String, RefOr<Schema>)>,
}

/// The operation of that name.
///
/// # Errors
/// `NotFound`, with the names that there are.
pub fn find(name: &str) -> Result<&'static Operation> {
    RECORDS.iter().find(|operation| operation.name == name).ok_or_else(|| {
        let known: Vec<&str> = RECORDS.iter().map(|operation| operation.name).collect();
        Error::new(ErrorKind::NotFound, format!("no operation {name:?} on records; there are: {}", known.join(", ")))
    })
}

const fn of<N: Named>() -> Operation {
    assert!(
        matches!(N::Op::SCOPE, Scope::Read) && matches!(N::Op::REPEAT, Repeat::Read),
        "what is asked by its name reads and changes nothing"
    );
    Operation {
        name: N::NAME,
        says: N::SAYS,
        words: N::WORDS,
        run: run::<N>,
        text: N::text,
        question: described::<N>,
        answer: described::<N::Answer>,
    }
}

impl Operation {
    /// Asks a collection, as it is now, as a snapshot has it, or as a transaction sees it.
    ///
    /// # Errors
    /// `Invalid` with the place of what is wrong in the question; those of the operation.
    pub fn ask(&self, records: &Records<'_>, question: Value) -> Result<Value> {
        if !question.is_object() {
            return Err(Error::invalid(format!("{}: the question is a JSON object", self.name)));
        }
        (self.run)(records, question)
    }

    /// An answer in lines.
    pub fn text(&self, answer: &Value) -> String {
        (self.text)(answer)
    }

    pub fn question(&self) -> Described {
        (self.question)()
    }

    pub fn answer(&self) -> Described {
        (self.answer)()
    }

    /// The fields of its question; the first is the one that words without a name are of.
    pub fn fields(&self) -> Vec<Field> {
        let mut fields = fields(&self.question().schema);
        fields.sort_by_key(|field| field.name != self.words);
        fields
    }

    /// A question in JSON, or in words: a field's name and then its value, or the value alone for the first field.
    ///
    /// # Errors
    /// `Invalid` for JSON that is none, a name without a value, or a value of the wrong type.
    pub fn read(&self, words: &[&str]) -> Result<Value> {
        if let [json] = words
            && json.trim_start().starts_with('{')
        {
            return serde_json::from_str(json).map_err(|error| Error::invalid(format!("{}: {error}", self.name)));
        }
        let (fields, mut question, mut words) = (self.fields(), Map::new(), words.iter());
        while let Some(word) = words.next() {
            let named = fields.iter().skip(1).find(|field| field.name.eq_ignore_ascii_case(word));
            let (field, value) = match (named, fields.first()) {
                (Some(field), _) => (field, words.next()),
                (None, Some(first)) => (first, Some(word)),
                (None, None) => return Err(Error::invalid(format!("{} takes no words", self.name))),
            };
            let value = value.ok_or_else(|| Error::invalid(format!("{} comes without a value", field.name)))?;
            field.put(&mut question, value)?;
        }
        Ok(Value::Object(question))
    }
}

fn run<N: Named>(records: &Records<'_>, question: Value) -> Result<Value> {
    let question: N = serde_path_to_error::deserialize(question).map_err(|error| {
        let place = if error.path().iter().len() == 0 { String::new() } else { format!("{}: ", error.path()) };
        Error::invalid(format!("{}: {place}{}", N::NAME, error.inner()))
    })?;
    let answer = N::answer(records.ask(question.into_op()?)?);
    serde_json::to_value(answer).map_err(|error| Error::internal(format!("an answer is no JSON: {error}")))
}

fn described<T: ToSchema>() -> Described {
    let mut parts = Vec::new();
    T::schemas(&mut parts);
    Described { name: T::name().into(), schema: T::schema(), parts }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::json;

    use super::*;

    #[test]
    fn every_operation_has_a_name_of_its_own_and_a_field_for_bare_words() {
        let names: HashSet<&str> = RECORDS.iter().map(|operation| operation.name).collect();
        assert_eq!(names.len(), RECORDS.len());
        for operation in RECORDS {
            assert_eq!(operation.fields()[0].name, operation.words, "{}", operation.name);
            assert!(operation.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{}", operation.name);
        }
        assert!(find("nothing").err().is_some_and(|error| error.message.contains("count")));
    }

    #[test]
    fn words_and_json_are_the_same_question() {
        let count = find("count").unwrap();
        assert_eq!(count.read(&["year", ">", "2024"]).unwrap(), json!({"where": "year > 2024"}));
        assert_eq!(count.read(&[r#"{"where": "year > 2024"}"#]).unwrap(), json!({"where": "year > 2024"}));
        assert_eq!(count.read(&[]).unwrap(), json!({}));
        assert!(count.read(&["{"]).is_err());
    }
}
