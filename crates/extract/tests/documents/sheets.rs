use nuthatch_extract::Kind;

use crate::packing::{headings, places, read, text, xlsx};

#[test]
fn rows_are_lines_under_their_sheet_and_header() {
    let row = |n: usize| format!("<row r='{n}'><c r='B{n}' t='s'><v>2</v></c><c r='D{n}'><v>{n}.5</v></c></row>");
    let rows: String = (2..=200).map(row).collect();
    let header = "<row r='1'><c r='B1' t='s'><v>0</v></c><c r='C1' t='s'><v>1</v></c><c r='D1' t='inlineStr'><is><t>Price</t></is></c></row>";
    let document = read("prices.xlsx", &xlsx("My prices", &format!("{header}{rows}"), &["Name", "Size", "Bolt"]));
    assert_eq!((document.kind, document.lang.as_deref()), (Kind::Sheet, Some("xlsx")));
    assert!(document.passages.len() > 2);
    assert!(headings(&document).iter().all(|heading| heading == "My prices > Name | Size | Price"));
    assert!(document.passages[0].text.starts_with("Name | Size | Price\nBolt | | 2.5\nBolt | | 3.5\n"));
    let places = places(&document);
    assert!(places[0].starts_with("'My prices'!B1:D"), "{places:?}");
    assert!(places.last().unwrap().ends_with(":D200"), "{places:?}");
    // One passage goes on where the other ends.
    for pair in document.passages.windows(2) {
        let last: f64 = pair[0].text.rsplit(' ').next().unwrap().parse().unwrap();
        assert!(pair[1].text.starts_with(&format!("Bolt | | {}\n", last + 1.0)), "{pair:?}");
    }
}

#[test]
fn values_read_as_people_see_them() {
    let rows = "<row r='1'><c r='A1' s='1'><v>45000</v></c><c r='B1' t='b'><v>1</v></c><c r='C1'><v>1200000</v></c>\
        <c r='D1'><v>0.1</v></c><c r='E1' t='e'><v>#DIV/0!</v></c><c r='F1' t='str'><f>A1</f><v>said</v></c></row>";
    assert_eq!(text(&read("a.xlsx", &xlsx("S", rows, &[]))), "2023-03-15 | TRUE | 1200000 | 0.1 | #DIV/0! | said");
}

#[test]
fn two_cells_in_opposite_corners_take_no_memory_between_them() {
    let rows = "<row r='1'><c r='A1'><v>1</v></c></row><row r='1048576'><c r='XFD1048576'><v>2</v></c></row>";
    let document = read("a.xlsx", &xlsx("S", rows, &[]));
    assert_eq!(places(&document), ["S!A1:XFD1048576"]);
    assert!(text(&document).len() < 200);
}
