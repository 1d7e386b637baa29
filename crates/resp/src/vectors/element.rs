//! Elements of a vector set as ids of records: text as it is, other bytes in hexadecimal behind a mark.

use nuthatch_link::ID_BYTES_MAX;

use crate::failure::{Failure, Outcome};

/// No text that is taken as it is begins with it.
const MARK: char = '\u{1}';

pub(crate) fn id_of(element: &[u8]) -> Outcome<String> {
    let id = match std::str::from_utf8(element) {
        Ok(text) if !text.starts_with(MARK) => text.to_string(),
        _ => {
            let mut id = String::from(MARK);
            element.iter().for_each(|byte| id.push_str(&format!("{byte:02x}")));
            id
        }
    };
    match id.len() {
        1..=ID_BYTES_MAX => Ok(id),
        0 => Err(Failure::error("an element must have at least one byte")),
        bytes => Err(Failure::error(format!("the element has {bytes} bytes; the limit is {ID_BYTES_MAX}"))),
    }
}

pub(crate) fn element_of(id: &str) -> Vec<u8> {
    let bytes = id.strip_prefix(MARK).and_then(|hex| {
        let digits = hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
        digits.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect::<Option<Vec<u8>>>()
    });
    // An id behind a mark that is not ours was written by another face.
    bytes.unwrap_or_else(|| id.as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_come_back() {
        for element in [&b"plain"[..], "größe".as_bytes(), b"\xff\0", b"\x01", b"\x01ab"] {
            assert_eq!(element_of(&id_of(element).unwrap()), element);
        }
        assert!(id_of(b"").is_err() && id_of(&[b'x'; ID_BYTES_MAX + 1]).is_err());
    }
}
