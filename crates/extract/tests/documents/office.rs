use nuthatch_extract::Kind;

use crate::packing::{broken, docx, headings, long, paragraph, read, text};

#[test]
fn headings_come_from_styles_whatever_their_id() {
    let body = [
        paragraph("T", "The plan"),
        paragraph("berschrift1", "First part"),
        paragraph("", &long("alpha")),
        paragraph("Own", "A section"),
        paragraph("", &long("beta")),
        "<w:p><w:pPr><w:outlineLvl w:val='0'/></w:pPr><w:r><w:t>Second part</w:t></w:r></w:p>".to_owned(),
        paragraph("", &long("gamma")),
    ];
    let document = read("plan.docx", &docx(&body.concat()));
    assert_eq!((document.kind, document.lang.as_deref()), (Kind::Document, Some("docx")));
    assert_eq!(document.title.as_deref(), Some("The plan"));
    let mut seen = headings(&document);
    seen.dedup();
    assert_eq!(seen[..3], ["The plan > First part", "The plan > First part > A section", "The plan > Second part"]);
    let under = |word: &str| document.passages.iter().find(|p| p.text.contains(word)).unwrap().heading.join(" > ");
    assert_eq!(under("about beta"), "The plan > First part > A section");
}

#[test]
fn runs_of_a_word_stay_together_and_deleted_text_stays_out() {
    let body = "<w:p><w:pPr><w:tabs><w:tab w:pos='1'/></w:tabs></w:pPr><w:r><w:t>King</w:t></w:r><w:r><w:rPr><w:b/></w:rPr>\
        <w:t>fisher </w:t></w:r><w:del><w:r><w:delText>deleted</w:delText></w:r></w:del><w:ins><w:r><w:t>dives &amp; waits</w:t>\
        <w:tab/><w:t>here</w:t></w:r></w:ins><w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom><w:r><w:instrText>PAGE</w:instrText></w:r></w:p>";
    assert!(text(&read("a.docx", &docx(body))).starts_with("Kingfisher dives & waits here\n\n"));
}

#[test]
fn tables_are_rows_of_cells() {
    let cell = |text: &str| format!("<w:tc><w:tcPr/>{}</w:tc>", paragraph("", text));
    let row = |cells: &[&str]| format!("<w:tr>{}</w:tr>", cells.iter().map(|c| cell(c)).collect::<String>());
    let body = format!(
        "{}<w:tbl>{}{}</w:tbl>{}",
        paragraph("", "Before."),
        row(&["Name", "Price"]),
        row(&["Bolt", "3"]),
        paragraph("", "After.")
    );
    assert!(text(&read("a.docx", &docx(&body))).starts_with("Before.\n\nName | Price\nBolt | 3\n\nAfter."));
}

#[test]
fn text_boxes_are_read_once() {
    let box_ = |word: &str| format!("<w:txbxContent>{}</w:txbxContent>", paragraph("", word));
    let body = format!(
        "<w:p><w:r><w:t>outside</w:t><mc:AlternateContent><mc:Choice>{0}</mc:Choice><mc:Fallback>{0}</mc:Fallback></mc:AlternateContent></w:r></w:p>",
        box_("inside")
    );
    let found = text(&read("a.docx", &docx(&body)));
    assert!(found.starts_with("outside\n\ninside\n\n"), "{found}");
    assert_eq!(found.matches("inside").count(), 1);
}

#[test]
fn notes_and_one_of_equal_headers_follow_the_body() {
    let found = text(&read("a.docx", &docx(&paragraph("", "Body."))));
    assert_eq!(found, "Body.\n\nA note below.\n\nConfidential letterhead");
}

#[test]
fn content_tells_the_format_whatever_the_name() {
    let bytes = docx(&paragraph("", "Hello."));
    for name in ["download", "a.txt", "a.xlsx", "a.zip"] {
        assert_eq!(read(name, &bytes).lang.as_deref(), Some("docx"), "{name}");
    }
    assert!(broken("a.docx", b"PK\x03\x04\x14\0\0\0").contains("copy or save the file again"));
    assert!(broken("a.docx", &[0xE9; 40]).contains("no .docx document"));
}
