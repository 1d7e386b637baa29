//! Payloads: the bytes that are stored, and JSON.

use nuthatch_filter::{
    Payload, Schema, datetimes_of, decode, encode, payload_from_json, payload_to_json, payload_with_datetimes, validate,
};

use crate::Run;

/// An input that begins with a bracket is JSON, any other is bytes of the store.
pub fn start() -> Run {
    Box::new(|bytes| {
        let payload = match bytes.first() {
            Some(b'{' | b'[' | b'"') => {
                serde_json::from_slice(bytes).ok().and_then(|json| payload_from_json(json).ok())
            }
            _ => decode(bytes).ok(),
        };
        if let Some(payload) = payload
            && validate(&payload).is_ok()
        {
            comes_back(&payload);
        }
    })
}

fn comes_back(payload: &Payload) {
    let bytes = encode(payload);
    let back = decode(&bytes).expect("it was encoded here");
    assert_eq!(back, *payload);
    assert_eq!(encode(&back), bytes, "bit for bit, where equality is not");
    let json = serde_json::Value::Object(payload_to_json(payload));
    let text = serde_json::to_string(&json).expect("it is JSON");
    let read = serde_json::from_str(&text).expect("JSON of our own");
    let back = payload_with_datetimes(read, &datetimes_of(payload));
    assert_eq!(back.expect("a payload's own JSON, and where its datetimes are, is a payload"), *payload);
}

pub fn schema() -> Run {
    Box::new(|bytes| {
        let Ok(mut schema) = Schema::from_bytes(bytes) else { return };
        let again = Schema::from_bytes(&schema.to_bytes()).expect("it was written here");
        assert_eq!(again, schema);
        assert!(!schema.merge(&again), "it knows what it knows");
        let _known_or_not = nuthatch_filter::parse("a = 1").expect("a filter").check(&schema).is_ok();
    })
}
