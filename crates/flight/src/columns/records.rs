//! Batches as records, and as questions.

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Schema};
use nuthatch_link::{CollectionInfo, Error, NamedVectors, Record, Result, VectorFieldInfo, VectorValue};

use crate::columns::json::{self, JsonColumns};
use crate::columns::mark::{self, Mark};
use crate::columns::strings::{Strings, ids, is_whole};
use crate::columns::{CODE, CONTEXT, DATETIMES, ID, OF_PAYLOAD, PAYLOAD, TEXT, VECTOR, payload, values, vectors};

/// The text and the vector of a question.
pub type Question = (Option<String>, Option<Vec<f32>>);

/// Rows of one batch: an id may take a byte in a message, and a record takes some hundred.
const ROWS_MAX: usize = 100_000;

/// Which column of a schema is what of a record.
#[derive(Debug)]
pub struct Layout {
    id: usize,
    text: Option<usize>,
    context: Option<usize>,
    code: Option<usize>,
    vector: Option<usize>,
    /// Columns of vector fields.
    named: Vec<(usize, String, Form)>,
    /// Columns of payload fields.
    fields: Vec<(usize, String)>,
    json: JsonColumns,
    /// How values that a record cannot hold are converted.
    notes: Vec<String>,
}

/// The form of the values in a vector field's column.
#[derive(Clone, Copy, Debug)]
enum Form {
    Dense,
    Sparse,
    Tokens,
}

/// The vectors that a collection holds, or is going to hold.
#[derive(Clone, Copy)]
pub struct Holder<'a> {
    pub name: &'a str,
    /// Of the unnamed vectors, once that is known.
    pub dim: Option<usize>,
    pub fields: &'a [VectorFieldInfo],
}

impl<'a> From<&'a CollectionInfo> for Holder<'a> {
    fn from(info: &'a CollectionInfo) -> Self {
        Self { name: &info.name, dim: info.dim, fields: &info.vector_fields }
    }
}

impl Layout {
    /// # Errors
    /// `Invalid` for a column that the collection cannot hold, before any row is looked at.
    pub fn of(schema: &Schema, holder: Holder<'_>) -> Result<Self> {
        let (mut id, mut layout) = (None, Self::empty());
        let has_payload = schema.fields().iter().any(|field| field.name() == PAYLOAD);
        for (at, field) in schema.fields().iter().enumerate() {
            let (name, kind) = (field.name().as_str(), field.data_type());
            if schema.fields()[..at].iter().any(|other| other.name() == name) {
                return Err(Error::invalid(format!("the schema has two columns {name:?}; rename one")));
            }
            // Without a type of its own, as when nothing is in it.
            if *kind == DataType::Null && name != ID {
                continue;
            }
            let marked = Mark::of(field);
            if marked == Some(Mark::Search) {
                continue;
            }
            if mark::lacks_datetimes(field) && !schema.fields().iter().any(|other| other.name() == DATETIMES) {
                return Err(Error::invalid(format!(
                    "column {name:?} was read without {DATETIMES:?}, so its datetimes would become texts; read {DATETIMES:?} as \
                     well, or remove the metadata of the column's field"
                )));
            }
            let string = |place: &mut Option<usize>| match Strings::is_type(kind) {
                true => {
                    *place = Some(at);
                    Ok(())
                }
                false => Err(Error::invalid(format!("column {name:?} is {kind}; it holds strings"))),
            };
            match name {
                ID if is_whole(kind) => id = Some(at),
                ID => string(&mut id)?,
                TEXT => string(&mut layout.text)?,
                CONTEXT => string(&mut layout.context)?,
                PAYLOAD => string(&mut layout.json.payload)?,
                DATETIMES if marked == Some(Mark::Datetimes) || has_payload => {
                    check_datetimes(kind)?;
                    layout.json.datetimes = Some(at);
                }
                CODE if *kind == DataType::Boolean => layout.code = Some(at),
                CODE => return Err(Error::invalid(format!("column \"code\" is {kind}; it holds booleans"))),
                VECTOR => {
                    layout.check_vectors(name, kind, holder.dim, holder)?;
                    layout.vector = Some(at);
                }
                _ => match holder.fields.iter().find(|field| field.name == name) {
                    Some(field) if field.kind == "sparse" => {
                        values::check_sparse(name, kind)?;
                        layout.named.push((at, name.into(), Form::Sparse));
                    }
                    Some(field) if field.kind == "tokens" => {
                        values::check_tokens(name, kind)?;
                        layout.named.push((at, name.into(), Form::Tokens));
                    }
                    Some(field) if vectors::is_list(kind) => {
                        layout.check_vectors(name, kind, Some(field.dim), holder)?;
                        layout.named.push((at, name.into(), Form::Dense));
                    }
                    _ => layout.add_payload_field(schema, at, marked)?,
                },
            }
        }
        let id = id.ok_or_else(|| {
            Error::invalid("the schema has no column \"id\"; give each record one, of strings or whole numbers")
        })?;
        Ok(Self { id, ..layout })
    }

    fn check_vectors(&mut self, name: &str, kind: &DataType, dim: Option<usize>, holder: Holder<'_>) -> Result<()> {
        let column = vectors::column(name, kind)?;
        if let Some(found) = column.dim {
            check_dim(name, found, dim, holder)?;
        }
        self.notes.extend(column.note(name));
        Ok(())
    }

    /// Describes how values that a record cannot hold are converted.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// A column that no other field of a record takes.
    fn add_payload_field(&mut self, schema: &Schema, at: usize, marked: Option<Mark>) -> Result<()> {
        let (name, kind) = (schema.field(at).name().as_str(), schema.field(at).data_type());
        payload::check(name, kind)?;
        let of_payload = name.strip_prefix(OF_PAYLOAD).unwrap_or(name);
        let same = |(_, other): &&(usize, String)| other == of_payload;
        if let Some((other, _)) = self.fields.iter().chain(&self.json.fields).find(same) {
            return Err(Error::invalid(format!(
                "columns {:?} and {name:?} are the same field of the payload; leave one out",
                schema.field(*other).name()
            )));
        }
        let is_json = marked == Some(Mark::Json) && Strings::is_type(kind);
        let fields = if is_json { &mut self.json.fields } else { &mut self.fields };
        fields.push((at, of_payload.into()));
        Ok(())
    }

    /// The records of a batch of this layout's schema.
    ///
    /// # Errors
    /// `Invalid` for a value that a record cannot have, with its row and column.
    pub fn records(&self, batch: &RecordBatch) -> Result<Vec<Record>> {
        let rows = batch.num_rows();
        if rows > ROWS_MAX {
            return Err(Error::invalid(format!("the batch has {rows} rows; send {ROWS_MAX} at a time")));
        }
        let columns = batch.columns();
        let strings = |place: Option<usize>| place.and_then(|at| Strings::of(&columns[at]));
        let (texts, contexts) = (strings(self.text), strings(self.context));
        let codes = self.code.map(|at| columns[at].as_boolean());
        let mut vectors = self.vector.map(|at| vectors::read(VECTOR, &columns[at])).transpose()?;
        let mut named = Vec::with_capacity(self.named.len());
        for (at, name, form) in &self.named {
            let column = &columns[*at];
            let values = match form {
                Form::Dense => {
                    let vectors = vectors::read(name, column)?;
                    vectors.into_iter().map(|vector| vector.map(VectorValue::Dense)).collect()
                }
                Form::Sparse => values::read_sparse(name, column)?,
                Form::Tokens => values::read_tokens(name, column)?,
            };
            named.push((name, values));
        }
        let mut records = Vec::with_capacity(batch.num_rows());
        let mut room = payload::VALUES_MAX;
        for (row, id) in ids(&columns[self.id])?.into_iter().enumerate() {
            let mut payload = self.json.payload(columns, row)?;
            for (at, name) in &self.fields {
                let Some(value) = payload::value(name, &columns[*at], row, &mut room)? else { continue };
                if payload.insert(name.clone(), value).is_some() {
                    return Err(json::twice(row, name));
                }
            }
            let string = |column: Option<Strings<'_>>| column.and_then(|column| column.get(row)).map(str::to_string);
            records.push(Record {
                id,
                text: string(texts),
                context: string(contexts),
                vector: vectors.as_mut().and_then(|vectors| vectors[row].take()),
                vectors: named
                    .iter_mut()
                    .filter_map(|(name, vectors)| Some((name.to_string(), vectors[row].take()?)))
                    .collect::<NamedVectors>(),
                payload,
                code: codes.is_some_and(|codes| codes.is_valid(row) && codes.value(row)),
            });
        }
        Ok(records)
    }

    fn empty() -> Self {
        Self {
            id: 0,
            text: None,
            context: None,
            code: None,
            vector: None,
            named: Vec::new(),
            fields: Vec::new(),
            json: JsonColumns::default(),
            notes: Vec::new(),
        }
    }
}

fn check_datetimes(kind: &DataType) -> Result<()> {
    match json::is_paths(kind) {
        true => Ok(()),
        false => Err(Error::invalid(format!(
            "column {DATETIMES:?} is {kind}; with \"payload\" it must be lists of strings that name the payload's datetimes; \
             to write a payload field, call it {OF_PAYLOAD}{DATETIMES}"
        ))),
    }
}

fn check_dim(name: &str, found: usize, wanted: Option<usize>, holder: Holder<'_>) -> Result<()> {
    match wanted {
        Some(wanted) if wanted != found => Err(Error::invalid(format!(
            "column {name:?} has {found} components, the vectors of collection {:?} have {wanted}",
            holder.name
        ))),
        _ => Ok(()),
    }
}

/// Which columns of a stream of questions are what.
pub struct Queries {
    text: Option<usize>,
    vector: Option<usize>,
}

impl Queries {
    /// # Errors
    /// `Invalid` for a schema with neither texts nor vectors, or with anything else.
    pub fn of(schema: &Schema) -> Result<Self> {
        let mut queries = Self { text: None, vector: None };
        for (at, field) in schema.fields().iter().enumerate() {
            let (name, kind) = (field.name().as_str(), field.data_type());
            match name {
                TEXT if Strings::is_type(kind) => queries.text = Some(at),
                VECTOR => {
                    vectors::column(name, kind)?;
                    queries.vector = Some(at);
                }
                _ => {
                    return Err(Error::invalid(format!(
                        "column {name:?} is {kind}; a question has `text` (strings), `vector` (lists of numbers), or both"
                    )));
                }
            }
        }
        match (queries.text, queries.vector) {
            (None, None) => Err(Error::invalid("questions need a column `text` or `vector`")),
            _ => Ok(queries),
        }
    }

    /// The text and the vector of each question.
    ///
    /// # Errors
    /// `Invalid` for a vector with a missing component.
    pub fn read(&self, batch: &RecordBatch) -> Result<Vec<Question>> {
        let columns = batch.columns();
        let texts = self.text.and_then(|at| Strings::of(&columns[at]));
        let mut vectors = self.vector.map(|at| vectors::read(VECTOR, &columns[at])).transpose()?;
        let one = |row: usize| {
            let text = texts.and_then(|column| column.get(row)).map(str::to_string);
            (text, vectors.as_mut().and_then(|vectors| vectors[row].take()))
        };
        Ok((0..batch.num_rows()).map(one).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        ArrayRef, BooleanArray, Date32Array, Date64Array, DurationSecondArray, Int64Array, StringArray,
        TimestampMillisecondArray, TimestampNanosecondArray, UInt64Array,
    };
    use arrow_schema::Field;
    use nuthatch_link::{CollectionOptions, Database, EmbedderChoice, Options, Payload, Value, VectorFieldOptions};

    use super::*;

    /// Of vectors with two components, and a field `title` of three.
    fn info() -> CollectionInfo {
        let db = Database::in_memory(Options { background: false, ..Options::default() }).unwrap();
        let title = VectorFieldOptions { dim: Some(3), ..Default::default() };
        let options = CollectionOptions {
            dim: Some(2),
            embedder: EmbedderChoice::None,
            vectors: [("title".to_string(), title)].into(),
            ..Default::default()
        };
        db.collection("docs", options).unwrap().info().unwrap()
    }

    fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true)))
            .unwrap()
    }

    fn floats(rows: &[Option<&[f32]>], dim: usize) -> ArrayRef {
        vectors::of(nuthatch_link::Element::F32, dim, rows)
    }

    fn read(batch: &RecordBatch) -> Result<Vec<Record>> {
        Layout::of(&batch.schema(), (&info()).into())?.records(batch)
    }

    #[test]
    fn every_column_finds_its_place() {
        let all = batch(vec![
            ("id", Arc::new(Int64Array::from(vec![7, -1]))),
            ("text", Arc::new(StringArray::from(vec![Some("hello"), None]))),
            ("vector", floats(&[Some(&[1.0, 0.0]), None], 2)),
            ("title", floats(&[None, Some(&[0.0, 0.0, 1.0])], 3)),
            ("payload", Arc::new(StringArray::from(vec![Some("{\"a\": [1, null]}"), None]))),
            ("code", Arc::new(BooleanArray::from(vec![Some(true), None]))),
            ("year", Arc::new(Int64Array::from(vec![Some(2024), None]))),
            ("at", Arc::new(TimestampMillisecondArray::from(vec![None, Some(5)]))),
        ]);
        let records = read(&all).unwrap();
        assert_eq!((records[0].id.as_str(), records[1].id.as_str()), ("7", "-1"));
        assert_eq!((records[0].text.as_deref(), records[1].text.as_deref()), (Some("hello"), None));
        assert_eq!((records[0].vector.as_deref(), &records[1].vector), (Some(&[1.0, 0.0][..]), &None));
        assert_eq!(records[1].vectors["title"], VectorValue::Dense(vec![0.0, 0.0, 1.0]));
        assert_eq!(records[0].payload["a"], Value::Array(vec![Value::Int(1), Value::Null]));
        assert_eq!((&records[0].payload["year"], records[0].payload.len()), (&Value::Int(2024), 2));
        assert_eq!(records[1].payload, Payload::from([("at".into(), Value::Datetime(5000))]));
        assert!(records[0].code && !records[1].code);
    }

    #[test]
    fn score_and_query_are_fields_of_the_payload_unless_they_are_of_a_search() {
        let ids = || ("id", Arc::new(StringArray::from(vec!["a"])) as ArrayRef);
        let score = || Arc::new(Int64Array::from(vec![9])) as ArrayRef;
        let records = read(&batch(vec![ids(), ("score", score()), ("query", score())])).unwrap();
        let both = ["query", "score"].map(|name| (name.to_string(), Value::Int(9)));
        assert_eq!(records[0].payload, Payload::from(both));
        let fields =
            [Field::new("id", DataType::Utf8, false), Mark::Search.on(Field::new("score", DataType::Int64, true))];
        let of_search = RecordBatch::try_new(Arc::new(Schema::new(fields.to_vec())), vec![ids().1, score()]).unwrap();
        assert_eq!(read(&of_search).unwrap()[0].payload, Payload::new());
        let error = read(&batch(vec![ids(), ("score", score()), ("payload.score", score())])).unwrap_err().message;
        assert!(error.contains("\"score\" and \"payload.score\""), "{error}");
    }

    #[test]
    fn dates_are_stored_as_they_are_and_nanoseconds_are_not_cut() {
        let ids = || ("id", Arc::new(StringArray::from(vec!["a"])) as ArrayRef);
        let value = |column: ArrayRef| read(&batch(vec![ids(), ("at", column)])).map(|mut read| read.remove(0).payload);
        let at = |micros| Payload::from([("at".to_string(), Value::Datetime(micros))]);
        assert_eq!(value(Arc::new(Date64Array::from(vec![86_400_000]))).unwrap(), at(86_400_000_000));
        assert_eq!(value(Arc::new(Date32Array::from(vec![-1]))).unwrap(), at(-86_400_000_000));
        assert_eq!(value(Arc::new(TimestampNanosecondArray::from(vec![-5000]))).unwrap(), at(-5));
        let refused = value(Arc::new(TimestampNanosecondArray::from(vec![1_234_567]))).unwrap_err().message;
        assert!(refused.contains("\"at\": row 0") && refused.contains("timestamp[us]"), "{refused}");
        let refused = value(Arc::new(DurationSecondArray::from(vec![1]))).unwrap_err().message;
        assert!(refused.contains("timestamps, dates"), "{refused}");
    }

    #[test]
    fn what_does_not_fit_is_refused_with_its_column() {
        let ids = || ("id", Arc::new(StringArray::from(vec!["a"])) as ArrayRef);
        let error = |columns| read(&batch(columns)).unwrap_err().message;
        assert!(error(vec![("text", Arc::new(StringArray::from(vec!["a"])) as ArrayRef)]).contains("no column \"id\""));
        assert!(error(vec![("id", Arc::new(StringArray::from(vec![None::<&str>])) as ArrayRef)]).contains("row 0"));
        assert!(error(vec![ids(), ("vector", floats(&[None], 3))]).contains("3 components"));
        assert!(error(vec![ids(), ("title", floats(&[None], 2))]).contains("have 3"));
        assert!(error(vec![ids(), ("vector", Arc::new(Int64Array::from(vec![1])))]).contains("lists of numbers"));
        assert!(error(vec![ids(), ("text", Arc::new(Int64Array::from(vec![1])))]).contains("strings"));
        assert!(error(vec![ids(), ("n", Arc::new(UInt64Array::from(vec![u64::MAX])))]).contains("64 bits"));
        assert!(error(vec![ids(), ("payload", Arc::new(StringArray::from(vec!["[1]"])))]).contains("JSON object"));
        let twice: ArrayRef = Arc::new(StringArray::from(vec!["{\"n\": 1}"]));
        assert!(
            error(vec![ids(), ("payload", twice), ("n", Arc::new(Int64Array::from(vec![1])))])
                .contains("leave one out")
        );
    }
}
