//! Indexes in SCIP's form, written by hand.

fn number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn field(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    out.push(tag << 3 | 2);
    number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Where it stands, which symbol, and its roles: 1 for a definition.
pub type Occurrence<'a> = (&'a [u8], &'a str, u8);

/// An index of one document: its path, its names, its text and what columns count.
pub fn index(path: &str, occurrences: &[Occurrence<'_>], text: &str, columns: u8) -> Vec<u8> {
    let mut document = Vec::new();
    field(&mut document, 1, path.as_bytes());
    for (range, symbol, roles) in occurrences {
        let mut occurrence = Vec::new();
        field(&mut occurrence, 1, range);
        field(&mut occurrence, 2, symbol.as_bytes());
        occurrence.extend([3 << 3, *roles]);
        field(&mut document, 2, &occurrence);
    }
    field(&mut document, 5, text.as_bytes());
    document.extend([6 << 3, columns]);
    let mut out = vec![0x0a, 2, 0x18, 1]; // metadata
    field(&mut out, 2, &document);
    field(&mut out, 3, b"external");
    out
}
