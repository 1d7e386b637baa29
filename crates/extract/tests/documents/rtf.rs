use nuthatch_extract::{Document, Kind};

use crate::packing::{broken, headings, long, read, text};

const STYLES: &str = r"{\stylesheet{\ql Normal;}{\s1\ql\outlinelevel0 heading 1;}{\s2\sbasedon1 Heading 2;}{\s3\outlinelevel1 Abschnitt;}{\s15 Title;}{\*\cs10 Default;}}";

fn rtf(body: &str) -> Document {
    read("a.rtf", format!(r"{{\rtf1\ansi\ansicpg1252\deff0{{\fonttbl{{\f0\froman Times;}}{{\f1\fcharset204 Arial Cyr;}}{{\f2\fcharset128 MS Mincho;}}}}{{\colortbl;\red255\green0\blue0;}}{STYLES}{body}}}").as_bytes())
}

#[test]
fn headings_come_from_styles_and_outline_levels() {
    let paragraph = |how: &str, text: &str| format!("\\pard{how} {text}\\par\r\n");
    let body = [
        paragraph(r"\s15", "The plan"),
        paragraph(r"\s1", "First part"),
        paragraph("", &long("alpha")),
        paragraph(r"\s2", "A {\\b section}"),
        paragraph("", &long("beta")),
        paragraph(r"\outlinelevel0", "Second part"),
        paragraph("", &long("gamma")),
        paragraph(r"\s3", "Its own"),
        paragraph("", &long("delta")),
    ];
    let document = rtf(&body.concat());
    assert_eq!((document.kind, document.lang.as_deref()), (Kind::Document, Some("rtf")));
    assert_eq!(document.title.as_deref(), Some("The plan"));
    let under = |word: &str| {
        let at = document.passages.iter().position(|passage| passage.text.contains(word)).unwrap();
        headings(&document)[at].clone()
    };
    assert_eq!(under("about alpha"), "The plan > First part");
    assert_eq!(under("about beta"), "The plan > First part > A section");
    assert_eq!(under("about gamma"), "The plan > Second part");
    assert_eq!(under("about delta"), "The plan > Second part > Its own");
}

#[test]
fn characters_come_from_unicode_encodings_of_fonts_and_words() {
    let read = |body: &str| text(&rtf(body));
    assert_eq!(read(r"caf\'e9 {\f1 \'cc\'e8\'f0} {\f2 \'93\'8c\'8b\'9e} \'e9"), "café Мир 東京 é");
    assert_eq!(read(r"\uc1 na\u239?ve {\uc2\u1052\'cc?\u1080\'e8?} \u-10179?\u-8998?."), "naïve Ми 📚.");
    assert_eq!(read(r"\u1052\b\u1080\par {\uc0\u1052\u1080} {\upr{old}{\*\ud{new}}}"), "Ми\n\nМи old");
    assert_eq!(
        read(r"\ldblquote so\rdblquote\~it\rquote s super\-cali\_x \emdash\{\}\\"),
        "“so” it’s supercali‑x —{}\\"
    );
    assert_eq!(read(r"Ki{\b ng}{\i fisher}\line dives"), "Kingfisher\ndives");
}

#[test]
fn what_people_do_not_see_stays_out() {
    let body = r"Seen{\v hidden}{\*\bkmkstart mark}{\pict\wmetafile8 0102ab}{\field{\*\fldinst HYPERLINK x}{\fldrslt  link}}
{\header letterhead}{\*\generator Word}{\pict\bin5 }}{{\}{\deleted gone}{\footnote  A note.}\par";
    assert_eq!(text(&rtf(body)), "Seen link A note.");
}

#[test]
fn tables_are_rows_of_cells() {
    let row = |cells: &[&str]| {
        let cells: String = cells.iter().map(|cell| format!("{cell}\\cell ")).collect();
        format!(r"\trowd\cellx1\cellx2\pard\intbl {cells}\row ")
    };
    let body = format!(r"Before.\par {}{}\pard After.\par", row(&["Name", r"Price\par each"]), row(&["Bolt", "3"]));
    assert_eq!(text(&rtf(&body)), "Before.\n\nName | Price each\nBolt | 3\n\nAfter.");
}

#[test]
fn the_title_is_that_of_the_properties_whatever_the_name() {
    let bytes = br"{\rtf1{\info{\author Ann}{\title Nest {\i boxes}}{\subject x}}Text.}";
    for name in ["a.rtf", "a.doc", "a"] {
        let document = read(name, bytes);
        assert_eq!((document.title.as_deref(), text(&document).as_str()), (Some("Nest boxes"), "Text."), "{name}");
    }
}

#[test]
fn damage_is_named_and_bounded() {
    let cut = read("a.rtf", br"{\rtf1{\b Half of");
    assert_eq!((text(&cut).as_str(), cut.warnings[0].as_str()), ("Half of", "it ends in the middle; copy it again"));
    let deep = format!("{{\\rtf1{}", "{".repeat(1 << 20));
    assert!(broken("a.rtf", deep.as_bytes()).contains("nests more than 512 groups; open it and save it again"));
    for unit in [r"\'", r"\'\'", r"\u", r"\bin9999999999 ", "}", r"\f9\'ff", "{\\stylesheet heading 1;}"] {
        let _either_is_fine = nuthatch_extract::extract(
            "a.rtf".as_ref(),
            format!("{{\\rtf1 {}", unit.repeat((1 << 20) / unit.len())).as_bytes(),
            &Default::default(),
        );
    }
}
