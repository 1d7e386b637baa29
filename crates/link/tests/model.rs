//! The engine against a naive model: whatever happens in whatever order, both say the same.

mod support;

use std::sync::Arc;

use nuthatch_link::*;
use nuthatch_store::{MemoryStore, Store};
use support::*;

fn one_run(seed: u64, background: bool, served: bool) {
    one_run_on(None, seed, background, served);
}

/// On a folder, or on a store that outlives its database as a folder does.
fn one_run_on(store: Option<Arc<dyn Store>>, seed: u64, background: bool, served: bool) {
    println!("seed {seed}");
    let mut dice = fastrand::Rng::with_seed(seed);
    let folder = tempfile::tempdir().unwrap();
    let options = || Options { background, ..quiet() };
    let open = || match &store {
        Some(store) => Database::with_store(store.clone(), options()).unwrap(),
        None => Database::open(folder.path(), options()).unwrap(),
    };
    // The first to open the folder holds it, so the handle under test is served.
    let mut holder = served.then(open);
    let mut db = open();
    let mut notes = db.collection("notes", no_embedder()).unwrap();
    let mut model = Model::new();
    for step in 0..120 {
        let note = format!("seed {seed} step {step}");
        match dice.u8(..20) {
            0..=8 => {
                let mut ids: Vec<u32> = (0..dice.usize(1..40)).map(|_| dice.u32(..300)).collect();
                ids.sort_unstable();
                ids.dedup();
                let mut records = Vec::new();
                for id in ids {
                    let has_vector = dice.u8(..5) > 0;
                    let kept = random_kept(&mut dice, has_vector);
                    records.push(record(&format!("r{id}"), &kept));
                    model.insert(format!("r{id}"), kept);
                }
                let count = records.len() as u64;
                let done = notes.upsert(records).unwrap();
                assert_eq!(done.inserted + done.replaced, count, "{note}");
            }
            9..=12 => {
                let ids: Vec<String> = (0..dice.usize(1..20)).map(|_| format!("r{}", dice.u32(..300))).collect();
                let mut expected = 0;
                for id in &ids {
                    expected += u64::from(model.remove(id).is_some());
                }
                assert_eq!(notes.delete(&ids).unwrap().deleted, expected, "{note}");
            }
            13 if !model.is_empty() => {
                let filter = "year = 2010 or year = 2011";
                let before = model.len();
                model.retain(|_, kept| !matches!(kept.payload.get("year"), Some(Value::Int(2010 | 2011))));
                assert_eq!(notes.delete_where(filter).unwrap().deleted as usize, before - model.len(), "{note}");
            }
            14 | 15 => assert!(notes.wait_until_indexed(None).unwrap(), "{note}"),
            16 => db.optimize().unwrap(),
            17 if served => {
                // The holder goes, and who was served takes over; then somebody else is served.
                holder.replace(db).unwrap().close().unwrap();
                assert_same(&notes, &model, &mut dice, &format!("{note}, taken over"));
                db = open();
                notes = db.collection("notes", no_embedder()).unwrap();
            }
            17 => {
                drop(notes);
                db.close().unwrap();
                db = open();
                notes = db.collection("notes", no_embedder()).unwrap();
            }
            18 => {
                // Handles dropped without closing: what a crash of the caller's code leaves.
                drop(notes);
                drop(db);
                db = open();
                notes = db.collection("notes", no_embedder()).unwrap();
            }
            _ => {}
        }
        if step % 5 == 0 || dice.u8(..6) == 0 {
            assert_same(&notes, &model, &mut dice, &note);
        }
    }
    assert_same(&notes, &model, &mut dice, &format!("seed {seed} end"));
    if store.is_some() {
        // A folder keeps its indexes; those of a store alone are built at each opening.
        assert!(notes.wait_until_indexed(None).unwrap(), "seed {seed}");
        assert_same(&notes, &model, &mut dice, &format!("seed {seed} indexed"));
    }
    assert!(db.doctor().unwrap().is_well(), "{:?}", db.doctor().unwrap());
}

#[test]
fn agrees_with_a_naive_model_whatever_happens() {
    for _ in 0..4 {
        one_run(fastrand::u64(..), false, false);
    }
}

#[test]
fn agrees_with_a_naive_model_while_maintenance_works_in_the_background() {
    for _ in 0..4 {
        one_run(fastrand::u64(..), true, false);
    }
}

#[test]
fn agrees_with_a_naive_model_on_a_store_in_memory() {
    for round in 0..4 {
        one_run_on(Some(Arc::new(MemoryStore::new())), fastrand::u64(..), round % 2 == 1, false);
    }
}

#[test]
fn agrees_with_a_naive_model_through_another_handle_that_holds_the_folder() {
    for background in [false, true] {
        one_run(fastrand::u64(..), background, true);
    }
}
