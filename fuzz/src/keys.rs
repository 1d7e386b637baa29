//! Files that say who may do what, and who has done what.

use jiff::Timestamp;
use nuthatch_server::{AuditEntry, AuditFile, AuditWho, KeyFile, NewKey, Scope, Scopes};

use crate::Run;

pub fn keys() -> Run {
    let folder = tempfile::tempdir().expect("a folder");
    Box::new(move |bytes| {
        let file = KeyFile::of(folder.path());
        std::fs::write(file.path(), bytes).expect("written");
        let Ok(Some(keys)) = file.read() else { return };
        let now = Timestamp::now();
        let holding = keys.iter().filter(|key| key.holds(now)).count();
        let (made, _) = file.create(NewKey::new("new", Scopes::new([Scope::Read])), now).expect("a key more");
        let after = file.read().expect("it was written here").expect("it is there");
        assert_eq!(after.len(), keys.len() + 1);
        assert_eq!(after[..keys.len()], keys);
        assert_eq!(after.last(), Some(&made));
        // Ids that somebody wrote in may be there twice.
        if file.revoke(&made.id, now).is_ok() && !keys.iter().any(|key| key.id == made.id) {
            let after = file.read().expect("it was written here").expect("it is there");
            assert_eq!(after.iter().filter(|key| key.holds(now)).count(), holding);
        }
    })
}

pub fn audit() -> Run {
    let folder = tempfile::tempdir().expect("a folder");
    Box::new(move |bytes| {
        let file = AuditFile::of(folder.path());
        std::fs::create_dir_all(file.folder()).expect("a folder");
        std::fs::write(file.folder().join("current.jsonl"), bytes).expect("written");
        let before = file.newest(1000, |_| true).expect("a file that can be read");
        let entry = AuditEntry::new("http", AuditWho::default(), "tenant.create", &String::from_utf8_lossy(bytes));
        file.append(std::slice::from_ref(&entry)).expect("written");
        let after = file.newest(1000, |_| true).expect("a file that can be read");
        assert_eq!(after.entries.last(), Some(&entry));
        assert_eq!(after.damaged, before.damaged);
        assert_eq!(after.entries.len(), (before.entries.len() + 1).min(1000));
    })
}
