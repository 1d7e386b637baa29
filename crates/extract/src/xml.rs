//! XML inside of documents: events of bounded depth, entities never expanded, every failure with its place.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// A table inside of a table's cell takes some eight levels; nobody nests twenty of them.
const DEPTH_MAX: usize = 256;

/// Receives the elements of a document. Names come without their prefix: producers choose prefixes as they like.
pub(crate) trait Visit {
    /// An element begins. `false` passes over everything in it, its end included.
    fn open(&mut self, tag: &Tag) -> bool;
    /// An element that was opened ends.
    fn close(&mut self, _name: &str) {}
    /// Characters, references resolved. One run may come in several pieces.
    fn text(&mut self, _text: &str) {}
}

/// A start tag.
pub(crate) struct Tag<'a>(BytesStart<'a>);

impl Tag<'_> {
    pub(crate) fn name(&self) -> &str {
        local(self.0.name().0)
    }

    /// The first attribute of that name, whatever its prefix.
    pub(crate) fn attribute(&self, name: &str) -> Option<Cow<'_, str>> {
        // Their uniqueness is not checked: that takes the square of their number.
        let mut attributes = self.0.attributes();
        let found = attributes.with_checks(false).flatten().find(|attribute| local(attribute.key.0) == name)?;
        let raw = found.value;
        Some(match quick_xml::escape::unescape(&raw) {
            Ok(value) => Cow::Owned(value.into_owned()),
            Err(_) => raw,
        })
    }

    /// Returns the attribute of that name that has a prefix, such as `r:id` next to `id`.
    pub(crate) fn prefixed(&self, name: &str) -> Option<Cow<'_, str>> {
        let mut attributes = self.0.attributes();
        let mut found = attributes.with_checks(false).flatten();
        let is_it = |key: &str| key.contains(':') && local(key) == name;
        found.find(|attribute| is_it(attribute.key.0)).map(|attribute| attribute.value)
    }

    /// The attribute as a number.
    pub(crate) fn number(&self, name: &str) -> Option<u32> {
        self.attribute(name)?.trim().parse().ok()
    }
}

fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

/// Walks `xml`, which `member` names in errors.
pub(crate) fn walk(xml: &str, member: &str, visit: &mut dyn Visit) -> Result<(), String> {
    let mut reader = Reader::from_str(xml);
    let config = reader.config_mut();
    (config.expand_empty_elements, config.allow_dangling_amp) = (true, true);
    let (mut depth, mut passed_over) = (0_usize, None);
    loop {
        let at = reader.buffer_position();
        let broken = |what: String| format!("{member} is no well-formed XML near byte {at}: {what}; save it again");
        match reader.read_event().map_err(|error| broken(error.to_string()))? {
            Event::Start(start) => {
                depth += 1;
                if depth > DEPTH_MAX {
                    return Err(format!("{member} nests more than {DEPTH_MAX} elements; flatten its tables or lists"));
                }
                if passed_over.is_none() && !visit.open(&Tag(start)) {
                    passed_over = Some(depth);
                }
            }
            Event::End(end) => {
                match passed_over {
                    Some(from) if from == depth => passed_over = None,
                    Some(_) => {}
                    None => visit.close(local(end.name().0)),
                }
                depth = depth.saturating_sub(1);
            }
            _ if passed_over.is_some() => {}
            Event::Text(text) => visit.text(&text.xml10_content()),
            Event::CData(text) => visit.text(&text.xml10_content()),
            Event::GeneralRef(reference) => match reference.resolve_char_ref() {
                Ok(Some(char)) => visit.text(char.encode_utf8(&mut [0; 4])),
                _ => visit.text(predefined(&reference)),
            },
            Event::Eof if depth > 0 => return Err(broken("it ends in the middle".to_owned())),
            Event::Eof => return Ok(()),
            _ => {}
        }
    }
}

/// The five entities of XML itself. Entities that a document defines for itself are left out: they could double
/// themselves many times.
fn predefined(name: &str) -> &'static str {
    match name {
        "amp" => "&",
        "lt" => "<",
        "gt" => ">",
        "quot" => "\"",
        "apos" => "'",
        _ => "",
    }
}

/// All characters of the first element `name`, without white space around them.
pub(crate) fn element_text(xml: &str, member: &str, name: &str) -> Result<Option<String>, String> {
    struct Find<'a> {
        name: &'a str,
        inside: usize,
        found: Option<String>,
    }
    impl Visit for Find<'_> {
        fn open(&mut self, tag: &Tag) -> bool {
            if self.inside > 0 {
                self.inside += 1;
            } else if tag.name() == self.name && self.found.is_none() {
                (self.inside, self.found) = (1, Some(String::new()));
            }
            true
        }
        fn close(&mut self, _: &str) {
            self.inside = self.inside.saturating_sub(1);
        }
        fn text(&mut self, text: &str) {
            if let (1.., Some(found)) = (self.inside, &mut self.found) {
                found.push_str(text);
            }
        }
    }
    let mut find = Find { name, inside: 0, found: None };
    walk(xml, member, &mut find)?;
    let found = find.found.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
    Ok(found.filter(|text| !text.is_empty()))
}
