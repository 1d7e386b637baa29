//! A file that is copied is checked on its way, whatever pieces it comes in.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use nuthatch_segment::{BlockFileWriter, RecordFileWriter, StreamVerifier, write_sealed};

fn passes(path: &Path, piece: usize) -> Result<(), String> {
    let bytes = std::fs::read(path).unwrap();
    let opened = StreamVerifier::open(path, &File::open(path).unwrap()).map_err(|error| error.to_string())?;
    let mut verifier = opened.ok_or("none of ours")?;
    for piece in bytes.chunks(piece) {
        verifier.push(piece).map_err(|error| error.to_string())?;
    }
    verifier.finish().map_err(|error| error.to_string())
}

fn made(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut dice = fastrand::Rng::with_seed(7);
    let mut paths = Vec::new();
    for length in [0, 1, 65_535, 65_536, 200_000] {
        let path = folder.join(format!("blocks{length}"));
        let mut writer = BlockFileWriter::create(&path).unwrap();
        writer.write_all(&std::iter::repeat_with(|| dice.u8(..)).take(length).collect::<Vec<u8>>()).unwrap();
        writer.finish().unwrap();
        paths.push(path);
    }
    for records in [0, 1, 700] {
        let path = folder.join(format!("records{records}"));
        let mut writer = RecordFileWriter::create(&path, 104).unwrap();
        for number in 0..records {
            writer.push(&[number as u8; 100]).unwrap();
        }
        writer.finish(b"whose").unwrap();
        paths.push(path);
    }
    for body in [&b""[..], b"{\"a\": 1}"] {
        let path = folder.join(format!("sealed{}", body.len()));
        write_sealed(&path, body).unwrap();
        paths.push(path);
    }
    paths
}

#[test]
fn sound_files_pass_in_pieces_of_any_size() {
    let folder = tempfile::tempdir().unwrap();
    for path in made(folder.path()) {
        for piece in [1, 100, 65_536, 1 << 20] {
            assert_eq!(passes(&path, piece), Ok(()), "{path:?} in pieces of {piece}");
        }
    }
}

#[test]
fn every_flipped_byte_and_every_cut_is_found() {
    let folder = tempfile::tempdir().unwrap();
    for path in made(folder.path()) {
        let sound = std::fs::read(&path).unwrap();
        for at in (0..sound.len()).step_by((sound.len() / 97).max(1)).chain(sound.len().saturating_sub(40)..sound.len())
        {
            let mut bytes = sound.clone();
            bytes[at] ^= 0x10;
            std::fs::write(&path, &bytes).unwrap();
            assert!(passes(&path, 4096).is_err(), "{path:?} with byte {at} flipped");
        }
        std::fs::write(&path, &sound[..sound.len() - 1]).unwrap();
        assert!(passes(&path, 4096).is_err(), "{path:?} cut short");
    }
}
