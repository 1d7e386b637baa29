//! The files of a vector index with changed contents, and checksums that are right all the same: what they say is never believed further than it can be checked.

use std::ops::ControlFlow;
use std::path::Path;

use nuthatch_segment::{Access, BlockCache, BlockFile, BlockFileWriter, RecordFile, RecordFileWriter, seal, unseal};
use nuthatch_vector::{
    Accuracy, BuildOptions, Centroid, Element, Index, IndexOptions, IndexWriter, Metric, Rows, VectorError,
};

use crate::Run;
use crate::patch::patched;

const ROWS: u32 = 200;
const DIM: usize = 32;
const FILES: [&str; 5] = ["graph", "vectors", "efforts", "codes1", "codes4"];

/// The first byte chooses the file, its highest bit what follows the records of one.
pub fn start() -> Run {
    let healthy = tempfile::tempdir().expect("a folder");
    let mut dice = fastrand::Rng::with_seed(7);
    let rows: Vec<Vec<f32>> = (0..ROWS).map(|_| (0..DIM).map(|_| dice.f32() - 0.5).collect()).collect();
    build(healthy.path(), &rows);
    Box::new(move |input| {
        let Some((chosen, changes)) = input.split_first() else { return };
        let file = FILES[usize::from(chosen & 127) % FILES.len()];
        let folder = tempfile::tempdir().expect("a folder");
        for other in FILES.into_iter().filter(|other| *other != file) {
            std::fs::hard_link(healthy.path().join(other), folder.path().join(other)).expect("a link");
        }
        let (from, to) = (healthy.path().join(file), folder.path().join(file));
        match file {
            "graph" | "vectors" => change_records(&from, &to, chosen & 128 != 0, changes),
            "efforts" => {
                let body = unseal(&from, &std::fs::read(&from).expect("a file")).expect("a sealed file");
                std::fs::write(&to, seal(&patched(&body, changes))).expect("written");
            }
            _ => change_blocks(&from, &to, changes),
        }
        let Ok(index) = Index::open(folder.path(), &BlockCache::new(1), Access::Read) else { return };
        let _sound_or_not = index.verify().is_ok();
        for (query, limit) in rows.iter().zip([1, 10, ROWS as usize + 5]) {
            for accuracy in [Accuracy::Ef(32), Accuracy::Recall(0.95), Accuracy::Exact] {
                match index.search(query, Rows::All, limit, accuracy, &|| false) {
                    Ok(found) => {
                        assert!(
                            found.candidates.iter().all(|candidate| candidate.slot < index.rows()),
                            "a row that there is not"
                        );
                        assert!(found.walk.hops <= index.rows() as usize, "a walk without end");
                    }
                    Err(error) => assert!(matches!(error, VectorError::Segment(_)), "{error}"),
                }
            }
        }
    })
}

fn build(folder: &Path, rows: &[Vec<f32>]) {
    let (metric, element) = (Metric::Cosine, Element::F32);
    let mut centroid = Centroid::new(DIM, metric).expect("a centroid");
    rows.iter().for_each(|row| centroid.add(row).expect("a row"));
    let options = IndexOptions {
        dim: DIM,
        metric,
        element,
        seed: 42,
        centroid: centroid.mean(),
        graph: true,
        build_memory_bytes: u64::MAX,
    };
    let mut writer = IndexWriter::create(folder, options).expect("a writer");
    rows.iter().for_each(|row| writer.push(&element.encode(row).expect("numbers")).expect("a row"));
    let progress = &mut |_| ControlFlow::Continue(());
    let options = BuildOptions { threads: 1, previous: None, checkpoint: None, progress };
    writer.finish(options, &BlockCache::new(1 << 20), Access::Read).expect("an index");
}

fn change_records(from: &Path, to: &Path, is_meta: bool, changes: &[u8]) {
    let source = RecordFile::open(from, Access::Read).expect("a healthy file");
    let mut records = Vec::new();
    let all: Vec<u32> = (0..source.records() as u32).collect();
    let visit = &mut |_, record: &[u8]| -> Result<(), VectorError> {
        records.extend_from_slice(record);
        Ok(())
    };
    source.reader().read(&all, visit).expect("healthy records");
    let (records, meta) = match is_meta {
        true => (records, patched(source.meta(), changes)),
        false => (patched(&records, changes), source.meta().to_vec()),
    };
    let mut writer = RecordFileWriter::create(to, source.record_bytes()).expect("a writer");
    for record in records.chunks_exact(source.record_bytes() - 4) {
        writer.push(record).expect("written");
    }
    writer.finish(&meta).expect("written");
}

fn change_blocks(from: &Path, to: &Path, changes: &[u8]) {
    let source = BlockFile::open(from, &BlockCache::new(1)).expect("a healthy file");
    let mut bytes = vec![0; source.len() as usize];
    source.read_at(0, &mut bytes).expect("healthy blocks");
    let mut writer = BlockFileWriter::create(to).expect("a writer");
    std::io::Write::write_all(&mut writer, &patched(&bytes, changes)).expect("written");
    writer.finish().expect("written");
}
