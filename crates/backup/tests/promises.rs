//! The promises of a place for backups.

use std::collections::BTreeMap;
use std::path::Path;

use nuthatch_backup::{BackupError, CHUNK_BYTES, Manifest, Repository, Writer};

type Files = BTreeMap<String, Vec<u8>>;

fn fill(writer: &mut Writer<'_>, files: &Files) {
    for (path, bytes) in files {
        writer.add(path, 1, &mut &bytes[..], Path::new(path), &mut |_| Ok::<(), BackupError>(())).unwrap();
    }
}

fn back_up(place: &Path, files: &Files) -> Manifest {
    let repository = Repository::create(place).unwrap();
    let mut writer = repository.begin(&|_| true).unwrap();
    fill(&mut writer, files);
    writer.finish(serde_json::json!({"of": "a test"})).unwrap()
}

fn restored(place: &Path, id: &str) -> Result<Files, BackupError> {
    let target = tempfile::tempdir().unwrap();
    let repository = Repository::open(place)?;
    let manifest = repository.manifest(id)?;
    repository.restore(&manifest, target.path(), &|_| true, &mut |_| Ok::<(), BackupError>(()))?;
    Ok(manifest.files.iter().map(|f| (f.path.clone(), std::fs::read(target.path().join(&f.path)).unwrap())).collect())
}

fn files(dice: &mut fastrand::Rng, lengths: &[usize]) -> Files {
    let one = |(at, length): (usize, &usize)| {
        (format!("folder{}/file{at}", at % 2), std::iter::repeat_with(|| dice.u8(..)).take(*length).collect())
    };
    lengths.iter().enumerate().map(one).collect()
}

fn an_object(place: &Path) -> std::path::PathBuf {
    let folder = std::fs::read_dir(place.join("objects")).unwrap().next().unwrap().unwrap().path();
    std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path()
}

#[test]
fn what_was_backed_up_comes_back_whatever_its_length() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path().join("new/place");
    let mut dice = fastrand::Rng::with_seed(1);
    let files = files(&mut dice, &[0, 1, 1000, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 2 * CHUNK_BYTES]);
    let manifest = back_up(&place, &files);
    assert_eq!(restored(&place, &manifest.id).unwrap(), files);
    let found = Repository::open(&place).unwrap().verify(&[], &mut |_| Ok::<(), BackupError>(())).unwrap();
    assert!(found.damage.is_empty() && found.backups == 1, "{found:?}");
}

#[test]
fn a_second_backup_stores_only_new_content() {
    let place = tempfile::tempdir().unwrap();
    let mut dice = fastrand::Rng::with_seed(2);
    let mut files = files(&mut dice, &[3 * CHUNK_BYTES, 100]);
    back_up(place.path(), &files);
    assert_eq!(back_up(place.path(), &files).new_bytes, 0);
    // A change of one byte costs one object, a copy under another name nothing.
    files.get_mut("folder0/file0").unwrap()[CHUNK_BYTES + 5] ^= 1;
    files.insert("copy".into(), files["folder1/file1"].clone());
    let third = back_up(place.path(), &files);
    assert_eq!((third.new_bytes, third.number), (CHUNK_BYTES as u64, 3));
    assert_eq!(restored(place.path(), &third.id).unwrap(), files);
}

#[test]
fn an_unchanged_file_is_not_read_again_unless_its_objects_are_gone() {
    let place = tempfile::tempdir().unwrap();
    let files = files(&mut fastrand::Rng::with_seed(3), &[5000]);
    back_up(place.path(), &files);
    let repository = Repository::create(place.path()).unwrap();
    let mut writer = repository.begin(&|_| true).unwrap();
    assert!(!writer.reuse("folder0/file0", 5000, 2).unwrap(), "changed since");
    assert!(!writer.reuse("folder0/file0", 4999, 1).unwrap(), "another length");
    assert!(writer.reuse("folder0/file0", 5000, 1).unwrap());
    drop(writer);
    std::fs::remove_file(an_object(place.path())).unwrap();
    assert!(!repository.begin(&|_| true).unwrap().reuse("folder0/file0", 5000, 1).unwrap());
}

#[test]
fn a_damaged_object_is_named_and_never_handed_out() {
    let place = tempfile::tempdir().unwrap();
    let manifest = back_up(place.path(), &files(&mut fastrand::Rng::with_seed(4), &[5000]));
    let object = an_object(place.path());
    let mut bytes = std::fs::read(&object).unwrap();
    bytes[77] ^= 4;
    std::fs::write(&object, bytes).unwrap();
    let error = restored(place.path(), &manifest.id).unwrap_err();
    assert!(matches!(&error, BackupError::Corrupt { path, .. } if *path == object), "{error}");
    let found = Repository::open(place.path()).unwrap().verify(&[], &mut |_| Ok::<(), BackupError>(())).unwrap();
    assert_eq!(found.damage[0].path, object);
    assert_eq!(found.damage[0].files, [format!("{}: folder0/file0", manifest.id)]);
}

#[test]
fn a_damaged_manifest_is_named_and_keeps_objects_from_being_collected() {
    let place = tempfile::tempdir().unwrap();
    let mut dice = fastrand::Rng::with_seed(5);
    let first = back_up(place.path(), &files(&mut dice, &[100]));
    let second = back_up(place.path(), &files(&mut dice, &[200]));
    let path = Repository::open(place.path()).unwrap().place(&first.id);
    let mut bytes = std::fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let found = Repository::open(place.path()).unwrap().verify(&[], &mut |_| Ok::<(), BackupError>(())).unwrap();
    assert_eq!(found.damage[0].path, path);
    let refused =
        Repository::open_to_change(place.path()).unwrap().delete(std::slice::from_ref(&second.id)).unwrap_err();
    assert!(matches!(refused, BackupError::Corrupt { .. }), "{refused}");
    assert_eq!(Repository::open(place.path()).unwrap().ids().unwrap().len(), 2, "nothing was deleted");
    // The damaged one itself can go.
    let collected = Repository::open_to_change(place.path()).unwrap().delete(&[first.id]).unwrap();
    assert_eq!((collected.objects, collected.bytes), (1, 100));
    assert!(restored(place.path(), &second.id).is_ok());
}

#[test]
fn deleting_removes_what_only_that_backup_had_and_what_interrupted_ones_left() {
    let place = tempfile::tempdir().unwrap();
    let mut dice = fastrand::Rng::with_seed(6);
    let mut content = files(&mut dice, &[100, 300]);
    let first = back_up(place.path(), &content);
    content.insert("folder0/file0".into(), vec![9; 500]);
    let second = back_up(place.path(), &content);
    {
        let repository = Repository::create(place.path()).unwrap();
        let mut writer = repository.begin(&|_| true).unwrap();
        writer.add_bytes("never finished", &[1; 700]).unwrap();
    }
    std::fs::write(place.path().join("objects/torn.writing"), b"half").unwrap();
    let repository = Repository::open_to_change(place.path()).unwrap();
    let collected = repository.delete(std::slice::from_ref(&first.id)).unwrap();
    assert_eq!((collected.objects, collected.bytes), (2, 800), "the old file0, and what was never finished");
    assert!(!place.path().join("objects/torn.writing").exists());
    drop(repository);
    assert!(matches!(restored(place.path(), &first.id).unwrap_err(), BackupError::NoBackup { .. }));
    assert_eq!(restored(place.path(), &second.id).unwrap(), content);
}

#[test]
fn one_writes_at_a_time_and_others_are_told() {
    let place = tempfile::tempdir().unwrap();
    let writing = Repository::create(place.path()).unwrap();
    assert!(matches!(Repository::create(place.path()), Err(BackupError::Held(_))));
    assert!(matches!(Repository::open(place.path()), Err(BackupError::Held(_))));
    drop(writing);
    let reading = Repository::open(place.path()).unwrap();
    assert!(Repository::open(place.path()).is_ok());
    assert!(matches!(Repository::open_to_change(place.path()), Err(BackupError::Held(_))));
    drop(reading);
    assert!(Repository::open_to_change(place.path()).is_ok());
}

#[test]
fn a_folder_of_something_else_is_refused_and_stays_as_it_was() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("letters.txt"), b"mine").unwrap();
    assert!(matches!(Repository::create(place.path()), Err(BackupError::Invalid(_))));
    assert!(matches!(Repository::open(place.path()), Err(BackupError::NotFound(_))));
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1);
}

#[test]
fn a_path_that_leads_out_of_the_folder_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let target = tempfile::tempdir().unwrap();
    for path in ["../evil", "/etc/evil", "a/../../evil", ""] {
        let manifest = back_up(place.path(), &Files::from([(path.to_string(), vec![1])]));
        let repository = Repository::open(place.path()).unwrap();
        let inside = target.path().join("inside");
        let refused = repository.restore(&manifest, &inside, &|_| true, &mut |_| Ok::<(), BackupError>(()));
        assert!(matches!(refused, Err(BackupError::Invalid(_))), "{path:?}");
    }
    assert!(!target.path().join("evil").exists());
}

#[test]
fn a_newer_layout_is_refused_with_both_versions() {
    let place = tempfile::tempdir().unwrap();
    drop(Repository::create(place.path()).unwrap());
    let newer = nuthatch_segment::seal(br#"{"format": 7, "created": "2031-01-01T00:00:00Z"}"#);
    std::fs::write(place.path().join("NUTHATCH-BACKUPS"), newer).unwrap();
    let Err(error) = Repository::open(place.path()) else { panic!("opened") };
    let said = error.to_string();
    assert!(said.contains("format 7") && said.contains("reads 1 to 1"), "{said}");
}
