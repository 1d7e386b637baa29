//! Reading and writing at an offset, whole or not at all, on every system.

use std::fs::File;

#[cfg(unix)]
pub(crate) fn pread(file: &File, offset: u64, out: &mut [u8]) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, out, offset)
}

#[cfg(unix)]
pub(crate) fn pwrite(file: &File, offset: u64, bytes: &[u8]) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(windows)]
pub(crate) fn pread(file: &File, offset: u64, out: &mut [u8]) -> std::io::Result<()> {
    let mut done = 0;
    while done < out.len() {
        match std::os::windows::fs::FileExt::seek_read(file, &mut out[done..], offset + done as u64)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            bytes => done += bytes,
        }
    }
    Ok(())
}

#[cfg(windows)]
pub(crate) fn pwrite(file: &File, offset: u64, bytes: &[u8]) -> std::io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        match std::os::windows::fs::FileExt::seek_write(file, &bytes[done..], offset + done as u64)? {
            0 => return Err(std::io::ErrorKind::WriteZero.into()),
            written => done += written,
        }
    }
    Ok(())
}
