//! Replies, in the older protocol and the newer.

use std::io::Write;

/// The protocol that a connection speaks. Two until it asks for three.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Protocol {
    #[default]
    Two,
    Three,
}

/// The reply of a command.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reply {
    Simple(&'static str),
    /// With its code: `ERR no such key`.
    Error(String),
    Int(i64),
    Bulk(Vec<u8>),
    Null,
    /// No list, where one was asked for.
    NullArray,
    Array(Vec<Reply>),
    /// In the older protocol an array of keys and values.
    Map(Vec<(Reply, Reply)>),
    /// In the older protocol an array.
    Set(Vec<Reply>),
    /// In the older protocol the digits.
    Double(f64),
    /// In the older protocol 1 or 0.
    Bool(bool),
    /// Text for people; in the older protocol plain bytes.
    Text(String),
}

impl Reply {
    pub const OK: Self = Self::Simple("OK");

    pub fn bulk(bytes: impl Into<Vec<u8>>) -> Self {
        Self::Bulk(bytes.into())
    }

    pub fn bulks<B: Into<Vec<u8>>>(items: impl IntoIterator<Item = B>) -> Self {
        Self::Array(items.into_iter().map(Self::bulk).collect())
    }

    /// Replies with pairs: a list of lists in the newer protocol, one list in the older.
    pub fn pairs(pairs: impl IntoIterator<Item = (Self, Self)>, protocol: Protocol) -> Self {
        let pairs = pairs.into_iter();
        Self::Array(match protocol {
            Protocol::Two => pairs.flat_map(<[Self; 2]>::from).collect(),
            Protocol::Three => pairs.map(|pair| Self::Array(<[Self; 2]>::from(pair).into())).collect(),
        })
    }

    pub fn optional(value: Option<Vec<u8>>) -> Self {
        value.map_or(Self::Null, Self::Bulk)
    }

    pub fn count(count: usize) -> Self {
        Self::Int(count as i64)
    }

    /// Yes or no, as the number that both protocols have for it.
    pub fn flag(yes: bool) -> Self {
        Self::Int(i64::from(yes))
    }

    pub fn write(&self, protocol: Protocol, out: &mut Vec<u8>) {
        let three = protocol == Protocol::Three;
        match self {
            Self::Simple(text) => line(out, b'+', text.as_bytes()),
            // A message is one line, whatever went into it.
            Self::Error(text) => line(out, b'-', text.replace(['\r', '\n'], " ").as_bytes()),
            Self::Int(number) => head(out, b':', *number),
            Self::Bulk(bytes) => blob(out, bytes),
            Self::Null if three => out.extend_from_slice(b"_\r\n"),
            Self::Null => out.extend_from_slice(b"$-1\r\n"),
            Self::NullArray if three => out.extend_from_slice(b"_\r\n"),
            Self::NullArray => out.extend_from_slice(b"*-1\r\n"),
            Self::Array(items) => {
                head(out, b'*', items.len() as i64);
                items.iter().for_each(|item| item.write(protocol, out));
            }
            Self::Set(items) => {
                head(out, if three { b'~' } else { b'*' }, items.len() as i64);
                items.iter().for_each(|item| item.write(protocol, out));
            }
            Self::Map(pairs) => {
                match three {
                    true => head(out, b'%', pairs.len() as i64),
                    false => head(out, b'*', 2 * pairs.len() as i64),
                }
                for (key, value) in pairs {
                    key.write(protocol, out);
                    value.write(protocol, out);
                }
            }
            Self::Double(number) if three => line(out, b',', digits(*number).as_bytes()),
            Self::Double(number) => blob(out, digits(*number).as_bytes()),
            Self::Bool(yes) if three => line(out, b'#', if *yes { b"t" } else { b"f" }),
            Self::Bool(yes) => head(out, b':', i64::from(*yes)),
            Self::Text(text) if three => {
                head(out, b'=', text.len() as i64 + 4);
                out.extend_from_slice(b"txt:");
                out.extend_from_slice(text.as_bytes());
                out.extend_from_slice(b"\r\n");
            }
            Self::Text(text) => blob(out, text.as_bytes()),
        }
    }
}

/// The shortest digits that give a number back.
pub(crate) fn digits(number: f64) -> String {
    match number {
        number if number.is_nan() => "nan".into(),
        number if number.is_infinite() => if number > 0.0 { "inf" } else { "-inf" }.into(),
        number => number.to_string(),
    }
}

fn head(out: &mut Vec<u8>, kind: u8, number: i64) {
    out.push(kind);
    write!(out, "{number}").expect("memory takes every byte");
    out.extend_from_slice(b"\r\n");
}

fn line(out: &mut Vec<u8>, kind: u8, text: &[u8]) {
    out.push(kind);
    out.extend_from_slice(text);
    out.extend_from_slice(b"\r\n");
}

fn blob(out: &mut Vec<u8>, bytes: &[u8]) {
    head(out, b'$', bytes.len() as i64);
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(reply: &Reply) -> (String, String) {
        let written = |protocol| {
            let mut out = Vec::new();
            reply.write(protocol, &mut out);
            String::from_utf8(out).unwrap().replace("\r\n", "~")
        };
        (written(Protocol::Two), written(Protocol::Three))
    }

    #[test]
    fn each_protocol_has_its_own_forms() {
        let pair = |two: &str, three: &str| (two.to_string(), three.to_string());
        assert_eq!(both(&Reply::Null), pair("$-1~", "_~"));
        assert_eq!(both(&Reply::NullArray), pair("*-1~", "_~"));
        assert_eq!(both(&Reply::Double(0.5)), pair("$3~0.5~", ",0.5~"));
        assert_eq!(both(&Reply::Bool(true)), pair(":1~", "#t~"));
        assert_eq!(both(&Reply::Text("hi".into())), pair("$2~hi~", "=6~txt:hi~"));
        assert_eq!(both(&Reply::Set(vec![Reply::Int(1)])), pair("*1~:1~", "~1~:1~"));
        let map = Reply::Map(vec![(Reply::bulk("a"), Reply::Int(1))]);
        assert_eq!(both(&map), pair("*2~$1~a~:1~", "%1~$1~a~:1~"));
        assert_eq!(both(&Reply::Error("ERR a\r\nb".into())).0, "-ERR a  b~");
    }
}
