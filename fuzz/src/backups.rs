//! Manifests of backups, read past their checksum, which no mutation gets right.

use nuthatch_backup::{BackupError, Repository};
use nuthatch_segment::seal;

use crate::Run;

pub fn start() -> Run {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("place");
    let id = {
        let repository = Repository::create(&place).expect("a place for backups");
        let mut writer = repository.begin(&|_| true).expect("a backup");
        writer.add_bytes("folder/file", b"content").expect("a file");
        writer.add_bytes("other", b"").expect("a file");
        writer.finish(serde_json::json!({})).expect("a backup").id
    };
    Box::new(move |bytes| {
        let at = place.join("backups").join(&id);
        std::fs::write(&at, seal(bytes)).expect("written");
        let repository = Repository::open(&place).expect("a place for backups");
        let Ok(manifest) = repository.manifest(&id) else { return };
        let go_on = &mut |_| Ok::<(), BackupError>(());
        let _sound_or_not = repository.verify(&[], go_on).is_ok();
        for file in &manifest.files {
            if let Ok(read) = repository.read(file) {
                // A hostile list may name one object many times; the length of the list bounds what is read.
                assert!(read.len() <= b"content".len() * file.objects.len());
            }
        }
        let outside = folder.path().join("outside");
        let target = outside.join("target");
        std::fs::create_dir_all(&outside).expect("a folder");
        let _restored_or_not = repository.restore(&manifest, &target, &|_| true, go_on).is_ok();
        let beside: Vec<_> =
            std::fs::read_dir(&outside).expect("a folder").flatten().map(|entry| entry.path()).collect();
        assert!(beside.iter().all(|path| *path == target), "{beside:?}");
        std::fs::remove_dir_all(&outside).expect("removed");
    })
}
