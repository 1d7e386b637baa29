//! SHA-256 of files and strings: what recorded hashes and fingerprints are made of. (SHA-256 because the model's installer, plain
//! Python, has it, too.)

use std::io::Read;
use std::path::Path;

use sha2::{Digest, Sha256};

/// The SHA-256 of a file in hex, read in pieces so that a model of any size costs little memory.
pub fn file_sha256(path: &Path) -> std::io::Result<String> {
    let mut file = std::fs::File::open(path)?;
    let mut hasher = Sha256::new();
    let mut piece = vec![0; 256 * 1024];
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            return Ok(hex(&hasher.finalize()));
        }
        hasher.update(&piece[..read]);
    }
}

/// The SHA-256 of bytes in hex.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// A short, stable hash of several strings: 32 hex digits. Lengths are hashed, too, so that no two lists collide by joining.
pub fn of_parts(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hex(&hasher.finalize()[..16])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
