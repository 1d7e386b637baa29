//! Flight's messages: Arrow's IPC format, in and out.
//!
//! **Invariant:** bytes of a client that are no Arrow are an error: what the reader would trust is checked here first, and where it
//! panics nevertheless (a buffer whose length is no multiple of its items'), that is an error, too.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_flight::FlightData;
use arrow_ipc::{CompressionType, Message, MessageHeader, convert, reader, root_as_message};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use nuthatch_link::{Error, Result};

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

/// The batch in a later message; `None` for one that carries only metadata.
///
/// # Errors
/// `Invalid` for anything else.
pub fn batch_of(message: &FlightData, schema: &SchemaRef) -> Result<Option<RecordBatch>> {
    if message.data_header.is_empty() {
        return Ok(None);
    }
    let parsed = parse(message)?;
    let batch = match parsed.header_type() {
        MessageHeader::RecordBatch => parsed.header_as_record_batch(),
        MessageHeader::DictionaryBatch => {
            return Err(Error::invalid("dictionary-encoded columns are not read; cast them to strings first"));
        }
        _ => None,
    };
    let batch = batch.ok_or_else(|| Error::invalid("a message of the stream is not a record batch"))?;
    if let Some(compression) = batch.compression() {
        let codec = if compression.codec() == CompressionType::ZSTD { "zstd" } else { "lz4" };
        return Err(Error::invalid(format!("the batch is compressed with {codec}; send it without compression")));
    }
    let body = &message.data_body;
    let ends = batch.buffers().into_iter().flatten().map(|buffer| {
        let (offset, length) = (u64::try_from(buffer.offset()).ok()?, u64::try_from(buffer.length()).ok()?);
        offset.checked_add(length)
    });
    for end in ends {
        if end.is_none_or(|end| end > body.len() as u64) {
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
    // Not copied, except columns that do not begin where the processor wants them to.
    let body = Buffer::from(body.clone());
    let no_dictionaries = HashMap::new();
    read(|| reader::read_record_batch(&body, batch, schema.clone(), &no_dictionaries, None, &parsed.version()))
        .map(Some)
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

    use arrow_array::{Int64Array, StringArray};
    use arrow_flight::utils::batches_to_flight_data;
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
        assert_eq!(batch_of(&message, &Arc::new(schema)).unwrap().unwrap(), batch);
        assert!(schema_of(&message).unwrap_err().message.contains("schema first"));
        assert_eq!(batch_of(&FlightData::default(), &batch.schema()).unwrap(), None);
    }

    #[test]
    fn damaged_messages_are_errors() {
        let batch = batch();
        let schema = batch.schema();
        let [first, whole] = messages(&batch);
        for cut in 0..whole.data_body.len() {
            let message = FlightData { data_body: whole.data_body.slice(..cut), ..whole.clone() };
            // The padding behind the last buffer says nothing.
            if let Err(error) = batch_of(&message, &schema) {
                assert_eq!(error.kind.name(), "invalid");
            }
        }
        for at in 0..whole.data_header.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut header = whole.data_header.to_vec();
                header[at] ^= flip;
                let message = FlightData { data_header: Bytes::from(header), ..whole.clone() };
                if let Err(error) = batch_of(&message, &schema) {
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
                    let _may_not_fit = batch_of(&whole, &Arc::new(other));
                }
            }
        }
    }
}
