//! Truncated, changed or malicious files end with a named error or with passages, never with a panic.

use std::path::Path;

use nuthatch_extract::{ExtractError, PassageOptions, extract};
use proptest::prelude::*;
use zip::ZipArchive;

use crate::packing::{TYPES, broken, docx, epub, main_is, odf, pack, paragraph, pptx, read, text, xlsx};

const MIB: usize = 1 << 20;

/// One whole document of each format.
fn samples() -> Vec<(&'static str, Vec<u8>)> {
    let rows = "<row r='1'><c r='A1' t='s'><v>0</v></c><c r='B1'><v>2.5</v></c></row>";
    vec![
        ("a.docx", docx(&[paragraph("H2", "Head"), paragraph("", "Body text.")].concat())),
        ("a.xlsx", xlsx("S", rows, &["Name"])),
        ("a.pptx", pptx(&[("Title", "Body.", "Notes.")])),
        ("a.odt", odf("text", "<text:h>Head</text:h><text:p>Body<text:s/>text.</text:p>")),
        (
            "a.odp",
            odf(
                "presentation",
                "<draw:page><draw:frame presentation:class='title'><text:p>Head</text:p></draw:frame></draw:page>",
            ),
        ),
        (
            "a.ods",
            odf(
                "spreadsheet",
                "<table:table table:name='S'><table:table-row><table:table-cell table:number-columns-repeated='2'><text:p>a</text:p></table:table-cell></table:table-row></table:table>",
            ),
        ),
        ("a.epub", epub(&[("a.xhtml", "<h1>Head</h1><p>Body.</p>")])),
        ("a.csv", b"Name,Note\nBolt,\"Two\nlines, \"\"quoted\"\"\"\n\nNut,plain\n".to_vec()),
        (
            "a.ipynb",
            br##"{"cells": [{"cell_type": "markdown", "source": ["# Head\n", "Text."]}, {"cell_type": "code", "source": "f(x)", "outputs":
                [{"output_type": "stream", "text": "0\r1"}, {"data": {"text/html": "<b>x</b>"}}]}], "metadata": {}, "nbformat": 4}"##
                .to_vec(),
        ),
        (
            "a.eml",
            b"From: a@b.c\r\nSubject: =?utf-8?q?Head?=\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n\r\nText.\r\n\
              --x\r\nContent-Type: text/html\r\nContent-Disposition: attachment; filename=a.html\r\n\r\n<p>More.\r\n\
              --x\r\nContent-Type: message/rfc822\r\n\r\nSubject: In\r\n\r\nInner.\r\n--x--\r\n"
                .to_vec(),
        ),
        ("a.mbox", b"From a b\nSubject: One\n\nText.\n\nFrom a b\nSubject: Two\n\n>From here.\n".to_vec()),
        (
            "a.rtf",
            br"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0\fcharset204 Arial;}}{\stylesheet{\s1 heading 1;}}{\info{\title Top}}\s1 Head\par\pard \f0\'cc\uc1\u1080?\par\intbl a\cell b\cell\row}"
                .to_vec(),
        ),
        ("a.tsv", b"Name\tNote\nBolt\tIt is 3\" long\n".to_vec()),
    ]
}

#[test]
fn every_sample_is_read() {
    for (name, bytes) in samples() {
        let document = read(name, &bytes);
        assert!(!document.passages.is_empty(), "{name}");
        assert_eq!(document.warnings, Vec::<String>::new(), "{name}");
        assert_eq!(document.lang.as_deref(), name.rsplit('.').next(), "{name}");
        assert_eq!(document, read(name, &bytes), "{name}: equal input gives equal passages");
    }
}

#[test]
fn packed_documents_cut_anywhere_are_broken_and_say_what_to_do() {
    for (name, bytes) in samples().into_iter().filter(|(_, bytes)| bytes.starts_with(b"PK")) {
        for part in 1..20 {
            let what = broken(name, &bytes[..bytes.len() * part / 20]);
            assert!(what.contains("again"), "{name}: {what}");
        }
    }
}

fn member(body: &str) -> Vec<u8> {
    pack(&[TYPES, ("_rels/.rels", &main_is("word/document.xml")), ("word/document.xml", body)])
}

#[test]
fn bombs_are_refused_by_name() {
    let zeros = member(&" ".repeat(40 * MIB));
    assert!(zeros.len() < MIB);
    assert!(broken("a.docx", &zeros).contains("word/document.xml unpacks to more than 200 times its size"));

    let mut dice = fastrand::Rng::with_seed(3);
    let noise: String = (0..70 * MIB).map(|_| char::from(dice.u8(b'0'..b'8'))).collect();
    assert!(broken("a.docx", &member(&noise)).contains("unpacks to more than 67108864 bytes; split the document"));

    let sheet = xlsx("S", &" ".repeat(40 * MIB), &[]);
    assert!(broken("a.xlsx", &sheet).contains("xl/worksheets/sheet1.xml unpacks to more than 200 times its size"));

    let names: Vec<String> = (0..10_001).map(|number| format!("word/{number}")).collect();
    let many: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
    assert!(broken("a.docx", &pack(&many)).contains("more than 10000 entries"));
}

#[test]
fn nesting_is_refused_by_name() {
    let mut dice = fastrand::Rng::with_seed(5);
    // Of uneven sizes, so that it packs no better than documents do.
    let tables: String = (0..200_000).map(|_| format!("<w:tbl a='{}'><w:tr><w:tc>", dice.u64(..))).collect();
    assert!(broken("a.docx", &member(&tables)).contains("nests more than 256 elements; flatten"));
}

#[test]
fn a_long_heading_over_many_sections_is_not_copied_whole_for_each() {
    let sections: String =
        (0..20_000).map(|n| format!("{}{}", paragraph("H2", &n.to_string()), paragraph("", "x"))).collect();
    let body = format!("{}{sections}", paragraph("berschrift1", &"long ".repeat(200_000)));
    let document = read("a.docx", &docx(&body));
    assert!(document.passages.iter().flat_map(|passage| &passage.heading).all(|name| name.chars().count() <= 200));
}

#[test]
fn entities_of_a_document_are_not_expanded() {
    let lol = "<!DOCTYPE d [<!ENTITY a 'lol'><!ENTITY b '&a;&a;&a;&a;'>]><w:document><w:body><w:p><w:r><w:t>x&b;y&#233;</w:t></w:r></w:p></w:body></w:document>";
    assert_eq!(text(&read("a.docx", &member(lol))), "xyé");
}

#[test]
fn encrypted_and_old_documents_say_what_to_do() {
    let compound = |member: &str| {
        let mut bytes = b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1".to_vec();
        bytes.extend([0; 500]);
        bytes.extend(member.encode_utf16().flat_map(u16::to_le_bytes));
        bytes
    };
    assert!(broken("a.docx", &compound("EncryptedPackage")).contains("save a copy without a password"));
    for (member, what) in [("WordDocument", "a .doc document"), ("PowerPoint Document", "a .ppt document")] {
        match extract(Path::new("a"), &compound(member), &PassageOptions::default()) {
            Err(error @ ExtractError::Unsupported { .. }) => {
                assert!(error.to_string().contains(what) && error.to_string().contains("export it as"), "{error}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn archives_of_files_stay_unread() {
    let bytes = pack(&[("notes.txt", "Some notes."), ("more/plan.md", "# Plan")]);
    let refused = extract(Path::new("a.zip"), &bytes, &PassageOptions::default()).unwrap_err();
    assert!(matches!(refused, ExtractError::Binary { why, .. } if why == "application/zip"));
    assert!(broken("a.docx", &bytes).contains("an archive without a document in it"));
}

#[test]
fn notebooks_cut_anywhere_are_broken_and_say_what_to_do() {
    let (name, bytes) = samples().into_iter().find(|(name, _)| name.ends_with("ipynb")).unwrap();
    for end in 1..bytes.len() {
        let what = broken(name, &bytes[..end]);
        assert!(what.contains("the notebook cannot be read") && what.contains("save it again"), "{what}");
    }
}

/// Changes members of an archive, and packs it again so that checksums do not hide the change.
fn change(bytes: &[u8], dice: &mut fastrand::Rng) -> Vec<u8> {
    let mut archive = ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
    let mut members = Vec::new();
    for at in 0..archive.len() {
        let mut member = archive.by_index(at).unwrap();
        let mut content = Vec::new();
        std::io::Read::read_to_end(&mut member, &mut content).unwrap();
        members.push((member.name().unwrap().into_owned(), content));
    }
    let chosen = dice.usize(..members.len());
    members[chosen].1 = mutate(&members[chosen].1, dice);
    let members: Vec<(&str, String)> =
        members.iter().map(|(name, content)| (name.as_str(), String::from_utf8_lossy(content).into_owned())).collect();
    pack(&members.iter().map(|(name, content)| (*name, content.as_str())).collect::<Vec<_>>())
}

fn mutate(bytes: &[u8], dice: &mut fastrand::Rng) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..dice.usize(1..6) {
        if bytes.is_empty() {
            bytes.push(b'x');
        }
        let (at, other) = (dice.usize(..bytes.len()), dice.usize(..bytes.len()));
        let part = at..(at + dice.usize(..40)).min(bytes.len());
        match dice.u8(..4) {
            0 => bytes[at] = dice.u8(..),
            1 => drop(bytes.drain(part)),
            2 => bytes.swap(at, other),
            _ => {
                let copy = bytes[part].to_vec();
                bytes.splice(other..other, copy);
            }
        }
    }
    bytes
}

/// Checks what must hold for any input.
fn check(name: &str, bytes: &[u8]) {
    let options = PassageOptions { target_chars: 80, overlap_chars: 10 };
    let Ok(document) = extract(Path::new(name), bytes, &options) else { return };
    for passage in &document.passages {
        assert!(!passage.text.trim().is_empty(), "{name}: an empty passage");
        assert!(passage.text.chars().count() <= 80, "{name}: {:?}", passage.text);
        assert!(
            passage.start_line >= 1 && passage.start_line <= passage.end_line && passage.start_byte < passage.end_byte
        );
    }
}

#[test]
fn changed_documents_never_panic() {
    let mut dice = fastrand::Rng::with_seed(17);
    for (name, bytes) in samples() {
        for _ in 0..400 {
            check(name, &mutate(&bytes, &mut dice));
            if bytes.starts_with(b"PK") {
                check(name, &change(&bytes, &mut dice));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_bytes_and_any_truncation_give_a_document_or_an_error(
        junk in prop::collection::vec(any::<u8>(), 0..300),
        cut in 0.0_f64..1.0,
    ) {
        for (name, bytes) in samples() {
            let kept = (bytes.len() as f64 * cut) as usize;
            check(name, &bytes[..kept]);
            check(name, &[&bytes[..kept], junk.as_slice()].concat());
            check(name, &junk);
        }
    }
}
