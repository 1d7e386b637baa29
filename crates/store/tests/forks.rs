//! The promises of the store to a process that forks: in a test program of their own, because a fork has none of the
//! other threads.
#![cfg(target_os = "linux")]

use std::path::Path;

use nuthatch_store::{Batch, Reader, RocksStore, Store, StoreOptions, Table, opened_by};

fn open(folder: &Path) -> RocksStore {
    RocksStore::open(folder, StoreOptions { cache_bytes: 8 << 20, write_buffer_bytes: 4 << 20 }).unwrap()
}

fn put(store: &RocksStore, key: &str) {
    let mut batch = Batch::new();
    batch.put(Table::Kv, key.into(), vec![7; 1000]);
    store.write(batch).unwrap();
}

/// Runs `child` in a fork of this process, which ends there, and returns its result. A fork that hangs fails the test.
fn forked(child: impl FnOnce() -> bool) -> bool {
    // SAFETY: the fork is without the test harness's thread, which waits for this one and holds no lock meanwhile; glibc makes
    // its allocator usable in it. It ends by `_exit`, so nothing that belongs to the parent is dropped in it.
    let process = unsafe { libc::fork() };
    assert!(process >= 0, "{}", std::io::Error::last_os_error());
    if process == 0 {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child)).unwrap_or(false);
        // SAFETY: takes a number and does not return.
        unsafe { libc::_exit(i32::from(!outcome)) };
    }
    for _ in 0..600 {
        let mut status = 0;
        // SAFETY: the process is a child of this one, and the status is a local variable.
        let ended = unsafe { libc::waitpid(process, &mut status, libc::WNOHANG) };
        if ended == process {
            return libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    // SAFETY: a number and a signal, of the child that has not been waited for.
    unsafe { libc::kill(process, libc::SIGKILL) };
    panic!("the fork hangs");
}

#[test]
fn a_fork_of_a_process_that_has_closed_its_stores_opens_and_works() {
    let folder = tempfile::tempdir().unwrap();
    let (own, other) = (folder.path().join("own"), folder.path().join("other"));
    assert_eq!(opened_by(), None);
    for round in 0..3 {
        let (store, second) = (open(&own), open(&other));
        put(&store, "parent");
        store.flush().unwrap();
        drop(store);
        assert_eq!(opened_by(), Some(std::process::id()), "the second needs the threads");
        put(&second, "second");
        second.flush().unwrap();
        let parent = std::process::id();
        assert!(forked(|| opened_by() == Some(parent)), "a fork meanwhile knows that it cannot");
        drop(second);
        assert_eq!(opened_by(), None);
        let key = format!("child {round}");
        let works = forked(|| {
            let store = open(&own);
            put(&store, &key);
            // Threads write this out, and merge it with what the parent has written.
            store.flush().unwrap();
            store.tidy(true).unwrap();
            store.get(Table::Kv, b"parent").unwrap().is_some() && opened_by() == Some(std::process::id())
        });
        assert!(works, "round {round}");
        assert!(open(&own).get(Table::Kv, key.as_bytes()).unwrap().is_some());
    }
}
