use nuthatch_extract::{Kind, PassageOptions, extract};
use std::path::Path;

use crate::packing::{headings, places, read};

fn rows(from: usize, to: usize, row: impl Fn(usize) -> String) -> String {
    (from..=to).map(row).collect()
}

#[test]
fn passages_are_whole_rows_under_the_names_of_the_columns() {
    let text = format!("name,size,\"unit price\"\r\n{}", rows(2, 200, |n| format!("bolt {n},M8,{n}.5\r\n")));
    let document = read("prices.csv", text.as_bytes());
    assert_eq!((document.kind, document.lang.as_deref()), (Kind::Text, Some("csv")));
    assert!(document.passages.len() > 3);
    assert!(headings(&document).iter().all(|heading| heading == "name | size | unit price"));
    let mut next = 1;
    for (passage, place) in document.passages.iter().zip(places(&document)) {
        assert!(passage.text.starts_with(if next == 1 { "name," } else { "bolt " }), "{passage:?}");
        assert_eq!(passage.text.as_bytes(), &text.as_bytes()[passage.start_byte as usize..passage.end_byte as usize]);
        let last: usize = passage.text.rsplit(',').next().unwrap().trim_end_matches(".5").parse().unwrap();
        assert_eq!(place, format!("rows {next}-{last}"));
        assert_eq!((passage.start_line as usize, passage.end_line as usize), (next, last));
        next = last + 1;
    }
    assert_eq!(next, 201);
}

#[test]
fn rows_count_as_in_a_spreadsheet_where_cells_hold_line_ends_and_lines_are_blank() {
    let cell = "long ".repeat(12);
    let row = |n: usize| if n == 1 { "id,note\n".to_owned() } else { format!("r{n},\"{cell}\n{cell}\n{cell}\"\n") };
    let text = format!("{}\n\n{}", rows(1, 10, row), rows(13, 30, row));
    let document =
        extract(Path::new("a.csv"), text.as_bytes(), &PassageOptions { target_chars: 500, overlap_chars: 0 }).unwrap();
    let mut seen = Vec::new();
    for (passage, place) in document.passages.iter().zip(places(&document)) {
        let number = |text: &str| text[1..text.find(',').unwrap()].parse::<usize>().unwrap_or(1);
        let starts: Vec<usize> = passage.text.lines().filter(|line| line.contains(',')).map(number).collect();
        let (first, last) = (starts[0], starts[starts.len() - 1]);
        assert_eq!(place, if first == last { format!("row {first}") } else { format!("rows {first}-{last}") });
        seen.extend(starts);
    }
    assert_eq!(seen, (1..=10).chain(13..=30).collect::<Vec<_>>());
}

#[test]
fn separators_are_told_from_the_first_line() {
    for (name, separator) in [("a.csv", ","), ("a.csv", ";"), ("a.csv", "\t"), ("a.csv", "|"), ("a.tsv", "\t")] {
        let text = format!("name{separator}\"one, two; three\"{separator}price\nbolt{separator}x{separator}1,5\n");
        assert_eq!(
            headings(&read(name, text.as_bytes())),
            ["name | one, two; three | price"],
            "{name} by {separator:?}"
        );
    }
}

#[test]
fn a_first_row_of_values_names_nothing() {
    for text in ["3,bolt\n4,nut\n", "2020-01-02,a\n", "12 kg,iron\n", "alone\n", ",,\n", "bolt,2021-05-06T07:08:09Z\n"]
    {
        assert_eq!(headings(&read("a.csv", text.as_bytes())), [""], "{text:?}");
    }
}

#[test]
fn a_quotation_mark_that_never_ends_does_not_swallow_the_rows_behind_it() {
    for (marks, last) in [(1, 60), (1, 40_000), (2, 40_000)] {
        let mark = |n: usize| if n == 5 || marks == 2 && n == last - 5 { "\"" } else { "" };
        let text = format!("name\tlength\n{}", rows(2, last, |n| format!("{}bolt {n}\t3 in\n", mark(n))));
        let document = read("a.tsv", text.as_bytes());
        assert_eq!(document.passages[0].heading, ["name | length"]);
        assert!(places(&document).last().unwrap().ends_with(&format!("-{last}")), "{:?}", places(&document).last());
    }
}
