//! Flight's messages: Arrow's IPC format, in and out.
//!
//! **Invariant:** bytes of a client that are no Arrow are an error: what the reader would trust is checked here first, and where it
//! panics nevertheless (a buffer whose length is no multiple of its items'), that is an error, too.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::builder::LargeStringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{AnyDictionaryArray, Array, ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_flight::FlightData;
use arrow_ipc::{CompressionType, Message, convert, reader, root_as_message};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use nuthatch_link::{Error, Result};
use parking_lot::Mutex;

use crate::columns::Strings;

/// The schema in the first message of a stream.
///
/// # Errors
/// `Invalid` for anything else.
pub fn schema_of(message: &FlightData) -> Result<Schema> {
    let parsed = parse(message)?;
    let schema = parsed.header_as_schema().ok_or_else(|| {
        Error::invalid("the stream does not begin with a schema; write the schema first, as every Flight client does")
    })?;
    if schema.fields().is_none() {
        return Err(Error::invalid("the schema has no fields"));
    }
    read(|| convert::try_fb_to_schema(schema))
}

/// Reads the messages behind a schema.
pub struct Reader {
    schema: SchemaRef,
    /// The schema of the batches: strings in place of their dictionaries; the same schema where there are none.
    plain: SchemaRef,
    dictionaries: Mutex<HashMap<i64, ArrayRef>>,
}

/// Bytes that the dictionaries of a stream may take.
const DICTIONARIES_BYTES_MAX: usize = 8 << 20;
/// Bytes that the strings of a batch may take that a dictionary stands for.
const EXPANDED_BYTES_MAX: usize = 16 << 20;

impl Reader {
    pub fn new(schema: SchemaRef) -> Self {
        let of_strings =
            |field: &Field| matches!(field.data_type(), DataType::Dictionary(_, values) if Strings::is_type(values));
        let plain = match schema.fields().iter().any(|field| of_strings(field)) {
            false => schema.clone(),
            true => {
                let plain = schema.fields().iter().map(|field| match of_strings(field) {
                    true => field.as_ref().clone().with_data_type(DataType::LargeUtf8),
                    false => field.as_ref().clone(),
                });
                Arc::new(Schema::new(plain.collect::<Vec<_>>()))
            }
        };
        Self { schema, plain, dictionaries: Mutex::default() }
    }

    /// Of the batches.
    pub fn plain_schema(&self) -> &SchemaRef {
        &self.plain
    }

    /// The batch in a later message; `None` for one that carries only metadata, or a dictionary.
    ///
    /// # Errors
    /// `Invalid` for anything else.
    pub fn batch(&self, message: &FlightData) -> Result<Option<RecordBatch>> {
        if message.data_header.is_empty() {
            return Ok(None);
        }
        let parsed = parse(message)?;
        // Not copied, except columns that do not begin where the processor wants them to.
        let body = Buffer::from(message.data_body.clone());
        if let Some(dictionary) = parsed.header_as_dictionary_batch() {
            check(dictionary.data().ok_or_else(|| Error::invalid("a dictionary has no values"))?, body.len())?;
            let mut dictionaries = self.dictionaries.lock();
            let (schema, version) = (&self.schema, parsed.version());
            read(|| reader::read_dictionary(&body, dictionary, schema, &mut dictionaries, &version))?;
            let bytes: usize = dictionaries.values().map(|values| values.get_buffer_memory_size()).sum();
            return match bytes <= DICTIONARIES_BYTES_MAX {
                true => Ok(None),
                false => Err(Error::invalid(format!(
                    "the dictionaries take {bytes} bytes, and may take {DICTIONARIES_BYTES_MAX}; cast the columns to strings"
                ))),
            };
        }
        let batch = parsed.header_as_record_batch();
        let batch = batch.ok_or_else(|| Error::invalid("a message of the stream is not a record batch"))?;
        check(batch, body.len())?;
        let dictionaries = self.dictionaries.lock();
        let (schema, version) = (self.schema.clone(), parsed.version());
        let batch = read(|| reader::read_record_batch(&body, batch, schema, &dictionaries, None, &version))?;
        drop(dictionaries);
        self.without_dictionaries(batch).map(Some)
    }

    fn without_dictionaries(&self, batch: RecordBatch) -> Result<RecordBatch> {
        if Arc::ptr_eq(&self.schema, &self.plain) {
            return Ok(batch);
        }
        let mut room = EXPANDED_BYTES_MAX;
        let columns = batch.columns().iter().zip(self.plain.fields());
        let columns = columns.map(|(column, field)| match column.as_any_dictionary_opt() {
            Some(encoded) if *field.data_type() == DataType::LargeUtf8 => expanded(field.name(), encoded, &mut room),
            _ => Ok(column.clone()),
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        read(|| RecordBatch::try_new(self.plain.clone(), columns))
    }
}

/// The strings that a dictionary stands for.
fn expanded(name: &str, encoded: &dyn AnyDictionaryArray, room: &mut usize) -> Result<ArrayRef> {
    let keys = encoded.normalized_keys();
    let values =
        Strings::of(encoded.values()).ok_or_else(|| Error::invalid(format!("column {name:?} has no strings")))?;
    let string = |row: usize| encoded.is_valid(row).then(|| values.get(keys[row])).flatten();
    let mut strings = LargeStringBuilder::with_capacity(keys.len(), 0);
    for row in 0..keys.len() {
        let string = string(row);
        *room = room.checked_sub(string.map_or(0, str::len)).ok_or_else(|| {
            Error::invalid(format!(
                "the strings of the batch take over {EXPANDED_BYTES_MAX} bytes without their dictionaries; send fewer rows at a time"
            ))
        })?;
        strings.append_option(string);
    }
    Ok(Arc::new(strings.finish()))
}

/// Whether a batch's buffers and counts are what they can be; what the reader would trust.
fn check(batch: arrow_ipc::RecordBatch<'_>, body_bytes: usize) -> Result<()> {
    if let Some(compression) = batch.compression() {
        let codec = if compression.codec() == CompressionType::ZSTD { "zstd" } else { "lz4" };
        return Err(Error::invalid(format!("the batch is compressed with {codec}; send it without compression")));
    }
    let ends = batch.buffers().into_iter().flatten().map(|buffer| {
        let (offset, length) = (u64::try_from(buffer.offset()).ok()?, u64::try_from(buffer.length()).ok()?);
        offset.checked_add(length)
    });
    for end in ends {
        if end.is_none_or(|end| end > body_bytes as u64) {
            return Err(Error::invalid("a buffer of the batch is not in its message"));
        }
    }
    let is_count = |count: i64| (0..=i64::from(i32::MAX)).contains(&count);
    let nodes = batch.nodes().into_iter().flatten();
    if !is_count(batch.length())
        || nodes.into_iter().any(|node| !is_count(node.length()) || !is_count(node.null_count()))
    {
        return Err(Error::invalid("a count of the batch is out of range"));
    }
    Ok(())
}

fn parse(message: &FlightData) -> Result<Message<'_>> {
    root_as_message(&message.data_header)
        .map_err(|error| Error::invalid(format!("a message of the stream is not an Arrow IPC message: {error}")))
}

/// Nothing of what was being read outlives a panic.
fn read<T>(reader: impl FnOnce() -> std::result::Result<T, ArrowError>) -> Result<T> {
    let no_arrow = |why: &dyn std::fmt::Display| Error::invalid(format!("the message cannot be read as Arrow: {why}"));
    match catch_unwind(AssertUnwindSafe(reader)) {
        Ok(read) => read.map_err(|error| no_arrow(&error)),
        Err(_) => Err(no_arrow(&"its buffers do not fit its schema")),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::Int8Type;
    use arrow_array::{DictionaryArray, Int64Array, LargeStringArray, StringArray};
    use arrow_flight::utils::batches_to_flight_data;
    use arrow_ipc::writer::{DictionaryTracker, IpcDataGenerator, IpcWriteContext, IpcWriteOptions};
    use arrow_schema::{DataType, Field};
    use prost::bytes::Bytes;

    use super::*;

    fn batch() -> RecordBatch {
        let schema = Schema::new(vec![Field::new("id", DataType::Utf8, false), Field::new("n", DataType::Int64, true)]);
        let ids = StringArray::from(vec!["a", "bc", ""]);
        let numbers = Int64Array::from(vec![Some(1), None, Some(-3)]);
        RecordBatch::try_new(Arc::new(schema), vec![Arc::new(ids), Arc::new(numbers)]).unwrap()
    }

    /// Its schema's message and its own, as a client sends them.
    fn messages(batch: &RecordBatch) -> [FlightData; 2] {
        batches_to_flight_data(&batch.schema(), [batch]).unwrap().try_into().unwrap()
    }

    #[test]
    fn a_batch_comes_back_as_it_was_written() {
        let batch = batch();
        let [first, message] = messages(&batch);
        let schema = schema_of(&first).unwrap();
        assert_eq!(&schema, &*batch.schema());
        assert_eq!(Reader::new(Arc::new(schema)).batch(&message).unwrap().unwrap(), batch);
        assert!(schema_of(&message).unwrap_err().message.contains("schema first"));
        assert_eq!(Reader::new(batch.schema()).batch(&FlightData::default()).unwrap(), None);
    }

    /// Its schema's message, that of its dictionary and its own.
    fn with_dictionary(batch: &RecordBatch) -> [FlightData; 3] {
        let (options, data) = (IpcWriteOptions::default(), IpcDataGenerator::default());
        let (mut tracker, mut context) = (DictionaryTracker::new(false), IpcWriteContext::default());
        let schema = data.schema_to_bytes_with_dictionary_tracker(&batch.schema(), &mut tracker, &options);
        let (dictionaries, batch) = data.encode(batch, &mut tracker, &options, &mut context).unwrap();
        let all = std::iter::once(schema).chain(dictionaries).chain([batch]);
        all.map(FlightData::from).collect::<Vec<_>>().try_into().unwrap()
    }

    #[test]
    fn strings_of_dictionaries_come_back_and_take_bounded_room() {
        let colours = DictionaryArray::<Int8Type>::from_iter([Some("red"), None, Some("blue"), Some("red")]);
        let of = |column: ArrayRef| RecordBatch::try_from_iter([("colour", column)]).unwrap();
        let [first, dictionary, batch] = with_dictionary(&of(Arc::new(colours)));
        let reader = Reader::new(Arc::new(schema_of(&first).unwrap()));
        assert!(reader.batch(&batch).is_err(), "a batch before its dictionary");
        assert_eq!(reader.batch(&dictionary).unwrap(), None);
        let read = reader.batch(&batch).unwrap().unwrap();
        let wanted = LargeStringArray::from(vec![Some("red"), None, Some("blue"), Some("red")]);
        assert_eq!(read.column(0).as_string::<i64>(), &wanted);
        assert_eq!(&read.schema(), reader.plain_schema());
        // Some kilobytes of a message that stand for more than a server may have.
        let long = "x".repeat(1 << 20);
        let many = DictionaryArray::<Int8Type>::from_iter(std::iter::repeat_n(Some(long.as_str()), 100));
        let [first, dictionary, batch] = with_dictionary(&of(Arc::new(many)));
        let reader = Reader::new(Arc::new(schema_of(&first).unwrap()));
        assert_eq!(reader.batch(&dictionary).unwrap(), None);
        assert!(reader.batch(&batch).unwrap_err().message.contains("send fewer rows"));
        let large = "x".repeat(DICTIONARIES_BYTES_MAX + 1);
        let large = DictionaryArray::<Int8Type>::from_iter([Some(large.as_str())]);
        let [first, dictionary, _] = with_dictionary(&of(Arc::new(large)));
        let reader = Reader::new(Arc::new(schema_of(&first).unwrap()));
        assert!(reader.batch(&dictionary).unwrap_err().message.contains("cast the columns to strings"));
        for at in 0..dictionary.data_header.len() {
            let mut header = dictionary.data_header.to_vec();
            header[at] ^= 0xff;
            let message = FlightData { data_header: Bytes::from(header), ..dictionary.clone() };
            let _may_be_read = reader.batch(&message);
        }
    }

    #[test]
    fn damaged_messages_are_errors() {
        let batch = batch();
        let schema = batch.schema();
        let [first, whole] = messages(&batch);
        for cut in 0..whole.data_body.len() {
            let message = FlightData { data_body: whole.data_body.slice(..cut), ..whole.clone() };
            // The padding behind the last buffer says nothing.
            if let Err(error) = Reader::new(schema.clone()).batch(&message) {
                assert_eq!(error.kind.name(), "invalid");
            }
        }
        for at in 0..whole.data_header.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut header = whole.data_header.to_vec();
                header[at] ^= flip;
                let message = FlightData { data_header: Bytes::from(header), ..whole.clone() };
                if let Err(error) = Reader::new(schema.clone()).batch(&message) {
                    assert_eq!(error.kind.name(), "invalid");
                }
                let _is_no_schema = schema_of(&message);
            }
        }
        for at in 0..first.data_header.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut header = first.data_header.to_vec();
                header[at] ^= flip;
                let message = FlightData { data_header: Bytes::from(header), ..first.clone() };
                if let Ok(other) = schema_of(&message) {
                    let _may_not_fit = Reader::new(Arc::new(other)).batch(&whole);
                }
            }
        }
    }
}
