//! The stored vectors of one segment: what candidates are compared with exactly.
//!
//! A record file `vectors`, one record a row in the element type of the collection; meta: magic "NUTVECTS", u32 each version,
//! dim, element, rows. A second copy besides the store's, because one read of a known place costs a microsecond and a
//! lookup by key some thirty.

use std::path::Path;
use std::sync::Arc;

use nuthatch_segment::{Access, RecordFile, RecordFileWriter, RecordReader, SegmentError};

use crate::validate::validate_dim;
use crate::{Element, Exact, Metric, Result};

/// Version of the layout of `vectors` that is written.
pub const VECTORS_FORMAT_VERSION: u32 = 1;
/// Oldest version that is read.
pub const VECTORS_FORMAT_OLDEST_READABLE: u32 = 1;

pub(crate) const VECTORS_FILE: &str = "vectors";
const MAGIC: &[u8; 8] = b"NUTVECTS";
const META_BYTES: usize = 24;

pub(crate) struct VectorsWriter {
    file: RecordFileWriter,
    dim: usize,
    element: Element,
}

impl VectorsWriter {
    pub(crate) fn create(dir: &Path, dim: usize, element: Element) -> Result<Self> {
        let file = RecordFileWriter::create(&dir.join(VECTORS_FILE), element.row_bytes(dim) + 4)?;
        Ok(Self { file, dim, element })
    }

    /// Appends a row in its stored form.
    pub(crate) fn push(&mut self, row: &[u8]) -> Result<()> {
        Ok(self.file.push(row)?)
    }

    pub(crate) fn finish(self) -> Result<u64> {
        let mut meta = MAGIC.to_vec();
        let fields = [VECTORS_FORMAT_VERSION, self.dim as u32, self.element.code(), self.file.records() as u32];
        fields.iter().for_each(|field| meta.extend(field.to_le_bytes()));
        Ok(self.file.finish(&meta)?)
    }
}

/// The open file. Cheap to share; nothing is resident.
pub(crate) struct Vectors {
    file: Arc<RecordFile>,
    dim: usize,
    element: Element,
}

impl Vectors {
    pub(crate) fn open(dir: &Path, access: Access) -> Result<Self> {
        let file = RecordFile::open(&dir.join(VECTORS_FILE), access)?;
        let meta = file.meta();
        let corrupt = |what: String| SegmentError::corrupt(file.path(), what);
        if meta.len() != META_BYTES || &meta[..8] != MAGIC {
            return Err(corrupt("it is not a file of vectors".into()).into());
        }
        let field = |at: usize| u32::from_le_bytes(meta[at..at + 4].try_into().expect("four bytes"));
        let version = field(8);
        if !(VECTORS_FORMAT_OLDEST_READABLE..=VECTORS_FORMAT_VERSION).contains(&version) {
            return Err(corrupt(format!(
                "vectors of version {version}, this program reads {VECTORS_FORMAT_OLDEST_READABLE} to {VECTORS_FORMAT_VERSION}"
            ))
            .into());
        }
        let dim = field(12) as usize;
        validate_dim(dim).map_err(|_| corrupt(format!("{dim} dimensions")))?;
        let element = Element::of_code(field(16)).ok_or_else(|| corrupt(format!("element number {}", field(16))))?;
        if file.record_bytes() != element.row_bytes(dim) + 4 || file.records() != u64::from(field(20)) {
            return Err(corrupt("its records do not fit its header".into()).into());
        }
        Ok(Self { file, dim, element })
    }

    pub(crate) fn rows(&self) -> u32 {
        self.file.records() as u32
    }

    pub(crate) fn dim(&self) -> usize {
        self.dim
    }

    pub(crate) fn element(&self) -> Element {
        self.element
    }

    pub(crate) fn is_mapped(&self) -> bool {
        self.file.is_mapped()
    }

    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    pub(crate) fn verify(&self) -> Result<()> {
        Ok(self.file.verify()?)
    }

    /// Calls `visit` with the stored bytes of each of `slots`.
    pub(crate) fn read(&self, slots: &[u32], mut visit: impl FnMut(u32, &[u8]) -> Result<()>) -> Result<()> {
        let mut reader = self.file.reader();
        let watch = self.file.watch();
        for chunk in slots.chunks(RecordReader::BATCH_MAX) {
            reader.read(chunk, &mut |at, bytes| visit(chunk[at], bytes))?;
        }
        self.file.settle(watch, slots.len());
        Ok(())
    }

    /// The exact similarity of each of `slots` to a raw query.
    pub(crate) fn compare(&self, metric: Metric, query: &[f32], slots: &[u32]) -> Result<Vec<f32>> {
        let mut exact = Exact::new(metric, self.element, query);
        let mut similarities = Vec::with_capacity(slots.len());
        self.read(slots, |_, bytes| {
            let similarity = exact.similarity(bytes);
            similarities.push(similarity.ok_or_else(|| SegmentError::corrupt(self.file.path(), "a row is too short"))?);
            Ok(())
        })?;
        Ok(similarities)
    }
}
