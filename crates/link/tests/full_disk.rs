//! A full disk: a clear error, everything acknowledged still there, and writing goes on once there is room.
//!
//! Needs a small file system of its own: a tmpfs, which only root may mount. Skips with a message elsewhere.
#![cfg(target_os = "linux")]

mod support;

use std::path::Path;
use std::process::Command;

use nuthatch_link::*;
use support::*;

struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount(mebibytes: u32) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={mebibytes}m"), "nuthatch-test"])
            .arg(folder.path())
            .output()
            .is_ok_and(|output| output.status.success());
        mounted.then_some(Self(folder))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        Command::new("umount").arg(self.0.path()).status().ok();
    }
}

#[test]
fn a_full_disk_refuses_by_name_and_loses_nothing() {
    let Some(disk) = SmallDisk::mount(24) else {
        println!("skipped: a full disk needs a file system of its own, and this user may not mount one");
        return;
    };
    let folder = disk.path().join("memory");
    let ballast = disk.path().join("ballast");
    let mut dice = fastrand::Rng::with_seed(21);
    let mut model = Model::new();
    let error = {
        let db = Database::open(&folder, quiet()).unwrap();
        let notes = db.collection("notes", no_embedder()).unwrap();
        for n in 0..50 {
            let kept = random_kept(&mut dice, true);
            notes.upsert(vec![record(&format!("r{n}"), &kept)]).unwrap();
            model.insert(format!("r{n}"), kept);
        }
        notes.wait_until_indexed(None).unwrap();
        // Someone else fills the disk.
        let filled = std::fs::write(&ballast, vec![1; 64 << 20]);
        assert_eq!(filled.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
        let mut refused = None;
        for n in 0..2000 {
            let kept = random_kept(&mut dice, true);
            match notes.upsert(vec![record(&format!("late{n}"), &kept)]) {
                Ok(_) => drop(model.insert(format!("late{n}"), kept)),
                Err(error) => {
                    refused = Some(error);
                    break;
                }
            }
        }
        let error = refused.expect("2,000 records fit on a full disk");
        // Existing records still answer.
        assert_same(&notes, &model, &mut dice, "disk full");
        // Room again: writing goes on by itself, after a while.
        std::fs::remove_file(&ballast).unwrap();
        let kept = random_kept(&mut dice, true);
        let goes_on = (0..300).any(|_| {
            let written = notes.upsert(vec![record("again", &kept)]);
            written.is_ok() || {
                std::thread::sleep(std::time::Duration::from_millis(100));
                false
            }
        });
        assert!(goes_on, "nothing can be written although there is room");
        model.insert("again".into(), kept);
        db.close().ok(); // there may be no room to write what is buffered; the log has it
        error
    };
    assert!(matches!(error.kind, ErrorKind::Exhausted | ErrorKind::Closed), "{:?} {error}", error.kind);
    assert!(error.message.to_lowercase().contains("space") || error.message.contains("full"), "{error}");

    let db = Database::open(&folder, quiet()).unwrap();
    let notes = db.collection("notes", no_embedder()).unwrap();
    assert_same(&notes, &model, &mut dice, "room again");
    let kept = random_kept(&mut dice, true);
    notes.upsert(vec![record("after", &kept)]).unwrap();
    model.insert("after".into(), kept);
    notes.wait_until_indexed(None).unwrap();
    assert_same(&notes, &model, &mut dice, "written again");
    assert!(db.doctor().unwrap().is_well(), "{:?}", db.doctor().unwrap());
    println!("proof: {} records were kept through a full disk, which said {:?}", model.len(), error.message);
}
