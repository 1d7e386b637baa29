//! Names of resources: `nuthatch://collections/notes`, and below it `/files/PATH` and `/records/ID`, and `nuthatch://caches/answers`,
//! percent-encoded.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Characters that RFC 3986 calls unreserved stay as they are.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const PREFIX: &str = "nuthatch://collections/";
const CACHE_PREFIX: &str = "nuthatch://caches/";

/// The resource that a URI names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Named {
    pub collection: String,
    pub inside: Inside,
}

/// Something in a collection.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Inside {
    /// The collection itself.
    Nothing,
    File(String),
    Record(String),
}

impl Named {
    pub fn uri(&self) -> String {
        let collection = encode(&self.collection);
        match &self.inside {
            Inside::Nothing => format!("{PREFIX}{collection}"),
            Inside::File(path) => format!("{PREFIX}{collection}/files/{}", encode(path)),
            Inside::Record(id) => format!("{PREFIX}{collection}/records/{}", encode(id)),
        }
    }

    /// `None` for a URI that names nothing here.
    pub fn parse(uri: &str) -> Option<Self> {
        let mut parts = uri.strip_prefix(PREFIX)?.splitn(3, '/');
        let collection = decode(parts.next()?)?;
        // Slashes of a path may also stand as they are.
        let inside = match (parts.next(), parts.next()) {
            (None, _) => Inside::Nothing,
            (Some("files"), Some(path)) => Inside::File(decode(path)?),
            (Some("records"), Some(id)) => Inside::Record(decode(id)?),
            _ => return None,
        };
        Some(Self { collection, inside })
    }
}

/// The URI of a cache.
pub fn cache_uri(name: &str) -> String {
    format!("{CACHE_PREFIX}{}", encode(name))
}

/// The cache that a URI names.
pub fn cache_of(uri: &str) -> Option<String> {
    let name = uri.strip_prefix(CACHE_PREFIX)?;
    if name.contains('/') { None } else { decode(name) }
}

fn encode(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

fn decode(text: &str) -> Option<String> {
    let text = percent_decode_str(text).decode_utf8().ok()?;
    (!text.is_empty()).then(|| text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back_from_its_uri() {
        for inside in
            [Inside::Nothing, Inside::File("/home/u/ä b/notes #1.md".into()), Inside::Record("100% sure?/x".into())]
        {
            let named = Named { collection: "a/b c".into(), inside };
            assert_eq!(Named::parse(&named.uri()), Some(named));
        }
        let plain = Named::parse("nuthatch://collections/docs/files/a/b.md").unwrap();
        assert_eq!(plain.inside, Inside::File("a/b.md".into()));
    }

    #[test]
    fn a_cache_is_read_back_from_its_uri() {
        assert_eq!(cache_of(&cache_uri("a/b c")).as_deref(), Some("a/b c"));
        for uri in ["nuthatch://caches/", "nuthatch://caches/a/b", "nuthatch://collections/a"] {
            assert_eq!(cache_of(uri), None, "{uri}");
        }
    }

    #[test]
    fn what_names_nothing_is_nothing() {
        for uri in [
            "",
            "file:///a",
            "nuthatch://collections/",
            "nuthatch://collections/a/files",
            "nuthatch://collections/a/files/",
            "nuthatch://collections/a/other/b",
            "nuthatch://collections/%ff",
        ] {
            assert_eq!(Named::parse(uri), None, "{uri}");
        }
    }
}
