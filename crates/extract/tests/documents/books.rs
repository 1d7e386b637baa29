//! Slides, OpenDocument and books.

use nuthatch_extract::Kind;

use crate::packing::{TYPES, broken, epub, headings, long, main_is, odf, pack, places, pptx, read, relations, text};

#[test]
fn slides_come_in_their_order_with_number_title_and_notes() {
    let bytes = pptx(&[("Opening", "Why we are here.", "Smile."), ("", "Body only.", ""), ("Closing", "Thanks.", "")]);
    let document = read("talk.pptx", &bytes);
    assert_eq!((document.kind, document.title.as_deref()), (Kind::Slides, Some("Opening")));
    let texts: Vec<&str> = document.passages.iter().map(|p| p.text.as_str()).collect();
    assert_eq!(texts, ["Opening\n\nWhy we are here.\n\nSmile.", "Body only.", "Closing\n\nThanks."]);
    assert_eq!(document.passages.iter().map(|p| p.page).collect::<Vec<_>>(), [Some(1), Some(2), Some(3)]);
    assert_eq!(headings(&document), ["Opening", "", "Closing"]);
}

#[test]
fn a_lost_slide_costs_a_warning_and_one_slide_many_times_is_read_once() {
    let slide = "<p:sld><a:p><a:t>Said once.</a:t></a:p></p:sld>";
    let order: String =
        (0..50).map(|_| "<p:sldId r:id='r1'/>".to_owned()).chain(["<p:sldId r:id='r2'/>".into()]).collect();
    let bytes = pack(&[
        TYPES,
        ("_rels/.rels", &main_is("ppt/presentation.xml")),
        ("ppt/presentation.xml", &format!("<p:presentation>{order}</p:presentation>")),
        ("ppt/_rels/presentation.xml.rels", &relations(&[("r1", "slide", "a.xml"), ("r2", "slide", "/ppt/lost.xml")])),
        ("ppt/a.xml", slide),
    ]);
    let document = read("a.pptx", &bytes);
    assert_eq!(text(&document), "Said once.");
    assert_eq!(document.warnings.len(), 1);
    assert!(
        document.warnings[0].contains("slide 51") && document.warnings[0].contains("ppt/lost.xml"),
        "{:?}",
        document.warnings
    );
}

#[test]
fn open_text_has_headings_tables_and_notes_but_no_deleted_text() {
    let body = format!(
        "<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes><text:h text:outline-level='1'>Top</text:h>\
         <text:p>Two<text:s text:c='3'/>words<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Below.</text:p>\
         </text:note-body></text:note></text:p><text:h text:outline-level='2'>Sub</text:h><text:p>{}</text:p>\
         <table:table><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell><text:p>b</text:p>\
         </table:table-cell></table:table-row></table:table>",
        long("alpha")
    );
    let document = read("a.odt", &odf("text", &body));
    assert_eq!((document.kind, document.title.as_deref()), (Kind::Document, Some("A given title")));
    let found = text(&document);
    assert!(found.starts_with("Top\n\nTwo words\n\nBelow."), "{found}");
    assert!(found.ends_with("a | b") && !found.contains("deleted"), "{found}");
    assert_eq!(headings(&document).last().unwrap(), "Top > Sub");
}

#[test]
fn open_slides_have_numbers_and_titles() {
    let slide = |title: &str, body: &str| {
        format!(
            "<draw:page><draw:frame presentation:class='title'><draw:text-box><text:p>{title}</text:p></draw:text-box></draw:frame>\
             <draw:frame><draw:text-box><text:p>{body}</text:p></draw:text-box></draw:frame></draw:page>"
        )
    };
    let body = [slide("One", "first"), slide("", ""), slide("Three", "third")].concat();
    let document = read("a.odp", &odf("presentation", &body));
    assert_eq!(headings(&document), ["One", "Three"]);
    assert_eq!(document.passages.iter().map(|p| p.page).collect::<Vec<_>>(), [Some(1), Some(3)]);
}

#[test]
fn open_sheets_count_repeated_rows_and_columns() {
    let cell =
        |text: &str| format!("<table:table-cell office:value-type='string'><text:p>{text}</text:p></table:table-cell>");
    let gap = "<table:table-cell table:number-columns-repeated='2'/>";
    let body = format!(
        "<table:table table:name='Stock'><table:table-row>{}{}</table:table-row>\
         <table:table-row table:number-rows-repeated='1000000'><table:table-cell table:number-columns-repeated='16384'/></table:table-row>\
         <table:table-row>{}{gap}{}</table:table-row></table:table><table:table table:name='Empty'/>",
        cell("Name"),
        cell("Size"),
        cell("bolt"),
        cell("M4")
    );
    let document = read("a.ods", &odf("spreadsheet", &body));
    assert_eq!(text(&document), "Name | Size\nbolt | | | M4");
    assert_eq!(headings(&document), ["Stock > Name | Size"]);
    assert_eq!(places(&document), ["Stock!A1:D1000002"]);
}

#[test]
fn chapters_come_in_reading_order_under_their_headings() {
    let first = format!("<h1>Chapter one</h1><p>{}</p>", long("alpha"));
    let bytes =
        epub(&[("ch 2.xhtml", first.as_str()), ("ch1.xhtml", "<h1>Chapter two</h1><p>The caf&#233; closes.</p>")]);
    let document = read("a.epub", &bytes);
    assert_eq!((document.kind, document.title.as_deref()), (Kind::Book, Some("The book")));
    assert_eq!(headings(&document).first().unwrap(), "Chapter one");
    assert_eq!(headings(&document).last().unwrap(), "Chapter two");
    assert_eq!(places(&document).last().unwrap(), &"section 2");
    assert!(text(&document).ends_with("Chapter two\n\nThe café closes."));
}

#[test]
fn locked_books_and_encrypted_texts_say_what_to_do() {
    let container = "<container><rootfiles><rootfile full-path='b.opf'/></rootfiles></container>";
    let opf = "<package><manifest><item id='a' href='a.xhtml' media-type='application/xhtml+xml'/></manifest><spine><itemref idref='a'/></spine></package>";
    let book = |locked: &str| {
        pack(&[
            ("mimetype", "application/epub+zip"),
            ("META-INF/container.xml", container),
            ("META-INF/encryption.xml", &format!("<encryption><CipherReference URI='{locked}'/></encryption>")),
            ("b.opf", opf),
            ("a.xhtml", "<p>Open.</p>"),
        ])
    };
    assert!(broken("a.epub", &book("a.xhtml")).contains("add a copy without a lock"));
    assert_eq!(text(&read("a.epub", &book("fonts/serif.otf"))), "Open.");
    let locked = pack(&[
        ("mimetype", "application/vnd.oasis.opendocument.text"),
        ("META-INF/manifest.xml", "<manifest><encryption-data/></manifest>"),
        ("content.xml", "noise"),
    ]);
    assert!(broken("a.odt", &locked).contains("save a copy without a password"));
}
