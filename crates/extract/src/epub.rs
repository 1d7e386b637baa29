//! Electronic books: the chapters in reading order, each read as HTML.

use std::collections::{HashMap, HashSet};

use percent_encoding::percent_decode_str;

use crate::html;
use crate::ooxml::resolve;
use crate::package::Package;
use crate::part::{Part, Place};
use crate::read::Read;
use crate::xml::{Tag, Visit, element_text, walk};

const CONTAINER: &str = "META-INF/container.xml";
const ENCRYPTION: &str = "META-INF/encryption.xml";

pub(crate) fn read(package: &mut Package) -> Result<Read, String> {
    let mut root = Root(None);
    walk(&package.text(CONTAINER)?, CONTAINER, &mut root)?;
    let opf = root.0.ok_or_else(|| format!("{CONTAINER} names no book; get the book again"))?;
    let description = package.text(&opf)?;
    let mut book = Book::default();
    walk(&description, &opf, &mut book)?;
    let locked = package.optional_text(ENCRYPTION)?.unwrap_or_default();
    let folder = opf.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut read = Read { title: element_text(&description, &opf, "title")?, ..Read::default() };
    for (number, id) in (1_u32..).zip(&book.spine) {
        let Some(href) = book.items.get(id) else { continue };
        let member = resolve(folder, &percent_decode_str(href).decode_utf8_lossy());
        // Fonts are scrambled in books that everyone may read; only chapters matter.
        if locked.contains(member.as_str()) {
            return Err("it is locked by its shop (DRM); add a copy without a lock".to_owned());
        }
        match chapter(package, &member) {
            Ok(mut part) => {
                part.place = Place::Named(format!("section {number}"));
                read.add(part)?;
            }
            Err(what) => read.warnings.push(format!("section {number} is left out: {what}")),
        }
    }
    read.unless_lost("chapter")
}

fn chapter(package: &mut Package, member: &str) -> Result<Part, String> {
    let source = package.text(member)?;
    let (_, part) = html::part(&without_empty_raw_elements(&source));
    Ok(part)
}

/// In XHTML `<title/>` is a whole element. As HTML it begins one, and everything behind it would be its text.
fn without_empty_raw_elements(source: &str) -> String {
    let mut rest = source;
    let mut out = String::with_capacity(source.len());
    while let Some(at) = memchr::memchr(b'<', rest.as_bytes()) {
        let (before, tag) = rest.split_at(at);
        out.push_str(before);
        let raw = ["title", "script", "style", "textarea", "iframe"].iter().any(|name| {
            let name_end = tag.get(1..=name.len()).filter(|found| found.eq_ignore_ascii_case(name));
            name_end.is_some() && !tag.as_bytes().get(name.len() + 1).is_none_or(u8::is_ascii_alphanumeric)
        });
        let end = if raw { memchr::memchr(b'>', tag.as_bytes()).map_or(tag.len(), |end| end + 1) } else { 1 };
        let (tag, after) = tag.split_at(end);
        if !(raw && tag.ends_with("/>")) {
            out.push_str(tag);
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The path of the book's description.
struct Root(Option<String>);

impl Visit for Root {
    fn open(&mut self, tag: &Tag) -> bool {
        if tag.name() == "rootfile" && self.0.is_none() {
            self.0 = tag.attribute("full-path").map(|path| path.into_owned());
        }
        true
    }
}

/// Members by their id, and the ids in reading order.
#[derive(Default)]
struct Book {
    items: HashMap<String, String>,
    spine: Vec<String>,
    listed: HashSet<String>,
}

impl Visit for Book {
    fn open(&mut self, tag: &Tag) -> bool {
        let attribute = |name| tag.attribute(name).unwrap_or_default().into_owned();
        match tag.name() {
            "item" if attribute("media-type").contains("html") => {
                self.items.insert(attribute("id"), attribute("href"));
            }
            // A chapter that is listed twice is read once.
            "itemref" if self.listed.insert(attribute("idref")) => self.spine.push(attribute("idref")),
            _ => {}
        }
        true
    }
}
