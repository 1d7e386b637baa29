//! A group on a bucket in memory or in a folder: takeover, fencing, lost answers, damage, trimming, erasing.

mod machine;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use machine::*;
use nuthatch_cluster::*;
use nuthatch_store::{Extent, Store, StoreError};

#[test]
fn a_second_node_takes_over_with_every_acknowledged_write_and_the_first_is_fenced() {
    let (_root, one, two) = folders();
    let log = cluster(&Bucket::in_memory().unwrap());
    let first = owning(&log, &one);
    first.put("a", b"1").unwrap();
    first.put("b", b"2").unwrap();
    let mut follower = Follower::start(&log, &two).unwrap();
    // While the owner lives, nobody takes over: it is followed for three leases.
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(3 * LEASE_MS));
            stop.store(true, Ordering::SeqCst);
        });
        assert_eq!(follower.follow(&stop).unwrap(), Followed::Stopped);
    });
    assert_eq!(names(&rows(&*follower.store)), ["a", "b"]);
    // The owner stops beating, as one that hangs does; it does not know.
    let hung = Hung::around(log.clone());
    drop(first);
    let mut third = Follower::start(&log, &one).unwrap();
    assert!(matches!(third.take_over().unwrap(), Followed::Owns(2)));
    let third = third.own_through(hung.clone());
    third.put("c", b"3").unwrap();
    hung.hangs.store(true, Ordering::SeqCst);
    assert_eq!(follower.take_over().unwrap(), Followed::Owns(3));
    let second = follower.own();
    second.put("d", b"4").unwrap();
    hung.hangs.store(false, Ordering::SeqCst);
    let error = third.put("e", b"5").unwrap_err();
    assert!(matches!(error, StoreError::Fenced { epoch: 3 }), "{error}");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_eq!(runtime.block_on(third.owner.leave()), Err(Lost::Ended(End::Fenced(3))), "it answers nobody");
    assert_eq!(runtime.block_on(second.owner.leave()), Ok(()));
    assert_eq!(names(&rows(&*second.store)), ["a", "b", "c", "d"]);
}

#[test]
fn a_released_group_is_taken_over_without_waiting_for_its_lease() {
    let (_root, one, two) = folders();
    let log = cluster(&Bucket::in_memory().unwrap());
    let first = owning(&log, &one);
    first.put("a", b"1").unwrap();
    let released = first.owner.release("").unwrap();
    assert_eq!(released.place, 1);
    assert!(matches!(first.put("b", b"2"), Err(StoreError::Fenced { .. })), "it writes no more");
    let mut next = Follower::start(&log, &two).unwrap();
    assert_eq!(next.take_over().unwrap(), Followed::Owns(2));
    // Both entries, fence and release, are there, and nothing else was waited for.
    assert_eq!(next.group.known().slot, 4);
    assert_eq!(names(&rows(&*next.store)), ["a"]);
}

#[test]
fn many_writers_share_one_entry() {
    let (_root, one, _) = folders();
    let log = cluster(&Bucket::in_memory().unwrap());
    let hung = Hung::around(log.clone());
    let mut follower = Follower::start(&log, &one).unwrap();
    follower.take_over().unwrap();
    let machine = follower.own_through(hung.clone());
    machine.put("first", b"").unwrap();
    hung.hangs.store(true, Ordering::SeqCst);
    until(|| hung.waiting.load(Ordering::SeqCst) > 0); // an append is under way
    let before = machine.owner.known();
    let positions: Vec<_> = (0..50).map(|n| machine.store.write(put(&format!("{n:02}"), b"v")).unwrap()).collect();
    hung.hangs.store(false, Ordering::SeqCst);
    machine.store.sync(*positions.last().unwrap()).unwrap();
    let after = machine.owner.known();
    assert_eq!(after.place - before.place, 50);
    assert!(after.slot - before.slot <= 3, "50 writes took the slots from {} to {}", before.slot, after.slot);
}

#[test]
fn a_lost_answer_is_settled_by_reading_the_object_back() {
    let (_root, one, two) = folders();
    let log = cluster(&Bucket::in_memory().unwrap());
    for (done, what) in [(true, "the entry is there"), (false, "the entry is not there")] {
        let deaf = Arc::new(Deaf { log: log.clone(), every: 3, done, count: AtomicUsize::new(0) });
        let mut follower = Follower::start(&log, &one).unwrap();
        follower.take_over().unwrap();
        let machine = follower.own_through(deaf.clone());
        for n in 0..20 {
            machine.put(&format!("{what} {n:02}"), b"v").unwrap();
        }
        assert!(deaf.count.load(Ordering::SeqCst) > 20, "some were lost");
        machine.owner.release("").unwrap();
    }
    let mut second = Follower::start(&log, &two).unwrap();
    assert!(matches!(second.take_over().unwrap(), Followed::Owns(_)));
    assert_eq!(second.group.known().place, 40, "each batch is in the log once");
    assert_eq!(rows(&*second.store).len(), 40);
}

#[test]
fn the_log_is_trimmed_behind_a_checkpoint_and_fences_stay() {
    let (_root, one, two) = folders();
    let log = cluster(&Bucket::in_memory().unwrap());
    let machine = owning(&log, &one);
    for n in 0..10 {
        machine.put(&format!("{n}"), &[n; 100]).unwrap();
    }
    let published = machine.store.checkpoint(2).unwrap();
    assert_eq!(published.trimmed, 0, "one checkpoint alone may turn out to be damaged");
    let first = log.base().checkpoints().unwrap()[0].slot;
    machine.put("more", b"v").unwrap();
    let published = machine.store.checkpoint(2).unwrap();
    assert_eq!(published.trimmed, first - 1, "all entries of the first checkpoint, but for its fence");
    assert!(published.new_bytes < published.bytes, "what the first one has is not stored again: {published:?}");
    let left: Vec<u64> = log.slots(0).unwrap().into_iter().map(|(slot, _)| slot).collect();
    assert_eq!(left[0], 1, "the fence");
    assert_eq!(left[1], first + 1, "everything behind the first checkpoint");
    machine.put("last", b"v").unwrap();
    let whole = rows(&*machine.store);
    drop(machine);
    let mut second = Follower::start(&log, &two).unwrap();
    assert_eq!(second.take_over().unwrap(), Followed::Owns(2));
    assert_eq!(rows(&*second.store), whole);
    assert_eq!(whole.len(), 12);
}

#[test]
fn a_follower_that_slept_through_a_trim_begins_again() {
    sleep_through_a_trim(&cluster(&Bucket::in_memory().unwrap()));
}

#[test]
fn a_follower_reads_thousands_of_slots_without_a_checkpoint() {
    let (_root, one, _) = folders();
    let log = cluster(&Bucket::in_memory().unwrap());
    let entry = |kind| Entry { epoch: 1, writer: 1, before: 0, kind };
    log.append(1, &entry(Kind::Fence { address: "x".into(), reach: Reach::default() })).unwrap();
    for slot in 2..=9000 {
        log.append(slot, &entry(Kind::Batches(Vec::new()))).unwrap();
    }
    let mut follower = Follower::start(&log, &one).unwrap();
    assert_eq!(follower.take_over().unwrap(), Followed::Owns(2));
    assert_eq!(follower.group.known().slot, 9001);
}

#[test]
fn what_is_reclaimed_goes_from_the_bucket_too() {
    let root = tempfile::tempdir().unwrap();
    let place = root.path().join("bucket");
    let log = cluster(&Bucket::open(&format!("file://{}", place.display())).unwrap());
    let machine = owning(&log, &root.path().join("one"));
    let secret = b"the-marker-that-must-go".repeat(20);
    machine.put("kept", b"v").unwrap();
    machine.put("secret", &secret).unwrap();
    machine.store.checkpoint(2).unwrap();
    assert!(holds(&place, &secret), "it is in the bucket before");
    let mut batch = nuthatch_store::Batch::new();
    batch.delete(nuthatch_store::Table::Kv, key("secret"));
    let position = machine.store.write(batch).unwrap();
    machine.store.sync(position).unwrap();
    machine.store.upkeep().unwrap().reclaim_before(Extent::Everything, machine.store.latest()).unwrap();
    assert!(!holds(&place, &secret[..20]), "it is in the bucket still");
    drop(machine);
    let mut second = Follower::start(&log, &root.path().join("two")).unwrap();
    second.take_over().unwrap();
    assert_eq!(names(&rows(&*second.store)), ["kept"]);
}

#[test]
fn one_flipped_byte_in_any_object_is_named() {
    let root = tempfile::tempdir().unwrap();
    let place = root.path().join("bucket");
    let log = cluster(&Bucket::open(&format!("file://{}", place.display())).unwrap());
    let machine = owning(&log, &root.path().join("one"));
    for n in 0..5 {
        machine.put(&format!("{n}"), &[n; 300]).unwrap();
        if n == 1 || n == 3 {
            machine.store.checkpoint(2).unwrap();
        }
    }
    machine.owner.release("").unwrap();
    assert_eq!(checkpoint::verify(&*log).unwrap().len(), 0);
    let whole = rows(&*machine.store);
    drop(machine);
    let oldest = log.base().checkpoints().unwrap()[0].slot;
    let mut dice = fastrand::Rng::with_seed(7);
    let mut flipped = 0;
    for file in files(&place) {
        let bytes = std::fs::read(&file).unwrap();
        let name = file.strip_prefix(&place).unwrap().to_string_lossy().into_owned();
        // A fence below the checkpoints is read by nobody.
        if name.strip_prefix("groups/0/log/").is_some_and(|slot| slot.parse::<u64>().unwrap() <= oldest) {
            continue;
        }
        let mut damaged = bytes.clone();
        let at = dice.usize(0..bytes.len());
        damaged[at] ^= 1 << dice.u32(0..8);
        std::fs::write(&file, &damaged).unwrap();
        match name == "CLUSTER" {
            true => {
                let error = ObjectLog::open(log.base().bucket()).err().expect("the identity is damaged").to_string();
                assert!(error.contains("CLUSTER"), "{error}");
            }
            false => {
                let damage = checkpoint::verify(&*log).unwrap();
                assert_eq!(damage.len(), 1, "{name} at {at}: {damage:?}");
                assert!(damage[0].to_string().contains(&name), "{name} at {at}: {}", damage[0]);
            }
        }
        std::fs::write(&file, &bytes).unwrap();
        flipped += 1;
    }
    assert!(flipped > 10, "{flipped} objects");
    let mut second = Follower::start(&log, &root.path().join("two")).unwrap();
    second.take_over().unwrap();
    assert_eq!(rows(&*second.store), whole);
}

#[test]
fn a_damaged_checkpoint_is_told_and_the_one_before_it_is_used() {
    let root = tempfile::tempdir().unwrap();
    let place = root.path().join("bucket");
    let log = cluster(&Bucket::open(&format!("file://{}", place.display())).unwrap());
    let machine = owning(&log, &root.path().join("one"));
    for n in 0..6 {
        machine.put(&format!("{n}"), &[n; 3000]).unwrap();
        if n % 2 == 1 {
            machine.store.checkpoint(2).unwrap();
        }
    }
    let whole = rows(&*machine.store);
    machine.owner.release("").unwrap();
    drop(machine);
    let [older, newest] = log.base().checkpoints().unwrap()[..] else { panic!("two are kept") };
    let pieces = |mark| -> Vec<String> {
        log.base().manifest(mark).unwrap().files.into_iter().flat_map(|file| file.pieces).collect()
    };
    let own = pieces(newest).into_iter().find(|piece| !pieces(older).contains(piece)).unwrap();
    let file = place.join("groups/0/pieces").join(&own);
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[0] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let mut second = Follower::start(&log, &root.path().join("two")).unwrap();
    assert!(second.told.len() == 1 && second.told[0].contains(&own), "{:?}", second.told);
    assert_eq!(second.group.known().mark(), older);
    second.take_over().unwrap();
    assert_eq!(rows(&*second.store), whole);
}

#[test]
fn a_bucket_of_another_cluster_or_a_newer_program_is_refused() {
    let bucket = Bucket::in_memory().unwrap();
    let none = ObjectLog::open(&bucket).err().unwrap().to_string();
    assert!(none.contains("nuthatch-cluster init"), "{none}");
    let log = cluster(&bucket);
    let again = ObjectLog::init(&bucket, LEASE_MS).unwrap_err().to_string();
    assert!(again.contains("has a cluster already"), "{again}");
    let other = cluster(&Bucket::in_memory().unwrap());
    let entry =
        Entry { epoch: 1, writer: 1, before: 0, kind: Kind::Fence { address: "x".into(), reach: Reach::default() } };
    log.append(1, &entry).unwrap();
    let bytes = bucket.get("groups/0/log/00000000000000000001").unwrap().unwrap();
    other.base().bucket().create("groups/0/log/00000000000000000001", bytes).unwrap();
    let error = other.read(1).unwrap_err().to_string();
    assert!(error.contains("another cluster"), "{error}");
    assert_eq!(log.read(1).unwrap(), Some(entry));
}

#[test]
fn the_doctor_finds_no_fault_in_a_bucket_that_creates_objects_once() {
    let root = tempfile::tempdir().unwrap();
    for bucket in [Bucket::in_memory().unwrap(), Bucket::open(&format!("file://{}", root.path().display())).unwrap()] {
        let checked = check_bucket(&bucket).unwrap();
        assert_eq!(checked.problems, Vec::<String>::new());
        assert!(bucket.list("doctor", "").unwrap().is_empty(), "it leaves nothing behind");
    }
}

#[test]
fn the_doctor_names_a_bucket_that_replaces_objects() {
    let careless = object_store::memory::InMemory::new();
    let bucket = Bucket::over(Arc::new(Careless(careless)), "", "careless://").unwrap();
    let checked = check_bucket(&bucket).unwrap();
    assert!(checked.problems.iter().any(|problem| problem.contains("If-None-Match")), "{checked:?}");
    assert!(checked.problems.iter().any(|problem| problem.contains("twice")), "{checked:?}");
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

fn holds(folder: &Path, bytes: &[u8]) -> bool {
    files(folder).iter().any(|file| {
        let whole = std::fs::read(file).unwrap();
        whole.windows(bytes.len()).any(|window| window == bytes)
    })
}

/// A store that does not look whether an object is there.
#[derive(Debug)]
struct Careless(object_store::memory::InMemory);

impl std::fmt::Display for Careless {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("careless")
    }
}

#[async_trait::async_trait]
impl object_store::ObjectStore for Careless {
    async fn put_opts(
        &self,
        location: &object_store::path::Path,
        payload: object_store::PutPayload,
        options: object_store::PutOptions,
    ) -> object_store::Result<object_store::PutResult> {
        let options = object_store::PutOptions { mode: object_store::PutMode::Overwrite, ..options };
        self.0.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &object_store::path::Path,
        options: object_store::PutMultipartOptions,
    ) -> object_store::Result<Box<dyn object_store::MultipartUpload>> {
        self.0.put_multipart_opts(location, options).await
    }

    async fn get_opts(
        &self,
        location: &object_store::path::Path,
        options: object_store::GetOptions,
    ) -> object_store::Result<object_store::GetResult> {
        self.0.get_opts(location, options).await
    }

    fn delete_stream(
        &self,
        locations: futures_util::stream::BoxStream<'static, object_store::Result<object_store::path::Path>>,
    ) -> futures_util::stream::BoxStream<'static, object_store::Result<object_store::path::Path>> {
        self.0.delete_stream(locations)
    }

    fn list(
        &self,
        prefix: Option<&object_store::path::Path>,
    ) -> futures_util::stream::BoxStream<'static, object_store::Result<object_store::ObjectMeta>> {
        self.0.list(prefix)
    }

    async fn list_with_delimiter(
        &self,
        prefix: Option<&object_store::path::Path>,
    ) -> object_store::Result<object_store::ListResult> {
        self.0.list_with_delimiter(prefix).await
    }

    async fn copy_opts(
        &self,
        from: &object_store::path::Path,
        to: &object_store::path::Path,
        options: object_store::CopyOptions,
    ) -> object_store::Result<()> {
        self.0.copy_opts(from, to, options).await
    }
}

#[test]
fn a_fence_says_how_its_owner_is_reached_and_a_release_who_is_next() {
    let log = cluster(&Bucket::in_memory().unwrap());
    let watch = Watch { address: "10.0.0.1:4000".into(), seal: Watch::seal(&[7; 32]) };
    let address = || "10.0.0.1:7700".to_string();
    let kinds = [
        Kind::Fence { address: address(), reach: Reach { watch: Some(watch.clone()), redis: "10.0.0.1:6380".into() } },
        Kind::Fence { address: address(), reach: Reach { watch: Some(watch), redis: String::new() } },
        Kind::Fence { address: address(), reach: Reach { watch: None, redis: "10.0.0.1:6380".into() } },
        Kind::Fence { address: address(), reach: Reach::default() },
        Kind::Release { heir: "10.0.0.2:7700".into() },
        Kind::Release { heir: String::new() },
    ];
    for (slot, kind) in (1..).zip(kinds) {
        let entry = Entry { epoch: 1, writer: 1, before: 0, kind };
        assert_eq!(log.append(slot, &entry).unwrap(), Appended::Stored);
        assert_eq!(log.read(slot).unwrap(), Some(entry));
    }
    // A trim keeps all that are fences, and nothing else.
    log.trim(6).unwrap();
    let kept: Vec<u64> = log.slots(0).unwrap().into_iter().map(|(slot, _)| slot).collect();
    assert_eq!(kept, [1, 2, 3, 4]);
}
