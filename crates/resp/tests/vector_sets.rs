//! Vector sets.

mod support;

use nuthatch_resp::Settings;
use support::{Client, Said, Served, bulk, bulks, served};

/// Sixty elements around a circle, every sixth without attributes.
fn circle(served: &Served) -> Client {
    let mut client = served.client();
    for n in 0..60 {
        let angle = f64::from(n) * std::f64::consts::TAU / 60.0;
        let (x, y) = (angle.cos(), angle.sin());
        let attributes = match n % 6 {
            0 => String::new(),
            _ => format!(" SETATTR {{\"n\":{n},\"kind\":\"{}\",\"even\":{}}}", ["a", "b"][n as usize % 2], n % 2 == 0),
        };
        assert_eq!(client.ask(&format!("VADD v VALUES 2 {x} {y} e{n}{attributes}")), Said::Int(1));
    }
    client
}

#[test]
fn elements_are_added_read_replaced_and_removed() {
    let served = served(Settings::default());
    let mut client = served.client();
    let blob: Vec<u8> = [1.0_f32, 2.0, 0.5].iter().flat_map(|x| x.to_le_bytes()).collect();
    assert_eq!(client.ask_words(&[b"VADD", b"v", b"FP32", &blob, b"\xff\0"]), Said::Int(1));
    assert_eq!(client.ask("VADD v VALUES 3 0 1 0 b SETATTR {\"x\":1}"), Said::Int(1));
    assert_eq!(client.ask("VADD v VALUES 3 0 1 1 b"), Said::Int(0));
    assert_eq!(client.ask("VGETATTR v b"), bulk("{\"x\":1}"), "another vector leaves the attributes");
    assert_eq!(client.ask("VEMB v b"), bulks(&["0", "1", "1"]));
    assert_eq!(client.ask_words(&[b"VEMB", b"v", b"\xff\0"]), bulks(&["1", "2", "0.5"]));
    assert_eq!((client.ask("VCARD v"), client.ask("VDIM v")), (Said::Int(2), Said::Int(3)));
    assert_eq!(client.ask("TYPE v"), Said::Simple("vectorset".into()));
    assert_eq!(client.ask("VSETATTR v b {\"y\":2}"), Said::Int(1));
    assert_eq!(client.ask_words(&[b"VSETATTR", b"v", b"b", b""]), Said::Int(1));
    assert_eq!((client.ask("VGETATTR v b"), client.ask("VSETATTR v none x")), (Said::Null, Said::Int(0)));
    assert_eq!(
        client.ask_words(&[b"VRANGE", b"v", b"-", b"+"]),
        Said::Array(vec![bulk("b"), Said::Bulk(b"\xff\0".to_vec())])
    );
    for wrong in
        ["VADD v VALUES 2 1 0 c", "VADD v VALUES 3 0 0 0 c", "VADD v VALUES 3 1 0 0 c BIN", "VADD w VALUES 0 c"]
    {
        assert!(matches!(client.ask(wrong), Said::Error(_)), "{wrong}");
    }
    assert_eq!(client.ask("EXISTS w"), Said::Int(0), "a refused vector makes no set");
    assert_eq!(client.ask("VREM v b"), Said::Int(1));
    assert_eq!(client.ask("VREM v b"), Said::Int(0));
    assert_eq!(client.ask_words(&[b"VREM", b"v", b"\xff\0"]), Said::Int(1));
    assert_eq!(client.ask("EXISTS v"), Said::Int(0));
}

#[test]
fn the_nearest_come_first_with_scores_between_0_and_1() {
    let served = served(Settings::default());
    let mut client = circle(&served);
    assert_eq!(client.ask("VSIM v ELE e10 COUNT 1"), bulks(&["e10"]));
    let Said::Array(found) = client.ask("VSIM v ELE e10 WITHSCORES COUNT 100") else { panic!() };
    assert_eq!(found.len(), 120);
    assert_eq!(found[0..2], [bulk("e10"), bulk("1")]);
    let score = |at: usize| match &found[2 * at + 1] {
        Said::Bulk(digits) => std::str::from_utf8(digits).unwrap().parse::<f64>().unwrap(),
        other => panic!("{other:?}"),
    };
    assert!((1..60).all(|at| score(at) <= score(at - 1)) && score(59).abs() < 1e-6);
    // A score of 0.75 is a cosine of 0.5: angles up to 60 degrees, ten steps of six on each side.
    for (epsilon, expected) in [("0.250001", 21), ("0.249999", 19), ("0.500001", 31), ("1", 60), ("0.000001", 1)] {
        let Said::Array(near) = client.ask(&format!("VSIM v ELE e10 EPSILON {epsilon} COUNT 100")) else { panic!() };
        assert_eq!(near.len(), expected, "{epsilon}");
    }
    assert_eq!(client.ask("VSIM v ELE e10 COUNT 3 TRUTH"), client.ask("VSIM v ELE e10 COUNT 3 EF 500"));
    assert_eq!(client.ask("VSIM none ELE e10"), Said::Array(vec![]));
    assert!(matches!(client.ask("VSIM v ELE none"), Said::Error(_)));
    let Said::Array(levels) = client.ask("VLINKS v e10") else { panic!() };
    assert!(matches!(&levels[0], Said::Array(near) if near.len() == 16 && !near.contains(&bulk("e10"))));
}

#[test]
fn filters_hold_whether_or_not_the_engine_has_a_word_for_them() {
    let served = served(Settings::default());
    let mut client = circle(&served);
    let mut found = |filter: &str, more: &[&[u8]]| -> Vec<u32> {
        let words: Vec<&[u8]> =
            [&[&b"VSIM"[..], b"v", b"ELE", b"e0", b"COUNT", b"60", b"FILTER", filter.as_bytes()], more].concat();
        let Said::Array(found) = client.ask_words(&words) else { panic!("{filter}") };
        let number = |said| match said {
            Said::Bulk(name) => String::from_utf8(name).unwrap()[1..].parse().unwrap(),
            other => panic!("{other:?}"),
        };
        let mut found: Vec<u32> = found.into_iter().map(number).collect();
        found.sort_unstable();
        found
    };
    let expected =
        |wanted: &dyn Fn(u32) -> bool| -> Vec<u32> { (0..60).filter(|n| n % 6 != 0 && wanted(*n)).collect() };
    // These are translated.
    assert_eq!(found(".n > 30 and .kind == 'a'", &[]), expected(&|n| n > 30 && n % 2 == 0));
    assert_eq!(found("not (.n <= 55)", &[]), expected(&|n| n > 55));
    assert_eq!(found(".n in [1, 2, 3, 6]", &[]), [1, 2, 3]);
    assert_eq!(found(".even", &[]), expected(&|n| n % 2 == 0));
    // These are not.
    assert_eq!(found(".n % 10 == 3", &[]), expected(&|n| n % 10 == 3));
    assert_eq!(found(".n + 0 > 30 and 'b' in .kind", &[]), expected(&|n| n > 30 && n % 2 == 1));
    assert_eq!(found(".kind > 0", &[]), [] as [u32; 0]);
    assert_eq!(found(".unknown != 3 or .n > 0", &[]), [] as [u32; 0], "what lacks a field that is named does not pass");
    // The ten nearest are looked at, and no more.
    assert!(found(".n > 0", &[b"FILTER-EF", b"10"]).len() <= 10);
    client.ask("VADD v VALUES 2 1 0 odd SETATTR {\"n\":\"40\"}");
    let Said::Array(found) = client.ask_words(&[b"VSIM", b"v", b"ELE", b"e0", b"COUNT", b"60", b"FILTER", b".n == 40"])
    else {
        panic!()
    };
    assert_eq!(found.len(), 2, "a text that spells the number equals it, once there is one");
    assert!(matches!(client.ask("VSIM v ELE e0 FILTER .n=1"), Said::Error(said) if said.contains("FILTER")));
}

#[test]
fn projections_and_forms_are_kept() {
    let served = served(Settings::default());
    let mut client = served.client();
    assert_eq!(client.ask("VADD v REDUCE 2 VALUES 4 1 2 3 4 a BIN"), Said::Int(1));
    assert_eq!(client.ask("VADD v VALUES 4 -1 -2 -3 -4 b"), Said::Int(1));
    assert_eq!(client.ask("VDIM v"), Said::Int(2));
    assert_eq!(client.ask("VSIM v VALUES 4 2 4 6 8"), bulks(&["a", "b"]));
    let Said::Array(signs) = client.ask("VEMB v a") else { panic!() };
    assert!(signs.iter().all(|sign| [bulk("1"), bulk("-1")].contains(sign)));
    let Said::Array(raw) = client.ask("VEMB v a RAW") else { panic!() };
    assert_eq!((raw.len(), &raw[0]), (3, &Said::Simple("bin".into())));
    let Said::Array(info) = client.ask("VINFO v") else { panic!() };
    assert!(info.windows(2).any(|pair| pair == [bulk("projection-input-dim"), Said::Int(4)]));
    assert_eq!(client.ask("COPY v w"), Said::Int(1));
    assert_eq!(client.ask("VSIM w VALUES 4 2 4 6 8"), bulks(&["a", "b"]), "a copy projects as its original does");
}

/// Returns the value of a name in a set's VINFO.
fn fact(client: &mut Client, set: &str, name: &str) -> Said {
    let Said::Array(info) = client.ask(&format!("VINFO {set}")) else { panic!() };
    let at = info.iter().step_by(2).position(|said| *said == bulk(name)).unwrap_or_else(|| panic!("{name}: {info:?}"));
    info[2 * at + 1].clone()
}

#[test]
fn a_vector_that_vemb_gives_finds_its_element_in_a_set_that_projects() {
    let served = served(Settings::default());
    let mut client = served.client();
    for (element, values) in [("a", "1 2 3 4 5 6"), ("b", "-6 1 0 2 -4 1"), ("c", "0 0 1 0 0 -7")] {
        assert_eq!(client.ask(&format!("VADD v REDUCE 3 VALUES 6 {values} {element}")), Said::Int(1));
    }
    let Said::Array(given) = client.ask("VEMB v b") else { panic!() };
    let numbers = given.iter().map(|number| match number {
        Said::Bulk(digits) => String::from_utf8(digits.clone()).unwrap(),
        other => panic!("{other:?}"),
    });
    let numbers = numbers.collect::<Vec<_>>().join(" ");
    assert_eq!(
        client.ask(&format!("VSIM v VALUES 3 {numbers} WITHSCORES")),
        client.ask("VSIM v ELE b WITHSCORES"),
        "what is projected already is compared as it is"
    );
    let told = "ERR Input dimension mismatch for projection - got 3 but projection expects 6";
    assert_eq!(client.ask(&format!("VADD v VALUES 3 {numbers} d")), Said::Error(told.into()), "as in Redis");
    assert!(matches!(client.ask("VSIM v VALUES 4 1 1 1 1"), Said::Error(said) if said.contains("expects 6")));
}

#[test]
fn vectors_of_one_component_are_taken_and_of_too_many_told_what_to_do() {
    let served = served(Settings::default());
    let mut client = served.client();
    assert_eq!(client.ask("VADD v VALUES 1 2.5 up"), Said::Int(1));
    assert_eq!(
        client.ask("VADD v VALUES 1 -1 down NOQUANT"),
        Said::Error("ERR asked quantization mismatch with existing vector set".into())
    );
    assert_eq!(client.ask_words(&[b"VADD", b"v", b"FP32", &(-4.0_f32).to_le_bytes(), b"down"]), Said::Int(1));
    assert_eq!((client.ask("VDIM v"), fact(&mut client, "v", "vector-dim")), (Said::Int(1), Said::Int(1)));
    assert_eq!((client.ask("VEMB v up"), client.ask("VEMB v down")), (bulks(&["2.5"]), bulks(&["-4"])));
    assert_eq!(client.ask("VSIM v VALUES 1 7 WITHSCORES"), bulks(&["up", "1", "down", "0"]));
    assert_eq!(client.ask("VSIM v ELE down"), bulks(&["down", "up"]));
    assert_eq!(client.ask("COPY v w"), Said::Int(1));
    assert_eq!((client.ask("VEMB w up"), client.ask("VDIM w")), (bulks(&["2.5"]), Said::Int(1)));
    assert_eq!(client.ask("VADD r REDUCE 1 VALUES 3 1 2 4 a"), Said::Int(1));
    assert_eq!(client.ask("VSIM r VALUES 3 1 2 4 WITHSCORES"), bulks(&["a", "1"]));
    assert!(matches!(client.ask("VADD v VALUES 1 0 none"), Said::Error(said) if said.contains("no direction")));

    let blob = |dim: usize| 1.0_f32.to_le_bytes().repeat(dim);
    assert_eq!(client.ask_words(&[b"VADD", b"most", b"FP32", &blob(4096), b"a"]), Said::Int(1));
    assert!(
        matches!(client.ask_words(&[b"VADD", b"many", b"FP32", &blob(4097), b"a"]), Said::Error(said) if said.contains("REDUCE 4096"))
    );
    let reduced: &[&[u8]] = &[b"VADD", b"many", b"REDUCE", b"64", b"FP32", &blob(65_536), b"a"];
    assert_eq!(client.ask_words(reduced), Said::Int(1), "given ones have up to 65,536, as in Redis");
    for command in [&b"VADD"[..], b"VSIM"] {
        let said = client.ask_words(&[command, b"many", b"FP32", &blob(65_537), b"a"]);
        assert_eq!(said, Said::Error("ERR invalid vector specification".into()));
    }
}

#[test]
fn an_exploration_factor_is_1_to_a_million() {
    let served = served(Settings::default());
    let mut client = circle(&served);
    for command in ["VSIM v ELE e0 COUNT 1 EF", "VADD v VALUES 2 1 0 e0 EF"] {
        for ef in ["1", "1000000"] {
            assert!(!matches!(client.ask(&format!("{command} {ef}")), Said::Error(_)), "{command} {ef}");
        }
        for ef in ["1000001", "0", "-1", "x", "99999999999999999999"] {
            assert_eq!(client.ask(&format!("{command} {ef}")), Said::Error("ERR invalid EF".into()), "{ef}");
        }
    }
}

#[test]
fn vinfo_counts_the_elements_with_attributes() {
    let served = served(Settings::default());
    let mut client = circle(&served);
    assert_eq!(fact(&mut client, "v", "attributes-count"), Said::Int(50));
    assert_eq!(fact(&mut client, "v", "max-level"), Said::Int(1), "clients expect a level where there are elements");
    client.ask_words(&[b"VSETATTR", b"v", b"e1", b""]);
    client.ask("VSETATTR v e0 {\"other\":1}");
    client.ask("VSETATTR v e6 {\"o'\\\"ther\":1}");
    client.ask("VREM v e2");
    assert_eq!(fact(&mut client, "v", "attributes-count"), Said::Int(50), "also where no condition can name a field");
    client.ask("VADD plain VALUES 2 1 0 a");
    assert_eq!(fact(&mut client, "plain", "attributes-count"), Said::Int(0));
}

#[test]
fn escapes_in_a_filter_mean_what_they_mean_in_json() {
    let served = served(Settings::default());
    let mut client = served.client();
    let add = |client: &mut Client, element: &[u8], attributes: &[u8]| {
        let words: &[&[u8]] = &[b"VADD", b"v", b"VALUES", b"2", b"1", b"0", element, b"SETATTR", attributes];
        assert_eq!(client.ask_words(words), Said::Int(1));
    };
    add(&mut client, b"a", br#"{"text": "one\ntwo\tthree", "name": "O'Brien \"x\\y\""}"#);
    add(&mut client, b"b", br#"{"text": "onentwotthree", "name": "OBrien"}"#);
    for filter in [
        r#".text == "one\ntwo\tthree""#,
        r#".text in ["zzz", 'one\ntwo\tthree']"#,
        r#""\ntwo" in .text"#,
        r#".name == 'O\'Brien "x\\y"'"#,
        r#".name == "O\u0027Brien \"x\\y\"""#,
    ] {
        let words: &[&[u8]] = &[b"VSIM", b"v", b"ELE", b"a", b"FILTER", filter.as_bytes()];
        assert_eq!(client.ask_words(words), bulks(&["a"]), "{filter}");
    }
}

#[test]
fn sets_that_are_overwritten_or_expire_leave_no_collection() {
    let served = served(Settings::default());
    let mut client = served.client();
    let collections = || served.db.collection_names().unwrap().len();
    client.ask("VADD v VALUES 2 1 0 e");
    assert_eq!(collections(), 1);
    client.ask("SET v x");
    assert_eq!(collections(), 0);
    client.ask("VADD w VALUES 2 1 0 e");
    assert_eq!(client.ask("PEXPIRE w 1"), Said::Int(1));
    while client.ask("EXISTS w") == Said::Int(1) {}
    assert_eq!((client.ask("VCARD w"), collections()), (Said::Int(0), 0));
    client.ask("VADD w VALUES 3 1 0 0 e");
    assert_eq!((client.ask("VDIM w"), client.ask("TTL w")), (Said::Int(3), Said::Int(-1)));
    let name = served.db.collection_names().unwrap().pop().unwrap();
    served.db.drop_collection(&name).unwrap();
    assert_eq!(
        client.ask("VADD w VALUES 2 1 0 e"),
        Said::Int(1),
        "one whose collection another face has dropped begins anew"
    );
}

#[test]
fn collections_of_other_faces_are_searched_by_words_and_vectors() {
    use nuthatch_link::{CollectionOptions, EmbedderChoice, Payload, Record};
    let served = served(Settings::default());
    let options = CollectionOptions { embedder: EmbedderChoice::None, ..Default::default() };
    let notes = served.db.collection("notes", options).unwrap();
    let record = |id: &str, text: &str, vector: [f32; 2], year: i64| {
        Record::new(id).text(text).vector(vector.into()).payload(Payload::from([("year".to_string(), year.into())]))
    };
    notes
        .upsert(vec![
            record("a", "reset a password", [1.0, 0.0], 2024),
            record("b", "bake bread", [0.0, 1.0], 2020),
            record("c", "change a password", [0.9, 0.1], 2020),
        ])
        .unwrap();
    let mut client = served.client();
    client.ask("HELLO 3");
    let mut ids = |words: &[&[u8]]| -> Vec<Said> {
        let Said::Map(answer) = client.ask_words(words) else { panic!() };
        let Said::Array(hits) = &answer[0].1 else { panic!() };
        hits.iter().map(|hit| if let Said::Map(facts) = hit { facts[0].1.clone() } else { panic!() }).collect()
    };
    assert_eq!(ids(&[b"NH.SEARCH", b"notes", b"TEXT", b"bread"]), [bulk("b")]);
    let both: &[&[u8]] = &[
        b"NH.SEARCH",
        b"notes",
        b"TEXT",
        b"password",
        b"VECTOR",
        b"VALUES",
        b"2",
        b"1",
        b"0",
        b"WHERE",
        b"year >= 2024",
    ];
    assert_eq!(ids(both), [bulk("a")]);
    assert!(matches!(client.ask("NH.SEARCH none TEXT x"), Said::Error(said) if said.contains("notes")));
    let Said::Array(collections) = client.ask("NH.COLLECTIONS") else { panic!() };
    assert!(matches!(&collections[0], Said::Map(facts) if facts.contains(&(bulk("records"), Said::Int(3)))));
}

#[test]
fn no_vector_is_refused_for_what_its_projection_makes_of_it() {
    let served = served(Settings::default());
    let mut client = served.client();
    for set in 0..40 {
        for (element, values) in
            [("a", "1 0 0 1"), ("b", "1 -1 1 -1"), ("c", "0 0 0 1e-45"), ("d", "3e38 3e38 3e38 3e38")]
        {
            assert_eq!(
                client.ask(&format!("VADD v{set} REDUCE 2 VALUES 4 {values} {element}")),
                Said::Int(1),
                "{values}"
            );
            let Said::Array(found) = client.ask(&format!("VSIM v{set} VALUES 4 {values} COUNT 4")) else { panic!() };
            assert!(found.contains(&bulk(element)));
        }
    }
    assert!(
        matches!(client.ask("VADD v0 REDUCE 2 VALUES 4 0 0 0 0 e"), Said::Error(said) if said.contains("no direction"))
    );
}
