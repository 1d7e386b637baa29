//! Payload bytes for the store: one version byte, then one CBOR map (RFC 8949). A datetime is an integer under the private
//! tag [`DATETIME_TAG`]; everything else is the CBOR kind of the same name. Lossless, also for -0.0 and the extremes of i64.

use minicbor::data::{Tag, Type};
use minicbor::decode::Error as DecodeError;
use minicbor::encode::Error as EncodeError;
use minicbor::{Decoder, Encoder};

use crate::{FilterError, Payload, VALUE_NESTING_MAX, Value};

/// The first byte of every encoded payload.
pub const CODEC_VERSION: u8 = 1;
/// First of the range that RFC 8949 leaves to first come, first served; means microseconds since the epoch here.
const DATETIME_TAG: u64 = 0x4e55_0001;

type Sink = Encoder<Vec<u8>>;
type Written = Result<(), EncodeError<std::convert::Infallible>>;

/// The payload as bytes. A payload that passes [`crate::validate`] comes back equal from [`decode`].
pub fn encode(payload: &Payload) -> Vec<u8> {
    let mut sink = Encoder::new(vec![CODEC_VERSION]);
    match write_map(&mut sink, payload) {
        Ok(()) => sink.into_writer(),
        Err(error) => unreachable!("a vector takes every byte: {error}"),
    }
}

/// The payload that [`encode`] was given.
///
/// # Errors
/// [`FilterError::Decode`] for bytes that are truncated, damaged, of another version, or followed by more bytes.
pub fn decode(bytes: &[u8]) -> Result<Payload, FilterError> {
    let fail = |reason: String| FilterError::Decode { what: "payload", reason };
    let (version, body) = bytes.split_first().ok_or_else(|| fail("it is empty".into()))?;
    if *version != CODEC_VERSION {
        return Err(fail(format!("version {version}, this build reads {CODEC_VERSION}")));
    }
    let mut source = Decoder::new(body);
    let payload = read_map(&mut source, 0).map_err(|error| fail(error.to_string()))?;
    match body.len() - source.position() {
        0 => Ok(payload),
        extra => Err(fail(format!("{extra} bytes follow its end"))),
    }
}

fn write_map(sink: &mut Sink, map: &Payload) -> Written {
    sink.map(map.len() as u64)?;
    for (name, value) in map {
        sink.str(name)?;
        write_value(sink, value)?;
    }
    Ok(())
}

fn write_value(sink: &mut Sink, value: &Value) -> Written {
    match value {
        Value::Null => sink.null()?.ok(),
        Value::Bool(value) => sink.bool(*value)?.ok(),
        Value::Int(value) => sink.i64(*value)?.ok(),
        Value::Float(value) => sink.f64(*value)?.ok(),
        Value::Text(value) => sink.str(value)?.ok(),
        Value::Datetime(micros) => sink.tag(Tag::new(DATETIME_TAG))?.i64(*micros)?.ok(),
        Value::Array(values) => {
            sink.array(values.len() as u64)?;
            values.iter().try_for_each(|value| write_value(sink, value))
        }
        Value::Map(map) => write_map(sink, map),
    }
}

fn read_map(source: &mut Decoder<'_>, depth: usize) -> Result<Payload, DecodeError> {
    let len = source.map()?.ok_or_else(|| DecodeError::message("a map of unstated length"))?;
    // No capacity is reserved from `len`: damaged bytes may state any number.
    let mut map = Payload::new();
    for _ in 0..len {
        let name = source.str()?.to_owned();
        if map.insert(name, read_value(source, depth)?).is_some() {
            return Err(DecodeError::message("a field twice"));
        }
    }
    Ok(map)
}

fn read_value(source: &mut Decoder<'_>, depth: usize) -> Result<Value, DecodeError> {
    if depth > VALUE_NESTING_MAX {
        return Err(DecodeError::message("nested too deep"));
    }
    Ok(match source.datatype()? {
        Type::Null => {
            source.null()?;
            Value::Null
        }
        Type::Bool => Value::Bool(source.bool()?),
        Type::F64 => Value::Float(source.f64()?),
        Type::String => Value::Text(source.str()?.to_owned()),
        Type::Tag => match source.tag()?.as_u64() {
            DATETIME_TAG => Value::Datetime(source.i64()?),
            _ => return Err(DecodeError::message("an unknown tag")),
        },
        Type::Array => {
            let len = source.array()?.ok_or_else(|| DecodeError::message("an array of unstated length"))?;
            let mut values = Vec::new();
            for _ in 0..len {
                values.push(read_value(source, depth + 1)?);
            }
            Value::Array(values)
        }
        Type::Map => Value::Map(read_map(source, depth + 1)?),
        // Integers come in eight widths; anything else fails here with its own message.
        _ => Value::Int(source.i64()?),
    })
}
