//! Small documents, as programs write them, and how tests read them.

use std::io::{Cursor, Write};
use std::path::Path;

use nuthatch_extract::{Document, ExtractError, PassageOptions, extract};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// An archive of these members.
pub fn pack(members: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in members {
        let method = if *name == "mimetype" { CompressionMethod::Stored } else { CompressionMethod::Deflated };
        archive.start_file(*name, SimpleFileOptions::default().compression_method(method)).unwrap();
        archive.write_all(content.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

pub const TYPES: (&str, &str) = ("[Content_Types].xml", "<Types/>");

/// The relation of a package to what it is about.
pub fn main_is(target: &str) -> String {
    format!(
        "<Relationships><Relationship Id='r1' Type='http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument' Target='{target}'/></Relationships>"
    )
}

/// `(id, last word of the type, target)`.
pub fn relations(of: &[(&str, &str, &str)]) -> String {
    let one = |(id, kind, target): &(&str, &str, &str)| {
        format!("<Relationship Id='{id}' Type='http://x/relationships/{kind}' Target='{target}'/>")
    };
    format!("<Relationships>{}</Relationships>", of.iter().map(one).collect::<String>())
}

pub fn read(name: &str, bytes: &[u8]) -> Document {
    extract(Path::new(name), bytes, &PassageOptions::default()).unwrap()
}

pub fn broken(name: &str, bytes: &[u8]) -> String {
    match extract(Path::new(name), bytes, &PassageOptions::default()) {
        Err(ExtractError::Broken { what, .. }) => what,
        other => panic!("not broken: {other:?}"),
    }
}

/// All of its text.
pub fn text(document: &Document) -> String {
    document.passages.iter().map(|passage| passage.text.as_str()).collect::<Vec<_>>().join("\n\n")
}

pub fn headings(document: &Document) -> Vec<String> {
    document.passages.iter().map(|passage| passage.heading.join(" > ")).collect()
}

pub fn places(document: &Document) -> Vec<&str> {
    document.passages.iter().map(|passage| passage.place.as_deref().unwrap_or_default()).collect()
}

/// Sentences that no passage holds all of, with `word` in each.
pub fn long(word: &str) -> String {
    (0..40).map(|i| format!("Sentence {i} is about {word} and nothing else. ")).collect()
}

/// A word processor's document of this body.
pub fn docx(body: &str) -> Vec<u8> {
    let document = format!("<w:document xmlns:w='w'><w:body>{body}<w:sectPr/></w:body></w:document>");
    let styles = "<w:styles>\
        <w:style w:styleId='berschrift1'><w:name w:val='heading 1'/></w:style>\
        <w:style w:styleId='H2'><w:name w:val='Heading 2'/></w:style>\
        <w:style w:styleId='Own'><w:name w:val='Own'/><w:basedOn w:val='H2'/></w:style>\
        <w:style w:styleId='T'><w:name w:val='Title'/></w:style></w:styles>";
    let beside = relations(&[
        ("r1", "styles", "styles.xml"),
        ("r2", "footnotes", "footnotes.xml"),
        ("r3", "header", "header1.xml"),
        ("r4", "header", "header2.xml"),
    ]);
    let header = "<w:hdr><w:p><w:r><w:t>Confidential letterhead</w:t></w:r></w:p></w:hdr>";
    pack(&[
        TYPES,
        ("_rels/.rels", &main_is("word/document.xml")),
        ("word/document.xml", &document),
        ("word/styles.xml", styles),
        ("word/_rels/document.xml.rels", &beside),
        (
            "word/footnotes.xml",
            "<w:footnotes><w:footnote><w:p><w:r><w:t>A note below.</w:t></w:r></w:p></w:footnote></w:footnotes>",
        ),
        ("word/header1.xml", header),
        ("word/header2.xml", header),
    ])
}

/// A paragraph in a style, or in none.
pub fn paragraph(style: &str, text: &str) -> String {
    let style = if style.is_empty() { String::new() } else { format!("<w:pPr><w:pStyle w:val='{style}'/></w:pPr>") };
    format!("<w:p>{style}<w:r><w:t xml:space='preserve'>{text}</w:t></w:r></w:p>")
}

/// A workbook of one sheet.
pub fn xlsx(name: &str, rows: &str, strings: &[&str]) -> Vec<u8> {
    let strings: String = strings.iter().map(|string| format!("<si><t>{string}</t></si>")).collect();
    let main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    let office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let relation = |id: &str, kind: &str, target: &str| {
        format!("<Relationship Id='{id}' Type='{office}/{kind}' Target='{target}'/>")
    };
    let beside = format!(
        "<Relationships>{}{}{}</Relationships>",
        relation("r1", "worksheet", "worksheets/sheet1.xml"),
        relation("r2", "sharedStrings", "sharedStrings.xml"),
        relation("r3", "styles", "styles.xml")
    );
    pack(&[
        TYPES,
        ("_rels/.rels", &main_is("xl/workbook.xml")),
        (
            "xl/workbook.xml",
            &format!(
                "<workbook xmlns='{main}' xmlns:r='{office}'><sheets><sheet name='{name}' sheetId='1' r:id='r1'/></sheets></workbook>"
            ),
        ),
        ("xl/_rels/workbook.xml.rels", &beside),
        ("xl/sharedStrings.xml", &format!("<sst xmlns='{main}'>{strings}</sst>")),
        (
            "xl/styles.xml",
            &format!(
                "<styleSheet xmlns='{main}'><cellXfs><xf numFmtId='0'/><xf numFmtId='14'/></cellXfs></styleSheet>"
            ),
        ),
        ("xl/worksheets/sheet1.xml", &format!("<worksheet xmlns='{main}'><sheetData>{rows}</sheetData></worksheet>")),
    ])
}

/// Slides: title, text and notes of each. The file's members are in another order than the slides.
pub fn pptx(slides: &[(&str, &str, &str)]) -> Vec<u8> {
    let mut members = Vec::new();
    let (mut order, mut beside) = (String::new(), Vec::new());
    let shape = |kind: &str, text: &str| {
        format!(
            "<p:sp><p:nvSpPr><p:nvPr><p:ph type='{kind}'/></p:nvPr></p:nvSpPr><p:txBody><a:bodyPr/><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"
        )
    };
    for (at, (title, body, notes)) in slides.iter().enumerate() {
        let number = slides.len() - at;
        order.push_str(&format!("<p:sldId id='{}' r:id='r{number}'/>", 256 + at));
        beside.push((format!("r{number}"), format!("slides/slide{number}.xml")));
        let own = relations(&[("r1", "notesSlide", &format!("../notesSlides/notesSlide{number}.xml"))]);
        let slide = [shape("title", title), shape("body", body), shape("sldNum", "99")].concat();
        members.push((format!("ppt/slides/slide{number}.xml"), format!("<p:sld><p:spTree>{slide}</p:spTree></p:sld>")));
        members.push((format!("ppt/slides/_rels/slide{number}.xml.rels"), own));
        let notes = shape("body", notes);
        members.push((format!("ppt/notesSlides/notesSlide{number}.xml"), format!("<p:notes>{notes}</p:notes>")));
    }
    let beside: Vec<_> = beside.iter().map(|(id, target)| (id.as_str(), "slide", target.as_str())).collect();
    let (main, order) = (main_is("ppt/presentation.xml"), format!("<p:presentation>{order}</p:presentation>"));
    let beside = relations(&beside);
    let mut all = vec![TYPES, ("_rels/.rels", &main), ("ppt/presentation.xml", &order)];
    all.push(("ppt/_rels/presentation.xml.rels", &beside));
    all.extend(members.iter().map(|(name, content)| (name.as_str(), content.as_str())));
    pack(&all)
}

/// OpenDocument of a kind: `text`, `presentation`, `spreadsheet`.
pub fn odf(kind: &str, body: &str) -> Vec<u8> {
    pack(&[
        ("mimetype", &format!("application/vnd.oasis.opendocument.{kind}")),
        (
            "meta.xml",
            "<office:document-meta><office:meta><dc:title>A given title</dc:title></office:meta></office:document-meta>",
        ),
        (
            "content.xml",
            &format!(
                "<office:document-content><office:automatic-styles><style:style/></office:automatic-styles><office:body>\
                 <office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
            ),
        ),
    ])
}

/// A book of these chapters, as `(file, XHTML within body)`.
pub fn epub(chapters: &[(&str, &str)]) -> Vec<u8> {
    let items: String = chapters
        .iter()
        .map(|(file, _)| {
            format!("<item id='id {file}' href='{}' media-type='application/xhtml+xml'/>", file.replace(' ', "%20"))
        })
        .collect();
    let spine: String = chapters.iter().map(|(file, _)| format!("<itemref idref='id {file}'/>")).collect();
    let opf = format!(
        "<package><metadata><dc:title>The book</dc:title></metadata><manifest>{items}</manifest><spine>{spine}</spine></package>"
    );
    let files: Vec<(String, String)> = chapters
        .iter()
        .map(|(file, body)| (format!("OEBPS/{file}"), format!("<html><head><title/></head><body>{body}</body></html>")))
        .collect();
    let container = "<container><rootfiles><rootfile full-path='OEBPS/book.opf'/></rootfiles></container>";
    let mut members = vec![
        ("mimetype", "application/epub+zip"),
        ("META-INF/container.xml", container),
        ("OEBPS/book.opf", opf.as_str()),
    ];
    members.extend(files.iter().map(|(name, content)| (name.as_str(), content.as_str())));
    pack(&members)
}
