use nuthatch_extract::{Document, Kind};
use serde_json::{Value, json};

use crate::packing::{broken, headings, long, places, read, text};

fn notebook(cells: Value) -> Document {
    let whole = json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
    read("a.ipynb", whole.to_string().as_bytes())
}

fn markdown(source: &str) -> Value {
    json!({"cell_type": "markdown", "metadata": {}, "source": source})
}

fn code(source: &str, outputs: Value) -> Value {
    json!({"cell_type": "code", "execution_count": 1, "metadata": {}, "source": source, "outputs": outputs})
}

fn printed(text: &str) -> Value {
    json!([{"output_type": "stream", "name": "stdout", "text": text}])
}

#[test]
fn cells_stand_under_the_headings_above_them_and_say_their_number() {
    let document = notebook(json!([
        markdown(&format!("# Tides\n\nIntro.\n\n## Data\n\n{}", long("gauges"))),
        code("import tides\n\n\ndef height(t):\n    return tides.at(t)", json!([])),
        code("height(3)", printed(&long("metres"))),
        markdown("## Result\n\nHigh water."),
    ]));
    assert_eq!((document.kind, document.lang.as_deref()), (Kind::Notebook, Some("ipynb")));
    assert_eq!(document.title.as_deref(), Some("Tides"));
    let of = |word: &str| {
        let at = document.passages.iter().position(|passage| passage.text.contains(word)).unwrap();
        (headings(&document)[at].clone(), places(&document)[at].to_owned())
    };
    let at = |heading: &str, place: &str| (heading.to_owned(), place.to_owned());
    assert_eq!(of("about gauges"), at("Tides > Data", "cell 1"));
    assert_eq!(of("def height(t):\n    return tides"), at("Tides > Data", "cells 2-3"));
    assert_eq!(of("about metres"), at("Tides > Data", "cells 2-3"));
    assert_eq!(of("High water."), at("Tides > Result", "cell 4"));
}

#[test]
fn long_code_is_cut_where_a_definition_begins() {
    let source: String =
        (0..40).map(|n| format!("def f{n}(x):\n    if x:\n        return {n}\n    return -x\n")).collect();
    let document = notebook(json!([code(&source, json!([]))]));
    assert!(document.passages.len() > 1);
    assert!(document.passages.iter().all(|passage| passage.text.starts_with("def f")), "{document:?}");
    assert!(places(&document).iter().all(|place| *place == "cell 1"));
}

#[test]
fn outputs_are_read_as_people_see_them() {
    let outputs = json!([
        {"output_type": "stream", "name": "stderr", "text": ["  0%\r 50%\r100%|done\n", "\u{1b}[31mred\u{1b}[0m alert\n"]},
        {"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo=", "text/plain": ["<Figure>"]}},
        {"output_type": "execute_result", "data": {"text/html": "<table><tr><td>cell</td></tr></table>"}},
        {"output_type": "execute_result", "data": {"text/markdown": "*said*", "text/plain": "<Markdown>"}},
        {"output_type": "error", "ename": "KeyError", "evalue": "'tide'", "traceback": ["\u{1b}[0;31m at line 7"]},
        {"output_type": "display_data", "data": {"application/vnd.plotly+json": {"data": [1, 2]}}},
    ]);
    let document = notebook(json!([code("run()", outputs)]));
    assert_eq!(text(&document), "run()\n\n100%|done\nred alert\n<Figure>\ncell\n*said*\nKeyError: 'tide'");
    assert_eq!(document.warnings, [""; 0]);
}

#[test]
fn long_outputs_are_cut_and_it_is_said() {
    let lines: String = (0..2000).map(|n| format!("epoch{n} loss\n")).collect();
    let document = notebook(json!([code("train()", printed(&lines)), code("again()", json!([]))]));
    assert_eq!(document.warnings, ["the output of cell 1 is read only to byte 4096"]);
    let read = text(&document);
    assert!(read.contains("epoch200 ") && !read.contains("epoch400 ") && read.ends_with("again()"));
    assert!(read.len() < 5000);
    let document = notebook(json!([markdown("a"), code("b", printed(&lines)), code("c", printed(&lines))]));
    assert_eq!(document.warnings, ["the outputs of 2 cells, the first of them cell 2, are read only to byte 4096"]);
}

#[test]
fn notebooks_of_version_3_are_read() {
    let whole = json!({"nbformat": 3, "worksheets": [{"cells": [
        {"cell_type": "heading", "level": 2, "source": ["Old ", "ways"]},
        {"cell_type": "code", "language": "python", "input": ["print 3"], "outputs": [{"output_type": "pyout", "text": ["three"]}]},
    ]}]});
    let document = read("a.ipynb", whole.to_string().as_bytes());
    assert_eq!(
        (text(&document).as_str(), headings(&document)[0].as_str()),
        ("Old ways\n\nprint 3\n\nthree", "Old ways")
    );
}

#[test]
fn what_is_no_notebook_says_so() {
    assert!(broken("a.ipynb", b"<<<<<<< HEAD\n{}").contains("the notebook cannot be read: expected value at line 1"));
    assert!(broken("a.ipynb", b"{\"metadata\": {}}").contains("it has no cells"));
    assert!(broken("a.ipynb", "[".repeat(100_000).as_bytes()).contains("the notebook cannot be read"));
    let many = format!("{{\"cells\": [{}{{}}]}}", "{},".repeat(10_000));
    assert!(broken("a.ipynb", many.as_bytes()).contains("there are more than 10000 cells; split it"));
    assert_eq!(read("a.ipynb", b" \n").passages, []);
}

#[test]
fn lists_that_nobody_reads_are_passed_over() {
    let list = "0,".repeat(4 << 20);
    let whole = format!(
        "{{\"cells\": [{{\"cell_type\": \"code\", \"source\": \"kept\", \"attachments\": [{list}0], \"outputs\": [{}{{}}]}}], \"x\": [{list}0]}}",
        "{},".repeat(1 << 20)
    );
    assert_eq!(text(&read("a.ipynb", whole.as_bytes())), "kept");
}
