//! The rules for payloads, checked before one is stored.

use crate::{FilterError, Payload, Value, format_datetime};

/// Longest name of one field (not of a dotted path), in bytes.
pub const FIELD_NAME_BYTES_MAX: usize = 256;
/// Most fields of a payload, those of nested maps counted.
pub const PAYLOAD_FIELDS_MAX: usize = 1024;
/// Arrays and maps inside each other.
pub const VALUE_NESTING_MAX: usize = 16;
/// Largest top-level value with everything in it, in bytes: text as it is, eight for anything else.
pub const VALUE_BYTES_MAX: usize = 1 << 20;

/// Whether the payload can be stored, filtered and given back unchanged.
///
/// # Errors
/// [`FilterError::InvalidPayload`] that names the field: a name that is empty, too long, has a dot (dots address nested
/// maps) or a control character; a float that is not finite; a datetime outside of the years -9999 to 9999; too many
/// fields, too deep or too large a value.
pub fn validate(payload: &Payload) -> Result<(), FilterError> {
    let mut fields = 0;
    for (name, value) in payload {
        let mut walk = Walk { fields: &mut fields, bytes: 0 };
        walk.field("", name, value, 0)?;
    }
    Ok(())
}

struct Walk<'a> {
    fields: &'a mut usize,
    bytes: usize,
}

impl Walk<'_> {
    fn field(&mut self, parent: &str, name: &str, value: &Value, depth: usize) -> Result<(), FilterError> {
        let path = if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") };
        if let Some(reason) = name_fault(name) {
            return Err(fault(&path, reason));
        }
        *self.fields += 1;
        if *self.fields > PAYLOAD_FIELDS_MAX {
            return Err(fault(
                &path,
                format!("a payload has at most {PAYLOAD_FIELDS_MAX} fields, counting nested ones"),
            ));
        }
        self.bytes += name.len();
        self.value(&path, value, depth)
    }

    fn value(&mut self, path: &str, value: &Value, depth: usize) -> Result<(), FilterError> {
        if depth > VALUE_NESTING_MAX {
            return Err(fault(path, format!("arrays and maps nest at most {VALUE_NESTING_MAX} deep")));
        }
        self.bytes += if let Value::Text(text) = value { text.len() } else { 8 };
        if self.bytes > VALUE_BYTES_MAX {
            return Err(fault(
                path,
                format!("a value takes at most {VALUE_BYTES_MAX} bytes; keep long text in the record's text"),
            ));
        }
        match value {
            Value::Float(value) if !value.is_finite() => {
                Err(fault(path, format!("{value} is not a finite number; leave it out or use null")))
            }
            Value::Datetime(micros) if format_datetime(*micros).is_none() => {
                Err(fault(path, format!("{micros} microseconds is outside of the years -9999 to 9999")))
            }
            Value::Array(values) => values.iter().try_for_each(|value| self.value(path, value, depth + 1)),
            Value::Map(map) => map.iter().try_for_each(|(name, value)| self.field(path, name, value, depth + 1)),
            _ => Ok(()),
        }
    }
}

/// Describes the problem with a field's name, if any.
pub(crate) fn name_fault(name: &str) -> Option<String> {
    if name.is_empty() {
        Some("a field's name is empty; give it one".into())
    } else if name.contains('.') {
        Some("a field's name cannot contain a dot; nest a map instead, and filters reach into it with dots".into())
    } else if name.contains(char::is_control) {
        Some(format!("the name {name:?} has a control character"))
    } else if name.len() > FIELD_NAME_BYTES_MAX {
        Some(format!("a field's name has at most {FIELD_NAME_BYTES_MAX} bytes; this one has {}", name.len()))
    } else {
        None
    }
}

fn fault(path: &str, reason: impl Into<String>) -> FilterError {
    // A path can be as long as its sixteen names; an error need not repeat it all.
    let field =
        if path.len() > 200 { format!("{}…", path.chars().take(60).collect::<String>()) } else { path.to_owned() };
    FilterError::InvalidPayload { field, reason: reason.into() }
}
