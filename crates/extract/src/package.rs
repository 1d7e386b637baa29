//! A document that is a zip archive: its members by name, with bounds on their number, size and ratio.

use std::io::{Cursor, Read};

use zip::ZipArchive;
use zip::result::ZipError;

/// A workbook of a thousand sheets, or slides with thousands of pictures, stays below.
const ENTRIES_MAX: usize = 10_000;

/// One member that is read whole: the text of a document of some thousand pages.
const MEMBER_BYTES_MAX: u64 = 64 << 20;

/// All members that are read whole, together: one may be read for many slides.
const READ_BYTES_MAX: u64 = 128 << 20;

/// All members of a workbook, which is read cell by cell.
const STREAMED_BYTES_MAX: u64 = 512 << 20;

/// How many times larger than its packed form a member may be, once it is larger than [`RATIO_FREE_BYTES`]. The XML of
/// office programs packs at 5:1 to 50:1.
const RATIO_MAX: u64 = 200;
const RATIO_FREE_BYTES: u64 = 1 << 20;

pub(crate) struct Package<'a> {
    archive: ZipArchive<Cursor<&'a [u8]>>,
    left: u64,
}

impl<'a> Package<'a> {
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Self, String> {
        // Before the directory is read: it takes several times its size in memory.
        let entries = memchr::memmem::find_iter(bytes, b"PK\x01\x02").take(ENTRIES_MAX + 1).count();
        if entries > ENTRIES_MAX {
            return Err(format!("its archive has more than {ENTRIES_MAX} entries, which no document needs"));
        }
        let archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| {
            format!("its archive cannot be opened ({error}); its end may be lost: copy or save the file again")
        })?;
        Ok(Package { archive, left: READ_BYTES_MAX })
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.archive.index_for_name(name).is_some()
    }

    /// Names of the members that are UTF-8, in the archive's order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.archive.file_names_raw().filter_map(|name| std::str::from_utf8(name).ok())
    }

    /// A member as text; XML may be in UTF-16.
    pub(crate) fn text(&mut self, name: &str) -> Result<String, String> {
        let bytes = self.bytes(name)?;
        match encoding_rs::Encoding::for_bom(&bytes) {
            Some((encoding, mark)) if encoding != encoding_rs::UTF_8 => {
                Ok(encoding.decode_without_bom_handling(&bytes[mark..]).0.into_owned())
            }
            Some((_, mark)) => into_text(name, bytes[mark..].to_vec()),
            None => into_text(name, bytes),
        }
    }

    /// The same, of a member that need not be there.
    pub(crate) fn optional_text(&mut self, name: &str) -> Result<Option<String>, String> {
        if self.has(name) { self.text(name).map(Some) } else { Ok(None) }
    }

    /// A member's bytes.
    pub(crate) fn bytes(&mut self, name: &str) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        let index = self.archive.index_for_name(name).ok_or_else(|| unreadable(name, &ZipError::FileNotFound))?;
        self.unpack(index, name, MEMBER_BYTES_MAX, &mut |part| bytes.extend_from_slice(part))?;
        Ok(bytes)
    }

    /// Unpacks every member into nothing, for a library that will unpack some of them without a bound. `limit` is what
    /// a member of that name may have.
    pub(crate) fn refuse_bombs(&mut self, limit: impl Fn(&str) -> u64) -> Result<(), String> {
        self.left = STREAMED_BYTES_MAX;
        let names = self.archive.file_names_raw().map(|name| String::from_utf8_lossy(name).into_owned());
        for (index, name) in names.collect::<Vec<_>>().into_iter().enumerate() {
            self.unpack(index, &name, limit(&name), &mut |_| {})?;
        }
        self.left = READ_BYTES_MAX;
        Ok(())
    }

    fn unpack(&mut self, index: usize, name: &str, limit: u64, take: &mut dyn FnMut(&[u8])) -> Result<(), String> {
        let mut member = self.archive.by_index(index).map_err(|error| unreadable(name, &error))?;
        let packed = member.compressed_size().max(1);
        let (mut unpacked, mut part) = (0_u64, vec![0; 64 << 10]);
        loop {
            let count =
                member.read(&mut part).map_err(|error| format!("{name} cannot be unpacked: {error}; {AGAIN}"))?;
            if count == 0 {
                return Ok(());
            }
            unpacked += count as u64;
            if unpacked > limit {
                return Err(format!("{name} unpacks to more than {limit} bytes; split the document"));
            }
            if unpacked > RATIO_FREE_BYTES && unpacked / packed > RATIO_MAX {
                return Err(format!("{name} unpacks to more than {RATIO_MAX} times its size, as no document does"));
            }
            let left = self.left.checked_sub(count as u64);
            self.left = left.ok_or("its parts unpack to more than is read of one document; split it")?;
            take(&part[..count]);
        }
    }
}

/// Of a document that nobody reads without its password.
pub(crate) const ENCRYPTED: &str = "it is encrypted; save a copy without a password and add that";

const AGAIN: &str = "copy or save the file again";

fn into_text(name: &str, bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        format!("{name} is not UTF-8 at byte {offset}; save the document again")
    })
}

fn unreadable(name: &str, error: &ZipError) -> String {
    match error {
        ZipError::FileNotFound => format!("it has no {name}, which holds its text; {AGAIN}"),
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) => ENCRYPTED.to_owned(),
        other => format!("{name} cannot be unpacked: {other}; {AGAIN}"),
    }
}
