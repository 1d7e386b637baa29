//! The promises of a blob store.

use nuthatch_blob::{Access, BlobError, BlobStore, FolderStore, object};

#[test]
fn a_value_is_there_whole_after_put_and_gone_after_remove() {
    let folder = tempfile::tempdir().unwrap();
    let store = FolderStore::new(folder.path());
    assert_eq!((store.get("a/one").unwrap(), store.size("a/one").unwrap()), (None, None));
    store.put("a/two", b"second").unwrap();
    store.put("a/one", b"first").unwrap();
    store.put("b/three", b"third").unwrap();
    store.sync().unwrap();
    assert_eq!(store.get("a/one").unwrap().as_deref(), Some(&b"first"[..]));
    assert_eq!(store.size("a/two").unwrap(), Some(6));
    assert_eq!(store.list("a").unwrap(), ["a/one", "a/two"]);
    store.remove("a/one").unwrap();
    store.remove("a/one").unwrap();
    assert_eq!(store.list("a").unwrap(), ["a/two"]);
}

#[test]
fn what_an_interrupted_put_left_is_not_listed_and_tidied_under_its_prefix_alone() {
    let folder = tempfile::tempdir().unwrap();
    let store = FolderStore::new(folder.path());
    for place in ["a", "b"] {
        store.put(&format!("{place}/whole"), b"bytes").unwrap();
        std::fs::write(folder.path().join(place).join("torn.writing"), b"by").unwrap();
    }
    assert_eq!(store.list("a").unwrap(), ["a/whole"]);
    store.tidy("a").unwrap();
    assert!(!folder.path().join("a/torn.writing").exists());
    assert!(folder.path().join("b/torn.writing").exists());
    assert_eq!(store.get("a/whole").unwrap().as_deref(), Some(&b"bytes"[..]));
}

#[test]
fn an_object_is_named_by_its_content_and_a_damaged_one_is_never_returned() {
    let folder = tempfile::tempdir().unwrap();
    let store = FolderStore::new(folder.path());
    let name = object::name(b"content");
    let key = object::key(&name).unwrap();
    store.put(&key, b"content").unwrap();
    assert_eq!(object::read(&store, &name).unwrap(), b"content");
    store.put(&key, b"consent").unwrap();
    assert!(matches!(object::read(&store, &name), Err(BlobError::Corrupt { path, .. }) if path == store.place(&key)));
    store.remove(&key).unwrap();
    assert!(matches!(object::read(&store, &name), Err(BlobError::Corrupt { .. })));
    assert!(matches!(object::read(&store, "../LOCK"), Err(BlobError::Invalid(_))));
}

#[test]
fn a_change_excludes_readers_and_other_changes() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (FolderStore::new(folder.path()), FolderStore::new(folder.path()));
    let change = one.hold(Access::Change).unwrap().expect("nobody else is there");
    assert!(other.hold(Access::Read).unwrap().is_none() && other.hold(Access::Change).unwrap().is_none());
    drop(change);
    let reads = (one.hold(Access::Read).unwrap(), other.hold(Access::Read).unwrap());
    assert!(reads.0.is_some() && reads.1.is_some());
    assert!(one.hold(Access::Change).unwrap().is_none());
}
