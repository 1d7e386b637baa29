//! Server-sent events: the format in which models stream.

use serde_json::Value;

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The kind; empty where none was sent.
    pub name: String,
    /// The lines of data.
    pub data: String,
}

impl Event {
    /// The data as JSON; null where it is none.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or(Value::Null)
    }
}

/// Reads events from the bytes of a stream, in pieces of any size.
#[derive(Debug, Default)]
pub struct Reader {
    line: Vec<u8>,
    name: String,
    data: Option<String>,
}

impl Reader {
    /// Adds the events that are complete with these bytes.
    pub fn feed(&mut self, more: &[u8], events: &mut Vec<Event>) {
        for piece in more.split_inclusive(|byte| *byte == b'\n') {
            match piece.strip_suffix(b"\n") {
                None => self.line.extend_from_slice(piece),
                Some(end) => {
                    self.line.extend_from_slice(end);
                    let line = std::mem::take(&mut self.line);
                    self.take(line.strip_suffix(b"\r").unwrap_or(&line), events);
                }
            }
        }
    }

    fn take(&mut self, line: &[u8], events: &mut Vec<Event>) {
        let line = String::from_utf8_lossy(line);
        if line.is_empty() {
            let name = std::mem::take(&mut self.name);
            events.extend(self.data.take().map(|data| Event { name, data }));
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.name = value.to_string(),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_string()),
            },
            _ => {}
        }
    }
}

/// An event as it is sent.
pub fn spelt(data: &Value, name: &str) -> Vec<u8> {
    spelt_text(&data.to_string(), name)
}

/// The same of data that is no JSON.
pub fn spelt_text(data: &str, name: &str) -> Vec<u8> {
    match name {
        "" => format!("data: {data}\n\n"),
        name => format!("event: {name}\ndata: {data}\n\n"),
    }
    .into_bytes()
}

/// A text in pieces of these lengths, in characters, and what is left over.
pub fn pieces<'t>(text: &'t str, lengths: &[usize]) -> Vec<&'t str> {
    let mut rest = text;
    let mut found = Vec::with_capacity(lengths.len() + 1);
    for length in lengths {
        let end = rest.char_indices().nth(*length).map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(end);
        found.push(piece);
        rest = after;
    }
    found.push(rest);
    found.retain(|piece| !piece.is_empty());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(pieces: &[&[u8]]) -> Vec<Event> {
        let (mut reader, mut events) = (Reader::default(), Vec::new());
        pieces.iter().for_each(|piece| reader.feed(piece, &mut events));
        events
    }

    #[test]
    fn events_are_read_whatever_the_pieces_in_which_they_come() {
        let sent = b"data: {}\n\nevent: end\r\ndata: 1\r\ndata: 2\r\n\r\n: comment\n\nid: 7\ndata\n\n";
        let of = |name: &str, data: &str| Event { name: name.into(), data: data.into() };
        let wanted = [of("", "{}"), of("end", "1\n2"), of("", "")];
        for size in 1..sent.len() {
            assert_eq!(events(&sent.chunks(size).collect::<Vec<_>>()), wanted);
        }
        assert_eq!(events(&[b"data: 1\n"]), [], "an event without its end is none");
    }

    #[test]
    fn a_text_is_cut_where_it_was_cut_before() {
        assert_eq!(pieces("abcdef", &[2, 3]), ["ab", "cde", "f"]);
        assert_eq!(pieces("äöü", &[1, 9]), ["ä", "öü"]);
        assert_eq!(pieces("abc", &[]), ["abc"]);
        assert_eq!(pieces("", &[1]), [""; 0]);
    }
}
