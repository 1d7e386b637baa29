//! Mails and mailboxes, by what their first lines look like.

use super::Format;
use crate::Kind;

const MAIL: Format = Format { kind: Kind::Mail, lang: Some("eml"), mime: "message/rfc822" };
const MAILBOX: Format = Format { kind: Kind::Mail, lang: Some("mbox"), mime: "application/mbox" };

/// `known` when the file's name says another format. Mails of a maildir have names that say nothing.
pub(super) fn detect(extension: &str, known: bool, bytes: &[u8]) -> Option<Format> {
    let named = matches!(extension, "eml" | "mbox" | "mbx");
    if known && !named {
        return None;
    }
    if bytes.starts_with(b"From ") {
        let line = memchr::memchr(b'\n', bytes)?;
        return begins_with_headers(&bytes[line + 1..]).then_some(MAILBOX);
    }
    let is_telling = |name: &&[u8]| TELLING.iter().any(|telling| name.eq_ignore_ascii_case(telling));
    let needed = if named { 1 } else { 3 };
    (headers(bytes).filter(is_telling).count() >= needed).then_some(MAIL)
}

/// Whether the first line of `bytes` is a header.
pub(crate) fn begins_with_headers(bytes: &[u8]) -> bool {
    headers(bytes).next().is_some()
}

/// Of what mails have and other texts rarely begin with.
const TELLING: [&[u8]; 8] =
    [b"From", b"To", b"Date", b"Subject", b"Message-ID", b"Received", b"MIME-Version", b"Return-Path"];

/// Lines of a header that are looked at.
const LINES_MAX: usize = 200;

/// Names of the headers that `bytes` begins with; none when it begins otherwise.
fn headers(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = bytes.split(|byte| *byte == b'\n').take(LINES_MAX).map(|line| line.trim_ascii_end());
    let lines = lines.take_while(|line| !line.is_empty());
    // The others go on with the header above them.
    let begun = lines.filter(|line| !line.starts_with(b" ") && !line.starts_with(b"\t"));
    begun.map_while(|line| {
        let name = &line[..memchr::memchr(b':', line)?];
        (!name.is_empty() && name.iter().all(u8::is_ascii_graphic)).then_some(name)
    })
}
