//! A group's log in rows of a database that can compare and set one: lost and late answers, takeover, trimming, damage.
//!
//! The database is one in memory that misbehaves as real ones do. `crates/cassandra` has the same on a real one.

mod machine;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use machine::*;
use nuthatch_cluster::*;
use nuthatch_store::{Extent, Store, StoreError};
use parking_lot::Mutex;

/// The fate of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Answered,
    /// It is done, and nobody hears of it.
    DoneUnheard,
    /// It is lost.
    Lost,
    /// It is done later, before some later request.
    Late,
}

#[derive(Default)]
struct Table {
    head: Head,
    tenures: Vec<Tenure>,
    parts: BTreeMap<(Slot, u128, u32), Part>,
    late: Vec<Advance>,
    dice: Option<fastrand::Rng>,
    /// Of changes of the head: done, refused, and answers that did not come.
    counts: [usize; 3],
}

impl Table {
    fn step(&mut self, step: &Advance) -> Advanced {
        let head = &self.head;
        let owns = match &step.change {
            Change::Owner { epoch, .. } => head.epoch + 1 == *epoch,
            Change::Nothing | Change::Released => head.tenure.is_some_and(|tenure| tenure.writer == step.writer),
        };
        if head.slot + 1 != step.slot || head.place != step.before || !owns {
            self.counts[1] += 1;
            return Advanced::Refused;
        }
        self.counts[0] += 1;
        self.head.slot = step.slot;
        self.head.place = step.place;
        match &step.change {
            Change::Owner { epoch, address } => {
                let tenure = Tenure { first: step.slot, epoch: *epoch, writer: step.writer };
                self.tenures.push(tenure);
                self.head.epoch = *epoch;
                self.head.address.clone_from(address);
                self.head.tenure = Some(tenure);
            }
            Change::Released => self.head.address.clear(),
            Change::Nothing => {}
        }
        Advanced::Done
    }

    fn fate(&mut self) -> Fate {
        let Some(dice) = &mut self.dice else { return Fate::Answered };
        match dice.u32(0..10) {
            0 => Fate::DoneUnheard,
            1 => Fate::Lost,
            2 => Fate::Late,
            _ => Fate::Answered,
        }
    }
}

/// Rows that are fetched at once: few, so that entries are cut.
const SOME_ROWS: usize = 5;

/// A database in memory.
#[derive(Default)]
struct MemoryRows(Mutex<Table>);

fn unheard() -> ClusterError {
    ClusterError::Unreachable { place: "memory".into(), object: "head".into(), what: "a test lost the answer".into() }
}

impl Rows for MemoryRows {
    fn head(&self, settled: bool) -> Result<Head> {
        let mut table = self.0.lock();
        if table.fate() == Fate::Lost {
            return Err(unheard());
        }
        // One that is decided is done; one that has not begun may still come.
        if settled && table.dice.as_mut().is_some_and(|dice| dice.bool()) {
            for step in std::mem::take(&mut table.late) {
                table.step(&step);
            }
        }
        Ok(table.head.clone())
    }

    fn tenure(&self, slot: Slot) -> Result<Option<Tenure>> {
        Ok(self.0.lock().tenures.iter().rfind(|tenure| tenure.first <= slot).copied())
    }

    fn put(&self, slot: Slot, writer: u128, parts: Vec<Part>) -> Result<()> {
        let mut table = self.0.lock();
        let fate = table.fate();
        if fate != Fate::Lost {
            table.parts.extend(parts.into_iter().map(|part| ((slot, writer, part.number), part)));
        }
        if matches!(fate, Fate::Answered | Fate::Late) { Ok(()) } else { Err(unheard()) }
    }

    fn parts(&self, slot: Slot, writer: u128) -> Result<Vec<Part>> {
        let table = self.0.lock();
        Ok(table.parts.range((slot, writer, 0)..=(slot, writer, u32::MAX)).map(|(_, part)| part.clone()).collect())
    }

    fn some(&self, from: Slot, through: Slot) -> Result<Vec<(Slot, u128, Part)>> {
        let table = self.0.lock();
        let found = table.parts.range((from, 0, 0)..=(through, u128::MAX, u32::MAX)).take(SOME_ROWS);
        Ok(found.map(|((slot, writer, _), part)| (*slot, *writer, part.clone())).collect())
    }

    fn advance(&self, step: &Advance) -> Result<Advanced> {
        let mut table = self.0.lock();
        let is_late_now = table.dice.as_mut().is_some_and(|dice| dice.u32(0..3) == 0);
        if is_late_now {
            for step in std::mem::take(&mut table.late) {
                table.step(&step);
            }
        }
        match table.fate() {
            Fate::Answered => return Ok(table.step(step)),
            Fate::DoneUnheard => drop(table.step(step)),
            Fate::Lost => {}
            Fate::Late => table.late.push(step.clone()),
        }
        table.counts[2] += 1;
        Err(unheard())
    }

    fn raise_trimmed(&self, through: Slot) -> Result<()> {
        let mut table = self.0.lock();
        table.head.trimmed = table.head.trimmed.max(through);
        Ok(())
    }

    fn remove(&self, through: Slot) -> Result<()> {
        self.0.lock().parts.retain(|(slot, ..), _| *slot > through);
        Ok(())
    }

    fn sizes(&self, bucket: u64) -> Result<Vec<Size>> {
        let table = self.0.lock();
        let inside = table.parts.iter().filter(|((slot, ..), _)| slot / SLOTS_IN_BUCKET == bucket);
        Ok(inside
            .map(|((slot, writer, _), part)| Size { slot: *slot, writer: *writer, bytes: part.body.len() as u64 })
            .collect())
    }
}

fn in_bucket(bucket: &Bucket) -> (Arc<dyn Log>, Arc<MemoryRows>) {
    let identity = Identity::new(LEASE_MS, Some("rows in memory".into())).unwrap();
    let base = Base::init(bucket, &identity).unwrap();
    let rows = Arc::new(MemoryRows::default());
    (Arc::new(RowLog::new(base, "memory", rows.clone())), rows)
}

fn rows_in_memory() -> (Arc<dyn Log>, Arc<MemoryRows>) {
    in_bucket(&Bucket::in_memory().unwrap())
}

fn fence(writer: u128, epoch: u64, before: u64) -> Entry {
    Entry { epoch, writer, before, kind: Kind::Fence { address: format!("node-{writer}"), reach: Reach::default() } }
}

fn batches(writer: u128, epoch: u64, before: u64, bytes: &[&[u8]]) -> Entry {
    Entry { epoch, writer, before, kind: Kind::Batches(bytes.iter().map(|bytes| Arc::from(*bytes)).collect()) }
}

#[test]
fn a_deposed_owner_commits_nothing_although_its_rows_are_there() {
    let (log, rows) = rows_in_memory();
    assert_eq!(log.append(1, &fence(1, 1, 0)).unwrap(), Appended::Stored);
    let own = batches(1, 1, 0, &[b"own"]);
    assert_eq!(log.append(2, &own).unwrap(), Appended::Stored);
    let next = fence(2, 2, 1);
    assert_eq!(log.append(3, &next).unwrap(), Appended::Stored);
    let late = batches(1, 1, 1, &[b"late"]);
    assert_eq!(log.append(3, &late).unwrap(), Appended::Occupied(next.clone()));
    assert_eq!(rows.parts(3, 1).unwrap().len(), 1, "its rows lie there");
    assert_eq!(log.read(3).unwrap(), Some(next), "and nobody reads them");
    assert_eq!(log.read(2).unwrap(), Some(own));
    assert_eq!(log.read(4).unwrap(), None);
    // Rows of a slot that the head has not reached.
    rows.put(4, 2, vec![Part { number: 0, of: 1, body: b"early".to_vec() }]).unwrap();
    assert_eq!(log.read(4).unwrap(), None);
    assert_eq!(
        log.head().unwrap(),
        Known { slot: 3, epoch: 2, place: 1, address: "node-2".into(), ..Known::default() }
    );
    assert_eq!(log.slots(0).unwrap().iter().map(|(slot, _)| *slot).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn one_of_two_fences_for_the_same_slot_counts_and_the_other_follows_it() {
    let (log, _) = rows_in_memory();
    let (one, two) = (fence(1, 1, 0), fence(2, 1, 0));
    assert_eq!(log.append(1, &one).unwrap(), Appended::Stored);
    assert_eq!(log.append(1, &two).unwrap(), Appended::Occupied(one.clone()));
    assert_eq!(log.append(1, &one).unwrap(), Appended::Stored, "sent again, it is there once");
    assert_eq!(log.head().unwrap().slot, 1);
}

#[test]
fn an_entry_of_many_parts_comes_back_whole() {
    let (log, rows) = rows_in_memory();
    log.append(1, &fence(1, 1, 0)).unwrap();
    let large = vec![7u8; 3 * PART_BYTES + 5];
    let entry = batches(1, 1, 0, &[&large, b"", b"small"]);
    log.append(2, &entry).unwrap();
    assert_eq!(rows.parts(2, 1).unwrap().len(), 4);
    assert_eq!(log.read(2).unwrap(), Some(entry));
    let sizes = log.slots(1).unwrap();
    assert!(sizes.len() == 1 && sizes[0].1 > large.len() as u64, "{sizes:?}");
}

/// Two nodes write in turns through a database that loses every fifth answer, does requests late, and lets some never come. Each
/// settles what it does not know as the protocol does: it asks, and sends the same again.
#[test]
fn an_unknown_outcome_is_settled_and_nothing_is_there_twice_or_lost() {
    let (mut unheard, mut refused, mut lost_races) = (0, 0, 0);
    for seed in 0..300 {
        let (log, rows) = rows_in_memory();
        let mut dice = fastrand::Rng::with_seed(seed);
        rows.0.lock().dice = Some(dice.fork());
        let mut known = [Known::default(), Known::default()];
        let mut owner = None;
        let mut written = Vec::new();
        for turn in 0..60u64 {
            // Sometimes the other one takes over.
            let node = match owner {
                Some(owner) if dice.u32(0..8) > 0 => owner,
                Some(owner) => 1 - owner,
                None => dice.usize(0..2),
            };
            let writer = node as u128 + 1;
            // Reads the entries that it does not know yet.
            loop {
                match log.read(known[node].slot + 1) {
                    Ok(Some(entry)) => {
                        known[node] = Known {
                            slot: known[node].slot + 1,
                            epoch: entry.epoch,
                            place: entry.through(),
                            ..Known::default()
                        };
                        if entry.is_kept() {
                            owner = Some(entry.writer as usize - 1);
                        }
                    }
                    Ok(None) => break,
                    Err(ClusterError::Unreachable { .. }) => {}
                    Err(error) => panic!("seed {seed}, turn {turn}: {error}"),
                }
            }
            let Known { slot, epoch, place, .. } = known[node];
            let token = turn.to_le_bytes();
            let entry = match owner == Some(node) {
                true => batches(writer, epoch, place, &[&token]),
                false => fence(writer, epoch + 1, place),
            };
            // As the protocol does: the same entry, until it or another one is known to be there.
            let appended = loop {
                match log.append(slot + 1, &entry) {
                    Ok(appended) => break appended,
                    Err(ClusterError::Unreachable { .. }) => match log.read(slot + 1) {
                        Ok(Some(found)) if found == entry => break Appended::Stored,
                        Ok(Some(found)) => break Appended::Occupied(found),
                        Ok(None) | Err(ClusterError::Unreachable { .. }) => {}
                        Err(error) => panic!("seed {seed}, turn {turn}: {error}"),
                    },
                    Err(error) => panic!("seed {seed}, turn {turn}: {error}"),
                }
            };
            match appended {
                Appended::Stored if entry.is_kept() => owner = Some(node),
                Appended::Stored => written.push(token.to_vec()),
                Appended::Occupied(found) => {
                    assert_ne!(found, entry);
                    lost_races += 1;
                }
            }
        }
        let mut table = rows.0.lock();
        for step in std::mem::take(&mut table.late) {
            assert_eq!(
                table.step(&step),
                Advanced::Refused,
                "seed {seed}: what comes after its settlement does nothing"
            );
        }
        unheard += table.counts[2];
        refused += table.counts[1];
        table.dice = None;
        drop(table);
        let head = log.head().unwrap();
        let mut found = Vec::new();
        for slot in 1..=head.slot {
            let entry = log.read(slot).unwrap().unwrap();
            assert_eq!(entry.before, found.len() as u64, "seed {seed}, slot {slot}");
            found.extend(entry.batches().iter().map(|batch| batch.to_vec()));
        }
        assert_eq!(found, written, "seed {seed}");
        assert_eq!(head.place, found.len() as u64);
    }
    println!("{unheard} answers did not come, {refused} steps were refused, {lost_races} races were lost");
    assert!(unheard > 1000 && refused > 1000, "too little went wrong: {unheard}, {refused}");
}

#[test]
fn a_head_behind_an_acknowledged_write_is_said_to_have_lost_it() {
    let (log, rows) = rows_in_memory();
    log.append(1, &fence(1, 1, 0)).unwrap();
    log.append(2, &batches(1, 1, 0, &[b"a"])).unwrap();
    // The database is set back, as a restored snapshot of it is.
    rows.0.lock().head.slot = 1;
    rows.0.lock().head.place = 0;
    let error = log.append(3, &batches(1, 1, 1, &[b"b"])).unwrap_err();
    assert!(matches!(error, ClusterError::Corrupt { .. }), "{error}");
    assert!(error.to_string().contains("lost an acknowledged write"), "{error}");
}

#[test]
fn a_second_node_takes_over_with_every_acknowledged_write_and_the_first_is_fenced() {
    let (_root, one, two) = folders();
    let (log, _) = rows_in_memory();
    let mut first = Follower::start(&log, &one).unwrap();
    assert_eq!(first.take_over().unwrap(), Followed::Owns(1));
    let hung = Hung::around(log.clone());
    let first = first.own_through(hung.clone());
    first.put("a", b"1").unwrap();
    first.put("b", b"2").unwrap();
    let mut follower = Follower::start(&log, &two).unwrap();
    hung.hangs.store(true, Ordering::SeqCst);
    assert_eq!(follower.take_over().unwrap(), Followed::Owns(2));
    let second = follower.own();
    second.put("c", b"3").unwrap();
    hung.hangs.store(false, Ordering::SeqCst);
    let error = first.put("d", b"4").unwrap_err();
    assert!(matches!(error, StoreError::Fenced { epoch: 2 }), "{error}");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_eq!(runtime.block_on(first.owner.leave()), Err(Lost::Ended(End::Fenced(2))), "it answers nobody");
    assert_eq!(runtime.block_on(second.owner.leave()), Ok(()));
    assert_eq!(names(&rows(&*second.store)), ["a", "b", "c"]);
    second.owner.release("").unwrap();
    assert_eq!(log.head().unwrap().address, "", "nobody's lease needs to be waited for");
}

#[test]
fn a_deposed_owner_whose_slot_was_trimmed_meanwhile_commits_nothing() {
    let (_root, one, two) = folders();
    let (log, rows) = rows_in_memory();
    let mut first = Follower::start(&log, &one).unwrap();
    first.take_over().unwrap();
    let hung = Hung::around(log.clone());
    let first = first.own_through(hung.clone());
    first.put("a", b"1").unwrap();
    hung.hangs.store(true, Ordering::SeqCst);
    let mut follower = Follower::start(&log, &two).unwrap();
    follower.take_over().unwrap();
    let second = follower.own();
    second.put("b", b"2").unwrap();
    second.store.checkpoint(1).unwrap();
    let trimmed = log.base().checkpoints().unwrap()[0].slot;
    assert!(rows.0.lock().parts.keys().all(|(slot, ..)| *slot > trimmed), "its successor's fence is gone, too");
    hung.hangs.store(false, Ordering::SeqCst);
    let error = first.put("c", b"3").unwrap_err();
    assert!(matches!(error, StoreError::Fenced { .. }), "{error}");
    assert_eq!(first.owner.lost_now(), Some(Lost::Ended(End::Behind)));
    second.put("d", b"4").unwrap();
    assert_eq!(names(&self::rows(&*second.store)), ["a", "b", "d"]);
}

#[test]
fn a_follower_that_slept_through_a_trim_begins_again() {
    sleep_through_a_trim(&rows_in_memory().0);
}

#[test]
fn a_node_goes_on_while_the_database_loses_answers() {
    let (_root, one, two) = folders();
    let (log, rows) = rows_in_memory();
    rows.0.lock().dice = Some(fastrand::Rng::with_seed(3));
    let machine = owning(&log, &one);
    for n in 0..20 {
        machine.put(&format!("{n:02}"), b"v").unwrap();
    }
    machine.owner.release("").unwrap();
    assert!(rows.0.lock().counts[2] > 0, "some were lost");
    rows.0.lock().dice = None;
    let mut second = Follower::start(&log, &two).unwrap();
    assert!(matches!(second.take_over().unwrap(), Followed::Owns(_)));
    assert_eq!(second.group.known().place, 20, "each batch is in the log once");
    assert_eq!(self::rows(&*second.store).len(), 20);
}

#[test]
fn one_flipped_byte_or_a_missing_row_is_named() {
    let (_root, one, _) = folders();
    let (log, rows) = rows_in_memory();
    let machine = owning(&log, &one);
    for n in 0..5 {
        machine.put(&format!("{n}"), &[n; 300]).unwrap();
        if n == 1 {
            machine.store.checkpoint(2).unwrap();
        }
    }
    machine.owner.release("").unwrap();
    assert_eq!(checkpoint::verify(&*log).unwrap().len(), 0);
    let oldest = log.base().checkpoints().unwrap()[0].slot;
    let whole = rows.0.lock().parts.clone();
    let mut dice = fastrand::Rng::with_seed(7);
    let mut tried = 0;
    for (key, part) in whole.iter().filter(|((slot, ..), _)| *slot > oldest) {
        let mut damaged = part.clone();
        let at = dice.usize(0..part.body.len());
        damaged.body[at] ^= 1 << dice.u32(0..8);
        rows.0.lock().parts.insert(*key, damaged);
        let damage = checkpoint::verify(&*log).unwrap();
        let name = format!("groups/0/log/{:020}", key.0);
        assert!(damage.len() == 1 && damage[0].to_string().contains(&name), "{key:?} at {at}: {damage:?}");
        rows.0.lock().parts.remove(key);
        let damage = checkpoint::verify(&*log).unwrap();
        assert!(!damage.is_empty(), "{key:?} is missing");
        rows.0.lock().parts.insert(*key, part.clone());
        tried += 1;
    }
    assert!(tried >= 3, "{tried}");
    assert_eq!(checkpoint::verify(&*log).unwrap().len(), 0);
}

#[test]
fn what_is_reclaimed_goes_from_the_rows_too() {
    let root = tempfile::tempdir().unwrap();
    let (log, rows) = in_bucket(&Bucket::open(&format!("file://{}", root.path().join("bucket").display())).unwrap());
    let machine = owning(&log, &root.path().join("one"));
    let secret = b"the-marker-that-must-go".repeat(20);
    let holds = || {
        let table = rows.0.lock();
        table.parts.values().any(|part| part.body.windows(secret.len()).any(|window| window == secret))
    };
    machine.put("secret", &secret).unwrap();
    assert!(holds(), "it is in the rows before");
    let mut batch = nuthatch_store::Batch::new();
    batch.delete(nuthatch_store::Table::Kv, key("secret"));
    let position = machine.store.write(batch).unwrap();
    machine.store.sync(position).unwrap();
    machine.store.upkeep().unwrap().reclaim_before(Extent::Everything, machine.store.latest()).unwrap();
    assert!(!holds(), "it is in the rows still");
}

#[test]
fn a_bucket_whose_log_is_elsewhere_is_not_taken_for_one_with_a_log() {
    let bucket = Bucket::in_memory().unwrap();
    in_bucket(&bucket);
    let error = ObjectLog::open(&bucket).err().unwrap().to_string();
    assert!(error.contains("rows in memory"), "{error}");
    assert!(ObjectLog::init(&bucket, LEASE_MS).unwrap_err().to_string().contains("has a cluster already"));
}
