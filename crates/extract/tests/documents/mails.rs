use nuthatch_extract::{Document, Kind};

use crate::packing::{broken, docx, headings, long, paragraph, places, read, text};

const HEAD: &str = "From: =?utf-8?q?J=C3=BCrgen?= <j@example.org>\r\nTo: Ann <ann@example.org>,\r\n bob@example.org\r\n\
    Subject: Nest boxes\r\nDate: Mon, 2 Mar 2026 10:11:12 +0100\r\nMessage-ID: <1@example.org>\r\nMIME-Version: 1.0\r\n";

const PATH: &str = "Nest boxes > From: Jürgen <j@example.org> > To: Ann <ann@example.org>, bob@example.org > Date: Mon, 2 Mar 2026 10:11:12 +0100";

fn mail(content: &str) -> Vec<u8> {
    format!("{HEAD}{content}").into_bytes()
}

/// A multipart of these, each with its headers.
fn multipart(kind: &str, parts: &[String]) -> String {
    let border = format!("border{}", parts.iter().map(String::len).sum::<usize>());
    let parts: String = parts.iter().map(|part| format!("--{border}\r\n{part}\r\n")).collect();
    format!("Content-Type: multipart/{kind}; boundary={border}\r\n\r\n{parts}--{border}--\r\n")
}

fn plain(body: &str) -> String {
    format!("Content-Type: text/plain; charset=utf-8\r\n\r\n{body}")
}

fn attached(name: &str, kind: &str, body: &str) -> String {
    format!("Content-Type: {kind}\r\nContent-Disposition: attachment; filename=\"{name}\"\r\n\r\n{body}")
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let number = group.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for at in 0..4 {
            let digit = DIGITS[(number >> (18 - 6 * at) & 63) as usize];
            out.push(if at <= group.len() { char::from(digit) } else { '=' });
        }
        if out.len() % 78 == 76 {
            out.push_str("\r\n");
        }
    }
    out
}

fn binary(name: &str, bytes: &[u8]) -> String {
    format!(
        "Content-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\n\
         Content-Disposition: attachment; filename=\"{name}\"\r\n\r\n{}",
        base64(bytes)
    )
}

fn found<'a>(document: &'a Document, word: &str) -> (&'a str, String, &'a str) {
    let at = document.passages.iter().position(|passage| passage.text.contains(word));
    let at = at.unwrap_or_else(|| panic!("{word:?} not in {:?}", text(document)));
    (&document.passages[at].text, headings(document)[at].clone(), places(document)[at])
}

#[test]
fn subject_sender_receiver_and_date_stand_above_every_passage() {
    let document = read("a.eml", &mail(&plain(&long("owls"))));
    assert_eq!((document.kind, document.lang.as_deref()), (Kind::Mail, Some("eml")));
    assert_eq!(document.title.as_deref(), Some("Nest boxes"));
    assert!(document.passages.len() > 1);
    assert!(headings(&document).iter().all(|heading| heading == PATH), "{:?}", headings(&document));
    let top = "Subject: Nest boxes\nFrom: Jürgen <j@example.org>\nTo: Ann <ann@example.org>, bob@example.org\n\
        Date: Mon, 2 Mar 2026 10:11:12 +0100\n\nSentence 0";
    assert!(document.passages[0].text.starts_with(top), "{}", document.passages[0].text);
    assert_eq!(places(&document)[0], "");
}

#[test]
fn one_form_of_the_text_is_read_the_plain_one_where_there_are_two() {
    let html =
        "Content-Type: text/html; charset=utf-8\r\n\r\n<style>p{}</style><p>See <b>formatted</b> words &amp; more</p>";
    let both = read("a.eml", &mail(&multipart("alternative", &[plain("See plain words"), html.to_owned()])));
    assert!(text(&both).ends_with("\n\nSee plain words"), "{}", text(&both));
    for alone in
        [html.to_owned(), multipart("alternative", &[html.to_owned()]), multipart("related", &[html.to_owned()])]
    {
        let document = read("a.eml", &mail(&alone));
        assert!(text(&document).ends_with("\n\nSee formatted words & more"), "{}", text(&document));
    }
}

#[test]
fn bodies_are_decoded_from_their_encoding() {
    let latin = [HEAD.as_bytes(), b"Content-Type: text/plain; charset=iso-8859-1\r\n\r\nCaf\xE9\r\n"].concat();
    assert!(text(&read("a.eml", &latin)).ends_with("Café"));
    let quoted = "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nCaf=C3=A9 is =\r\nopen";
    assert!(text(&read("a.eml", &mail(quoted))).ends_with("Café is open"));
    let packed = format!(
        "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n{}",
        base64("Café".as_bytes())
    );
    assert!(text(&read("a.eml", &mail(&packed))).ends_with("Café"));
}

#[test]
fn attachments_are_read_like_the_files_that_they_are() {
    let inner = format!("{}{}", HEAD.replace("Nest boxes", "Inner mail"), plain("The inner words"));
    let parts = [
        plain("See attached."),
        attached("notes.md", "text/markdown", "# Plan\r\n\r\nPaint the boxes green."),
        binary("../../stores.docx", &docx(&paragraph("", "Acorns under bark."))),
        attached("prices.csv", "text/csv", "name,price\r\nbox,12"),
        format!("Content-Type: message/rfc822\r\n\r\n{inner}"),
        binary("saved.eml", inner.replace("inner words", "saved words").as_bytes()),
        binary("photo.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0"),
    ];
    let document = read("a.eml", &mail(&multipart("mixed", &parts)));
    let at = |word: &str| {
        let (_, heading, place) = found(&document, word);
        (heading.strip_prefix(PATH).unwrap().to_owned(), place.to_owned())
    };
    let path = |heading: &str, place: &str| (heading.to_owned(), place.to_owned());
    assert_eq!(at("See attached."), path("", ""));
    assert_eq!(at("boxes green"), path(" > Plan", "notes.md"));
    assert_eq!(at("Acorns"), path("", "stores.docx"));
    assert_eq!(at("box,12"), path(" > name | price", "prices.csv, rows 1-2"));
    let inner = PATH.replace("Nest boxes", "Inner mail");
    assert_eq!(at("The inner words"), path(&format!(" > {inner}"), "attached mail"));
    assert_eq!(at("The saved words"), path(&format!(" > {inner}"), "saved.eml"));
    assert_eq!(document.warnings, [""; 0], "a picture is nothing to worry about");
}

#[test]
fn attachments_that_cannot_be_read_are_named() {
    let parts = [
        plain("Hello."),
        binary("half.docx", &docx(&paragraph("", "x"))[..300]),
        binary("all.zip", &crate::packing::pack(&[("a.txt", "a")])),
        binary("old.doc", &[b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1".as_slice(), &[0; 99]].concat()),
    ];
    let document = read("a.eml", &mail(&multipart("mixed", &parts)));
    let [half, zip, old] = document.warnings.as_slice() else { panic!("{:?}", document.warnings) };
    assert!(half.starts_with("half.docx is left out: ") && half.contains("again"), "{half}");
    assert_eq!(zip, "all.zip is left out: it is binary (application/zip)");
    assert_eq!(old, "old.doc is left out: it cannot be read yet (an old Office document)");
}

#[test]
fn a_mailbox_is_read_mail_by_mail() {
    let mail = |n: usize, body: &str| {
        format!("From a@example.org Mon Mar  2 10:11:1{n} 2026\nFrom: a@example.org\nSubject: Mail {n}\n\n{body}\n\n")
    };
    let attached = multipart("mixed", &[plain("Third."), attached("b.txt", "text/plain", "Beside the third.")]);
    let third =
        format!("From a@example.org Mon Mar  2 10:11:13 2026\nSubject: Mail 3\n{}\n", attached.replace("\r\n", "\n"));
    let second = "Second.\n\n>From where it stood.\n>>From a reply.\n\nFrom here on it is the same mail.";
    let document = read("box", [mail(1, "First."), mail(2, second), third, mail(4, "")].concat().as_bytes());
    assert_eq!((document.kind, document.lang.as_deref(), &document.title), (Kind::Mail, Some("mbox"), &None));
    assert_eq!(places(&document), ["message 1", "message 2", "message 3", "message 3, b.txt", "message 4"]);
    assert_eq!(headings(&document)[1], "Mail 2 > From: a@example.org");
    let (second, ..) = found(&document, "Second.");
    assert!(
        second.ends_with("\n\nFrom where it stood.\n>From a reply.\n\nFrom here on it is the same mail."),
        "{second}"
    );
    assert_eq!(found(&document, "Beside the third").1, "Mail 3");
}

#[test]
fn content_tells_a_mail_where_the_name_does_not() {
    let bytes = mail(&plain("Hello."));
    for name in ["a.eml", "1700000000.M1P2.host,S=99:2,S", "cur/17"] {
        assert_eq!(read(name, &bytes).kind, Kind::Mail, "{name}");
    }
    assert_eq!(read("a.txt", &bytes).kind, Kind::Text);
    assert_eq!(read("notes", b"From: here to there\nTo: nowhere\n\nA poem.").kind, Kind::Text);
    assert_eq!(
        read("letter", b"From time to time\nit: rains.\n").kind,
        Kind::Mail,
        "a line and a header are a mailbox"
    );
    assert_eq!(read("a.eml", b"no header at all").kind, Kind::Text);
}

#[test]
fn mails_in_mails_are_read_to_a_depth_and_the_rest_is_named() {
    let nested = |depth: usize, wrap: &dyn Fn(&str) -> String| {
        let mut inner = format!("{HEAD}{}", plain("At the bottom."));
        for _ in 0..depth {
            inner = format!("{HEAD}{}", multipart("mixed", &[plain("Above."), wrap(&inner)]));
        }
        read("a.eml", inner.as_bytes())
    };
    let wraps: [&dyn Fn(&str) -> String; 2] =
        [&|inner| format!("Content-Type: message/rfc822\r\n\r\n{inner}"), &|inner| binary("m.eml", inner.as_bytes())];
    for wrap in wraps {
        let document = nested(2, wrap);
        assert!(text(&document).contains("At the bottom.") && document.warnings.is_empty(), "{:?}", document.warnings);
        let document = nested(3, wrap);
        assert!(!text(&document).contains("At the bottom."));
        assert!(
            document.warnings[0].contains("it is attached to a mail in 2 others; save it by itself"),
            "{:?}",
            document.warnings
        );
    }
    // Far deeper than any stack.
    let deep = format!("{HEAD}{}", "Content-Type: message/rfc822\r\n\r\n".repeat(1500));
    assert!(!read("a.eml", deep.as_bytes()).passages.is_empty());
}

#[test]
fn more_parts_or_headers_than_mails_have_are_refused_by_name() {
    let parts: Vec<String> = (0..3000).map(|n| plain(&n.to_string())).collect();
    assert!(broken("a.eml", &mail(&multipart("mixed", &parts))).contains("it has 3001 parts"));
    let headers = "X: y\r\n".repeat(500_000);
    assert!(
        broken("a.eml", &mail(&headers))
            .contains("its headers have more than 2097152 bytes, more than a mail needs; save its text by itself")
    );
    // One such mail does not cost a mailbox the others.
    let bad = format!("From a b\n{HEAD}{headers}\n\n");
    let good = format!("From a b\n{HEAD}{}\n\n", plain("A good one."));
    let document = read("a.mbox", format!("{bad}{good}").replace("\r\n", "\n").as_bytes());
    assert_eq!(places(&document), ["message 2"]);
    assert!(document.warnings[0].starts_with("message 1 is left out: its headers"), "{:?}", document.warnings);
}

#[test]
fn many_mails_are_searched_no_longer_than_one() {
    let open: String =
        (0..1000).map(|n| format!("--b\nContent-Type: multipart/mixed; boundary=never{n}\n\nx\n")).collect();
    let filler = "filler ".repeat(1 << 17);
    let one = format!("From a b\nSubject: Many\nContent-Type: multipart/mixed; boundary=b\n\n{open}{filler}\n\n");
    let document = read("a.mbox", one.repeat(8).as_bytes());
    assert_eq!(document.warnings.len(), 4, "{:?}", document.warnings);
    assert!(document.warnings[0].starts_with("message 5 is left out: it has 1001 parts"), "{:?}", document.warnings);
}

#[test]
fn borders_that_never_come_are_not_looked_for_in_the_square_of_the_mail() {
    let open: String =
        (0..2000).map(|n| format!("--b\r\nContent-Type: multipart/mixed; boundary=never{n}\r\n\r\nx\r\n")).collect();
    let bytes = mail(&format!("Content-Type: multipart/mixed; boundary=b\r\n\r\n{open}{}", "filler ".repeat(1 << 20)));
    assert!(broken("a.eml", &bytes).contains("parts in"));
}
