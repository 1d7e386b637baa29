//! `add --tree`, `ls --tree`, `log`, `get --tree`, `snapshot`, `diff`, `grep`, `restore-files`, `rm --tree`, `erase`, `tree`.

use serde_json::json;

use crate::index::index;
use crate::support::Place;

/// A folder `notes` in the tree `t` with a snapshot `v1`, changed and stored once more as `v2`.
fn with_a_tree() -> Place {
    let place = Place::new();
    place.write("notes/todo.md", "- write\n- read\n");
    place.write("notes/sub/old.txt", "this moves\n");
    place.write("notes/gone.txt", "gone soon\n");
    place.run(&["add", "notes", "--tree", "t", "--snapshot", "v1", "--no-passages"]).succeeds();
    place.write("notes/todo.md", "- write\n- sleep\n");
    place.write("notes/new.txt", "this moves\n");
    std::fs::remove_file(place.path().join("notes/sub/old.txt")).unwrap();
    std::fs::remove_file(place.path().join("notes/gone.txt")).unwrap();
    place.run(&["add", "notes", "--tree", "t", "--snapshot", "v2", "--no-passages"]).succeeds();
    place
}

#[test]
fn a_folder_is_stored_with_its_history_and_found_again() {
    let place = with_a_tree();
    let report = place.json(&["add", "notes", "--tree", "t", "--no-passages", "--json"]);
    assert_eq!(
        (&report["tree"]["gone"], &report["tree"]["added"], &report["tree"]["snapshot"]),
        (&json!(0), &json!(0), &json!(null))
    );
    let listed = place.json(&["ls", "--tree", "t", "--json"]);
    let paths = |listed: &serde_json::Value| {
        listed.as_array().unwrap().iter().map(|entry| entry["path"].as_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(paths(&listed), ["new.txt", "sub", "todo.md"]);
    let before = place.json(&["ls", "--tree", "t", "--as-of", "v1", "--json"]);
    assert_eq!(paths(&before), ["gone.txt", "sub", "sub/old.txt", "todo.md"]);
    assert!(place.run(&["ls", "sub", "--tree", "t"]).succeeds().out.contains("folder"));
    let versions = place.json(&["log", "--tree", "t", "todo.md", "--json"]);
    assert_eq!(versions.as_array().unwrap().len(), 2);
    assert!(place.run(&["log", "--tree", "t", "gone.txt"]).succeeds().out.contains("gone\n"));
    assert_eq!(place.run(&["get", "--tree", "t", "todo.md"]).succeeds().out, "- write\n- sleep\n");
    assert_eq!(place.run(&["get", "--tree", "t", "todo.md", "--as-of", "v1"]).succeeds().out, "- write\n- read\n");
    assert_eq!(place.run(&["get", "--tree", "t", "todo.md", "--range", "2-6"]).succeeds().out, "write");
    assert_eq!(place.run(&["get", "--tree", "t", "todo.md", "--range", "-6"]).succeeds().out, "sleep\n");
    place.run(&["get", "--tree", "t", "todo.md", "-o", "copy.md"]).succeeds();
    assert_eq!(std::fs::read(place.path().join("copy.md")).unwrap(), b"- write\n- sleep\n");
    let missing = place.run(&["get", "--tree", "t", "gone.txt"]).ends(3);
    assert!(missing.err.contains("has nothing at \"gone.txt\""), "{}", missing.err);
    assert!(place.run(&["get", "--tree", "none", "a"]).ends(3).err.contains("there are: t"));
    let trees = place.json(&["tree", "list", "--json"]);
    assert_eq!((&trees[0]["name"], &trees[0]["files"], &trees[0]["snapshots"]), (&json!("t"), &json!(2), &json!(2)));
    assert_eq!(place.run(&["tree", "check", "t", "--hash"]).succeeds().out, "0 findings\n");
}

#[test]
fn a_folder_that_is_ignored_as_a_whole_says_so() {
    let place = Place::new();
    place.write("notes/.gitignore", "/*\n");
    place.write("notes/a.md", "# A\n");
    let refused = place.run(&["add", "notes", "--tree", "t", "--snapshot", "v1", "--no-passages"]).ends(3);
    assert!(refused.err.contains("--no-ignore") && refused.err.contains("no tree"), "{}", refused.err);
    let added = place.run(&["add", "notes", "--tree", "t", "--no-passages", "--no-ignore"]).succeeds();
    assert!(added.out.contains("1 added") && !added.err.contains("--no-ignore"), "{} {}", added.out, added.err);
}

#[test]
fn bytes_that_are_no_text_come_out_as_they_went_in() {
    let place = Place::new();
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).chain(*b"\x1b[31mred\x1b[0m").collect();
    std::fs::write(place.path().join("data.bin"), &bytes).unwrap();
    place.run(&["add", "data.bin", "--tree", "t", "--no-passages"]).succeeds();
    let output = place.command(&["get", "--tree", "t", "data.bin"]).output().unwrap();
    assert!(output.stdout == bytes, "{} bytes", output.stdout.len());
}

#[test]
fn with_a_tree_add_also_adds_passages_to_a_collection_that_is_named() {
    let place = Place::new();
    place.write("notes/bird.md", "The nuthatch stores seeds.\n");
    place.run(&["add", "notes", "--tree", "t", "--collection", "documents", "--embedder", "none"]).succeeds();
    assert!(place.run(&["search", "seeds"]).succeeds().out.contains("notes/bird.md"));
    assert!(place.run(&["search", "seeds", "--tree", "t"]).succeeds().out.contains("1. bird.md:1"));
    place.run(&["add", "notes", "notes/bird.md", "--tree", "t"]).ends(2);
    place.run(&["add", "notes", "--snapshot", "v1"]).ends(2);
}

#[test]
fn a_tree_is_searched_as_of_any_moment() {
    let place = Place::new();
    place.write("notes/bird.md", "# Birds\n\nThe nuthatch stores seeds in the bark.\n");
    place.write("notes/old/fish.md", "# Fish\n\nThe pike hides among the reeds.\n");
    let added = place.run(&["add", "notes", "--tree", "t", "--snapshot", "v1", "--embedder", "none"]).succeeds().out;
    assert!(added.contains("2 in, of 2 new contents"), "{added}");
    place.write("notes/bird.md", "# Birds\n\nThe osprey dives for fish.\n");
    std::fs::remove_file(place.path().join("notes/old/fish.md")).unwrap();
    place.write("notes/copy.md", "# Birds\n\nThe osprey dives for fish.\n");
    place.run(&["add", "notes", "--tree", "t"]).succeeds();
    let paths = |arguments: &[&str]| -> Vec<String> {
        let answer = place.json(&[&["search", "--tree", "t", "--json"], arguments].concat());
        let hits = answer["hits"].as_array().unwrap();
        hits.iter().map(|hit| hit["payload"]["path"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(paths(&["seeds", "--as-of", "v1"]), ["bird.md"]);
    assert_eq!(paths(&["reeds", "--as-of", "v1", "--where", "path like 'old/%'"]), ["old/fish.md"]);
    assert_eq!(paths(&["reeds", "--as-of", "v1", "--below", "old"]), ["old/fish.md"]);
    assert_eq!(paths(&["osprey"]), ["bird.md"], "one hit for one content");
    assert_eq!(paths(&["osprey", "--where", "name = 'copy.md'"]), ["copy.md"]);
    let answer = place.json(&["search", "--tree", "t", "osprey", "--json"]);
    assert_eq!(answer["hits"][0]["payload"]["paths"], serde_json::json!(["bird.md", "copy.md"]));
    assert_eq!(answer["hits"][0]["id"], "bird.md#0");
    place.run(&["search", "--tree", "t", "seeds"]).ends(1);
    place.run(&["search", "--tree", "t", "osprey", "--as-of", "v1"]).ends(1);
    assert!(place.run(&["search", "--tree", "t", "x", "--as-of", "v9"]).ends(3).err.contains("there are: v1"));
    assert!(place.run(&["search", "seeds"]).ends(3).err.contains("--tree NAME"), "who means the tree is told");
    place.run(&["erase", "--tree", "t", "old"]).succeeds();
    place.run(&["search", "--tree", "t", "reeds", "--as-of", "v1"]).ends(1);
}

#[test]
fn states_and_folders_are_compared() {
    let place = with_a_tree();
    let names = place.run(&["diff", "t@v1", "t@v2", "--name-status"]).succeeds().out;
    assert_eq!(names, "D\tgone.txt\nR\tsub/old.txt\tnew.txt\nM\ttodo.md\n");
    let patch = place.run(&["diff", "t@v1", "t", "todo.md"]).succeeds().out;
    assert!(patch.ends_with("@@ -1,2 +1,2 @@\n - write\n-- read\n+- sleep\n"), "{patch}");
    let stat = place.run(&["diff", "t@v1", "t@v2", "--stat"]).succeeds().out;
    assert!(stat.contains("3 paths differ, 1 line added, 2 lines removed"), "{stat}");
    let changes = place.json(&["diff", "t@v1", "t@v2", "--json"]);
    assert_eq!(changes.as_array().unwrap().len(), 3);
    assert_eq!(changes[0]["before"]["path"], json!("gone.txt"));
    assert_eq!(place.run(&["diff", "t", "./notes"]).succeeds().out, "");
    place.write("notes/extra.txt", "one line\n");
    assert_eq!(place.run(&["diff", "t", "./notes", "--name-status"]).succeeds().out, "A\textra.txt\n");
    assert_eq!(place.run(&["diff", "./notes", "t", "--name-status"]).succeeds().out, "D\textra.txt\n");
    place.run(&["diff", "./notes", "./notes"]).ends(2);
    place.run(&["diff", "t@none", "t"]).ends(3);
}

#[test]
fn grep_has_ripgreps_output_and_exit_codes() {
    let place = with_a_tree();
    fn grep<'a>(more: &[&'a str]) -> Vec<&'a str> {
        [&["grep", "--tree", "t"], more].concat()
    }
    assert_eq!(place.run(&grep(&["-n", "s[lm]e"])).succeeds().out, "todo.md:2:- sleep\n");
    assert_eq!(place.run(&grep(&["moves", "--as-of", "v1"])).succeeds().out, "sub/old.txt:this moves\n");
    assert_eq!(place.run(&grep(&["-c", "-e", "write", "-e", "moves"])).succeeds().out, "new.txt:1\ntodo.md:1\n");
    assert_eq!(place.run(&grep(&["-l", "e", "-g", "*.md"])).succeeds().out, "todo.md\n");
    let all = place.run(&grep(&["--history", "-l", "read|sleep"])).succeeds().out;
    assert_eq!(all.lines().count(), 2, "{all}");
    let old = all.lines().last().unwrap().rsplit_once('@').unwrap().1;
    assert_eq!(place.run(&["get", "--tree", "t", "todo.md", "--as-of", old]).succeeds().out, "- write\n- read\n");
    assert_eq!(place.run(&grep(&["-e", "- sl", "-r", "-x"])).succeeds().out, "todo.md:-xeep\n");
    assert_eq!(place.run(&grep(&["-ce", "-"])).succeeds().out, "todo.md:2\n");
    assert_eq!(place.run(&grep(&["nowhere"])).ends(1).out, "");
    assert!(place.run(&grep(&["("])).ends(2).err.contains("regex"));
    let messages = place.run(&grep(&["sleep", "--json"])).succeeds().out;
    assert!(messages.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()), "{messages}");
}

#[test]
fn the_index_of_trees_is_made_when_asked_for_and_says_what_it_ruled_out() {
    let place = with_a_tree();
    let state = || -> serde_json::Value {
        serde_json::from_str(&place.run(&["index", "--status", "--json"]).succeeds().out).unwrap()
    };
    assert_eq!(state()["indexed"], 0);
    assert!(place.run(&["index"]).succeeds().out.contains("0 to come"));
    assert_eq!(state()["pending"], 0);
    let grep = |how: &str| place.run(&["grep", "--tree", "t", "--explain", how, "sleep"]).succeeds();
    let (with, without) = (grep("--index"), grep("--no-index"));
    assert_eq!((&with.out, &without.out), (&"todo.md:- sleep\n".to_string(), &"todo.md:- sleep\n".to_string()));
    assert!(with.err.contains("The index told which files to read: 1 file searched"), "{}", with.err);
    assert!(without.err.contains("Every file was read: the index was not to be used"), "{}", without.err);
}

#[test]
fn source_code_is_asked_about_as_of_any_state() {
    let place = Place::new();
    place.write(
        "src/store.py",
        "class Store:\n    def save(self, item):\n        return item\n\ndef helper():\n    pass\n",
    );
    place.write("src/main.py", "from store import helper\n\ndef main(x):\n    helper()\n    x.save(2)\n");
    place.run(&["add", "src", "--tree", "t", "--snapshot", "v1", "--no-passages"]).succeeds();
    place.write("src/main.py", "x = 1\n");
    place.run(&["add", "src", "--tree", "t", "--no-passages"]).succeeds();
    let found = place.run(&["code", "def", "Store.save", "--tree", "t"]).succeeds().out;
    assert_eq!(found, "store.py:2  method Store.save\n    def save(self, item):\n");
    let callers = place.run(&["code", "callers", "helper", "--tree", "t", "--as-of", "v1"]).succeeds().out;
    assert_eq!(
        callers,
        "main.py:4  certain    helper in main  -> store.py:5 helper\n\
         1 of that name: 1 certain, 0 unique, 0 ambiguous, 0 of other definitions, 0 outside\n"
    );
    place.run(&["code", "callers", "helper", "--tree", "t"]).ends(1);
    let answer = place.json(&["code", "callers", "save", "--tree", "t", "--as-of", "v1", "--json"]);
    assert_eq!((&answer["counts"]["unique"], &answer["files"]["read"]), (&json!(1), &json!(2)));
    let callees = place.run(&["code", "callees", "main", "--tree", "t", "--as-of", "v1"]).succeeds().out;
    assert!(callees.contains("main.py:5  unique     x.save in main"), "{callees}");
    let imports = place.run(&["code", "imports", "main.py", "--tree", "t", "--as-of", "v1"]).succeeds().out;
    assert_eq!(imports, "     1  store helper  store.py\n");
    let impact = place.run(&["code", "impact", "helper", "--tree", "t", "--as-of", "v1"]).succeeds().out;
    assert_eq!(impact, "  1  certain    main.py:4  main uses helper\n");
    assert!(place.run(&["code", "outline", "store.py", "--tree", "t"]).succeeds().out.contains("def helper():"));
    assert!(place.run(&["code", "map", "--tree", "t", "--as-of", "v1"]).succeeds().out.starts_with("store.py\n"));
    place.run(&["code", "tests", "helper", "--tree", "t"]).ends(1);
    assert_eq!(place.run(&["tree", "check", "t", "--hash"]).succeeds().out, "0 findings\n");
}

#[test]
fn an_index_with_types_is_taken_in() {
    let place = Place::new();
    place.write(
        "src/store.py",
        "class Store:\n    def get(self):\n        pass\n\nclass Other:\n    def get(self):\n        pass\n",
    );
    place.write("src/use.py", "def use(one):\n    one.get()\n");
    place.run(&["add", "src", "--tree", "t", "--no-passages"]).succeeds();
    let symbol = "scip-python python p 1 `store`/Store#get().";
    let other = "scip-python python p 1 `store`/Other#get().";
    let store = index("store.py", &[(&[1, 8, 11], symbol, 1), (&[5, 8, 11], other, 1)], "", 0);
    let used = index("use.py", &[(&[1, 8, 11], symbol, 8)], "", 0);
    let gone = index("gone.py", &[(&[1, 8, 11], symbol, 8)], "", 0);
    place.write("index.scip", [store, used, gone].concat());
    let ran = place.run(&["code", "import-scip", "index.scip", "--tree", "t", "--below", "lib"]);
    assert!(ran.code == 1 && ran.err.contains("lib/use.py: not in the tree"), "{}{}", ran.out, ran.err);
    let ran = place.run(&["code", "import-scip", "index.scip", "--tree", "t"]).succeeds();
    assert_eq!(ran.out, "Took in 3 names of 2 files.\n");
    assert!(ran.err.contains("gone.py: not in the tree"), "{}", ran.err);
    let found = place.run(&["code", "callers", "Store.get", "--tree", "t"]).succeeds().out;
    assert!(found.contains("certain") && found.contains("store.py:2"), "{found}");
    assert!(place.run(&["code", "import-scip", "src/use.py", "--tree", "t"]).ends(2).err.contains("SCIP"));
}

#[test]
fn a_state_is_restored_whole_and_a_dry_run_writes_nothing() {
    let place = with_a_tree();
    let dry = place.run(&["restore-files", "t@v1", "out", "--dry-run", "--glob", "*.txt"]).succeeds().out;
    assert!(dry.starts_with("gone.txt\nsub\nsub/old.txt\n"), "{dry}");
    assert!(!place.path().join("out").exists());
    let report = place.json(&["restore-files", "t@v1", "out", "--json"]);
    assert_eq!((&report["files"], &report["skipped"]), (&json!(3), &json!([])));
    assert_eq!(std::fs::read(place.path().join("out/sub/old.txt")).unwrap(), b"this moves\n");
    assert!(place.run(&["restore-files", "t", "out"]).ends(4).err.contains("has something in it"));
    place.run(&["restore-files", "t", "out", "--overwrite"]).succeeds();
    assert_eq!(std::fs::read(place.path().join("out/todo.md")).unwrap(), b"- write\n- sleep\n");
}

#[test]
fn snapshots_are_listed_and_removed() {
    let place = with_a_tree();
    place.run(&["snapshot", "create", "--tree", "t", "v3"]).succeeds();
    assert!(place.run(&["snapshot", "create", "--tree", "t", "v3"]).ends(4).err.contains("has a snapshot"));
    place.run(&["snapshot", "create", "--tree", "t", "12"]).ends(2);
    let names = place.json(&["snapshot", "list", "--tree", "t", "--json"]);
    let names: Vec<_> = names.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["v1", "v2", "v3"]);
    place.run(&["snapshot", "rm", "--tree", "t", "v3"]).succeeds();
    place.run(&["snapshot", "rm", "--tree", "t", "v3"]).ends(1);
    place.run(&["snapshot", "list"]).ends(2);
    place.run(&["tree", "keep", "t", "--versions", "1", "--days", "0"]).succeeds();
    assert_eq!(
        place.json(&["log", "--tree", "t", "todo.md", "--json"]).as_array().unwrap().len(),
        2,
        "snapshots keep theirs"
    );
    place.run(&["snapshot", "rm", "--tree", "t", "v1"]).succeeds();
    assert_eq!(place.json(&["log", "--tree", "t", "todo.md", "--json"]).as_array().unwrap().len(), 1);
}

#[test]
fn removing_keeps_versions_and_erasing_ends_with_a_receipt() {
    let place = with_a_tree();
    assert!(place.run(&["rm", "--tree", "t", "todo.md"]).succeeds().out.contains("versions stay"));
    place.run(&["rm", "--tree", "t", "todo.md"]).ends(1);
    assert_eq!(place.run(&["get", "--tree", "t", "todo.md", "--as-of", "v2"]).succeeds().out, "- write\n- sleep\n");
    let erased = place.json(&["erase", "--tree", "t", "todo.md", "--json"]);
    assert_eq!((&erased["paths"], &erased["versions"]), (&json!(1), &json!(2)));
    assert!(erased["receipt"]["removed"].as_array().is_some_and(|removed| !removed.is_empty()), "{erased}");
    place.run(&["get", "--tree", "t", "todo.md", "--as-of", "v1"]).ends(3);
    place.run(&["erase", "--tree", "t", "todo.md"]).ends(1);
    assert!(place.run(&["erase", "--tree", "t", "--all"]).ends(2).err.contains("--yes"));
    place.run(&["erase", "--tree", "t", "--all", "--yes"]).succeeds();
    place.run(&["tree", "list"]).ends(1);
}

#[test]
fn a_root_names_a_state_and_verifying_compares_every_file_with_it() {
    let place = with_a_tree();
    let root = |of: &str| place.run(&["tree", "root", of]).succeeds().out.trim_end().to_string();
    let (v1, now) = (root("t@v1"), root("t"));
    assert_eq!((v1.len(), &now), (64, &root("t@v2")));
    assert_ne!(v1, now);
    let listed = place.json(&["snapshot", "list", "--tree", "t", "--json"]);
    assert_eq!((&listed[0]["root"], &listed[1]["root"]), (&json!(v1), &json!(now)));
    assert!(place.run(&["snapshot", "list", "--tree", "t"]).succeeds().out.contains(&v1));
    // The same files in another tree, at another place and with other times.
    place.run(&["restore-files", "t@v1", "again"]).succeeds();
    place.run(&["add", "again", "--tree", "u", "--below", "deep/er", "--no-passages"]).succeeds();
    let below = place.run(&["tree", "root", "u", "--below", "deep/er/"]).succeeds();
    assert_eq!(below.out.trim_end(), v1);

    let sound = place.run(&["tree", "verify", "t@v1", "--root", &v1]).succeeds();
    assert!(sound.out.contains("3 files") && sound.out.contains("0 damaged"), "{}", sound.out);
    let other = place.run(&["tree", "verify", "t", "--root", &v1]).ends(1);
    assert!(other.out.contains(&format!("root {now}, expected {v1}")), "{}", other.out);
    assert!(place.run(&["tree", "verify", "t", "--root", "abc"]).ends(2).err.contains("64 hexadecimal digits"));
    place.run(&["tree", "verify", "t@never"]).ends(3);
    let found = place.json(&["tree", "verify", "t", "--json"]);
    assert_eq!((&found["root"], &found["damaged"], &found["expected"]), (&json!(now), &json!([]), &json!(null)));
}

#[test]
fn a_flipped_byte_of_a_file_is_named_by_its_path() {
    let place = Place::new();
    let mut seed = 7_u32;
    let mut noise = |bytes: usize| -> Vec<u8> {
        std::iter::repeat_with(|| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 24) as u8
        })
        .take(bytes)
        .collect()
    };
    let bytes = noise(60_000);
    place.write("notes/hurt.bin", &bytes);
    place.write("notes/sound.txt", "sound\n");
    // The block of the newest large value is read when a tree is opened.
    place.write("notes/whole.bin", noise(60_000));
    place.run(&["add", "notes", "--tree", "t", "--snapshot", "v1", "--no-passages"]).succeeds();
    // Into tables, whatever the logs hold.
    place.run(&["reclaim"]).succeeds();
    let data = place.data();
    let needle = &bytes[30_000..30_032];
    let mut hurt = 0;
    for file in crate::support::files_below(&data) {
        let mut stored = std::fs::read(data.join(&file)).unwrap();
        while let Some(at) = stored.windows(32).position(|window| window == needle) {
            stored[at] ^= 1;
            hurt += 1;
        }
        std::fs::write(data.join(&file), &stored).unwrap();
    }
    assert!(hurt > 0, "noise is stored as it is");
    let found = place.run(&["tree", "verify", "t@v1"]).ends(6);
    assert!(found.out.contains("hurt.bin: ") && found.out.contains("1 damaged"), "{}", found.out);
    assert!(!found.out.contains("sound.txt"), "{}", found.out);
}

#[test]
fn files_of_a_tree_have_tags_and_fields_that_conditions_find() {
    let place = with_a_tree();
    place.run(&["add", "notes", "--tree", "t", "--no-passages", "--tag", "mine", "--meta", "year=2026"]).succeeds();
    let listed = |extra: &[&str]| -> Vec<String> {
        let found = place.run(&[&["ls", "--tree", "t", "--json"], extra].concat()).json();
        found.as_array().unwrap().iter().map(|entry| entry["path"].as_str().unwrap().to_string()).collect()
    };
    assert_eq!(listed(&["--where", "tags contains 'mine' and year = 2026"]), ["new.txt", "todo.md"]);
    let changed = place.run(&["tag", "todo.md", "--tree", "t", "--add", "urgent", "--unset", "year"]).succeeds();
    assert_eq!(changed.out, "Changed 1 file.\n");
    assert_eq!(
        place.json(&["tag", "--tree", "t", "--where", "name like '%.txt'", "--remove", "mine", "--json"])["updated"],
        1
    );
    assert_eq!(listed(&["--where", "tags contains 'mine'"]), ["todo.md"]);
    assert!(place.run(&["ls", "--tree", "t"]).succeeds().out.contains(r#"{"tags":["mine","urgent"]}"#));
    let facets = place.json(&["tree", "facets", "t", "tags", "year", "--json"]);
    assert_eq!(
        (&facets[0]["field"], &facets[0]["distinct"], &facets[1]["missing"]),
        (&json!("tags"), &json!(2), &json!(1))
    );
    assert!(place.run(&["tree", "facets", "t", "tags"]).succeeds().out.contains("urgent"));
    assert_eq!(
        place.run(&["grep", "this|read|sleep", "--tree", "t", "--where", "tags contains 'urgent'"]).succeeds().out,
        "todo.md:- sleep\n"
    );
    assert!(place.run(&["tag", "nowhere", "--tree", "t", "--add", "x"]).ends(3).err.contains("nothing was changed"));
    assert!(
        place.run(&["tag", "todo.md", "--tree", "t", "--meta", "lang=x"]).ends(2).err.contains("choose another name")
    );
    assert!(place.run(&["ls", "--tree", "t", "--where", "tugs = 1"]).ends(2).err.contains("tags"));
    // A changed file keeps them.
    place.write("notes/todo.md", "- write\n- rest\n");
    place.run(&["add", "notes", "--tree", "t", "--no-passages"]).succeeds();
    assert_eq!(listed(&["--where", "tags contains 'urgent'"]), ["todo.md"]);
}
