//! Bits of strings, writes that depend on what strings hold, and places on the earth.

mod support;

use nuthatch_resp::Settings;
use support::{Client, Said, bulk, bulks, ok, served};

fn error(said: &str) -> Said {
    Said::Error(format!("ERR {said}"))
}

fn ints(numbers: &[i64]) -> Said {
    Said::Array(numbers.iter().map(|number| Said::Int(*number)).collect())
}

#[test]
fn bits_answer_what_a_row_of_bools_does() {
    let served = served(Settings::default());
    let mut client = served.client();
    let mut dice = fastrand::Rng::with_seed(11);
    let mut model = vec![false; 400];
    let mut bytes = 0;
    for _ in 0..600 {
        let (at, bit) = (dice.usize(..400), dice.bool());
        assert_eq!(client.ask(&format!("SETBIT b {at} {}", u8::from(bit))), Said::Int(i64::from(model[at])));
        model[at] = bit;
        bytes = bytes.max(at / 8 + 1);
        assert_eq!(client.ask(&format!("GETBIT b {at}")), Said::Int(i64::from(bit)));
        let (from, to) = (dice.usize(..8 * bytes), dice.usize(..8 * bytes));
        let part = if from <= to { &model[from..=to] } else { &[] };
        let ones = part.iter().filter(|bit| **bit).count() as i64;
        assert_eq!(client.ask(&format!("BITCOUNT b {from} {to} BIT")), Said::Int(ones), "{from} {to}");
        for wanted in [false, true] {
            let first = part.iter().position(|bit| *bit == wanted).map_or(-1, |at| (from + at) as i64);
            assert_eq!(client.ask(&format!("BITPOS b {} {from} {to} BIT", u8::from(wanted))), Said::Int(first));
        }
    }
    assert_eq!(client.ask(&format!("GETBIT b {}", 8 * bytes + 5)), Said::Int(0));
    client.ask("DEL b");
    assert_eq!((client.ask("BITPOS b 0"), client.ask("BITPOS b 1")), (Said::Int(0), Said::Int(-1)));
    client.ask_words(&[b"SET", b"b", b"\xff\xff"]);
    assert_eq!((client.ask("BITPOS b 0"), client.ask("BITPOS b 0 0 -1")), (Said::Int(16), Said::Int(-1)));
    for (command, said) in [
        ("SETBIT b 536870912 1", "bit offset is not an integer or out of range"),
        ("SETBIT b -1 1", "bit offset is not an integer or out of range"),
        ("SETBIT b 0 2", "bit is not an integer or out of range"),
        ("BITPOS b 2", "The bit argument must be 1 or 0."),
        ("BITCOUNT b 0 1 BITE", "syntax error"),
        ("BITCOUNT b 0", "syntax error"),
        ("BITOP NOT r a b", "BITOP NOT must be called with a single source key."),
        ("BITOP DIFF r a", "BITOP DIFF must be called with at least two source keys."),
        ("BITOP NOR r a", "syntax error"),
    ] {
        assert_eq!(client.ask(command), error(said), "{command}");
    }
}

#[test]
fn strings_are_combined_bit_by_bit() {
    let served = served(Settings::default());
    let mut client = served.client();
    client.ask_words(&[b"SET", b"a", b"\xf0\x0f\xff"]);
    client.ask_words(&[b"SET", b"b", b"\xcc\xcc"]);
    client.ask_words(&[b"SET", b"c", b"\xaa"]);
    for (operation, result) in [
        ("AND", [0xf0 & 0xcc & 0xaa, 0, 0]),
        ("OR", [0xf0 | 0xcc | 0xaa, 0x0f | 0xcc, 0xff]),
        ("XOR", [0xf0 ^ 0xcc ^ 0xaa, 0x0f ^ 0xcc, 0xff]),
        ("DIFF", [0xf0 & !(0xcc | 0xaa), 0x0f & !0xcc, 0xff]),
        ("DIFF1", [!0xf0 & (0xcc | 0xaa), !0x0f & 0xcc, 0]),
        ("ANDOR", [0xf0 & (0xcc | 0xaa), 0x0f & 0xcc, 0]),
        ("ONE", [0b0001_0110, 0x0f ^ 0xcc, 0xff]),
    ] {
        assert_eq!(client.ask(&format!("BITOP {operation} r a b c")), Said::Int(3));
        assert_eq!(client.ask("GET r"), Said::Bulk(result.map(|byte: i32| byte as u8).into()), "{operation}");
    }
    assert_eq!((client.ask("BITOP NOT r c"), client.ask("GET r")), (Said::Int(1), Said::Bulk(vec![0x55])));
    assert_eq!((client.ask("BITOP AND r none"), client.ask("EXISTS r")), (Said::Int(0), Said::Int(0)));
}

#[test]
fn numbers_of_any_width_wrap_saturate_or_fail() {
    let served = served(Settings::default());
    let mut client = served.client();
    assert_eq!(client.ask("BITFIELD n INCRBY i5 100 1 GET u4 0"), ints(&[1, 0]));
    assert_eq!(client.ask("BITFIELD n SET u8 #1 255 GET u8 8 INCRBY u8 #1 1"), ints(&[0, 255, 0]));
    assert_eq!(client.ask("BITFIELD n OVERFLOW SAT INCRBY i8 0 200 INCRBY i8 0 -400"), ints(&[127, -128]));
    let failed = client.ask("BITFIELD n OVERFLOW FAIL INCRBY i8 0 -1 SET u2 0 4 GET i8 0");
    assert_eq!(failed, Said::Array(vec![Said::Null, Said::Null, Said::Int(-128)]));
    assert_eq!(client.ask("BITFIELD_RO n GET i8 0"), ints(&[-128]));
    assert_eq!(client.ask("BITFIELD_RO n SET i8 0 1"), error("BITFIELD_RO only supports the GET subcommand"));
    let form = "Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.";
    for (command, said) in [
        ("BITFIELD n GET u64 0", form),
        ("BITFIELD n GET u8", "syntax error"),
        ("BITFIELD n OVERFLOW MAYBE", "Invalid OVERFLOW type specified"),
        ("BITFIELD n GET u8 536870905", "bit offset is not an integer or out of range"),
        ("BITFIELD n SET u8 #9223372036854775807 1", "bit offset is not an integer or out of range"),
    ] {
        assert_eq!(client.ask(command), error(said), "{command}");
    }
}

#[test]
fn writes_may_depend_on_a_value_or_its_digest() {
    let served = served(Settings::default());
    let mut client = served.client();
    assert_eq!(client.ask("MSETEX 2 a 1 b 2 EX 100"), Said::Int(1));
    assert_eq!((client.ask("TTL a"), client.ask("GET b")), (Said::Int(100), bulk("2")));
    assert_eq!((client.ask("MSETEX 2 b 9 c 3 NX"), client.ask("EXISTS c")), (Said::Int(0), Said::Int(0)));
    assert_eq!((client.ask("MSETEX 2 b 9 c 3 XX"), client.ask("GET b")), (Said::Int(0), bulk("2")));
    assert_eq!((client.ask("MSETEX 1 b 9 KEEPTTL"), client.ask("TTL b")), (Said::Int(1), Said::Int(100)));
    assert_eq!(client.ask("MSETEX 2 a 1 b"), error("wrong number of key-value pairs"));
    assert_eq!(client.ask("MSETEX 0 a 1"), error("invalid numkeys value"));
    // XXH3 of no bytes is a constant of its specification.
    client.ask_words(&[b"SET", b"empty", b""]);
    assert_eq!(client.ask("DIGEST empty"), bulk("2d06800538d394c2"));
    assert_eq!(client.ask("DIGEST none"), Said::Null);
    assert_eq!(client.ask("SET empty x IFDEQ 2D06800538D394C2"), ok());
    assert_eq!(client.ask("SET empty y IFDEQ 2d06800538d394c2"), Said::Null);
    assert_eq!(client.ask("SET empty y IFDNE 2d06800538d394c2"), ok());
    assert_eq!(client.ask("SET empty y IFDEQ 2d"), error("must be exactly 16 hexadecimal characters"));
    assert_eq!((client.ask("DELEX empty IFEQ z"), client.ask("DELEX empty IFNE z")), (Said::Int(0), Said::Int(1)));
    assert_eq!((client.ask("DELEX empty"), client.ask("DELEX a")), (Said::Int(0), Said::Int(1)));
    client.ask("RPUSH l x");
    assert!(matches!(client.ask("DELEX l IFEQ x"), Said::Error(said) if said.starts_with("WRONGTYPE")));
    assert_eq!(client.ask("DELEX l"), Said::Int(1));
}

#[test]
fn what_two_strings_have_in_common_is_bounded() {
    let served = served(Settings::default());
    let mut client = served.client();
    client.ask("MSET a ohmytext b mynewtext");
    assert_eq!((client.ask("LCS a b"), client.ask("LCS a b LEN")), (bulk("mytext"), Said::Int(6)));
    let run = Said::Array(vec![ints(&[4, 7]), ints(&[5, 8]), Said::Int(4)]);
    let told = vec![bulk("matches"), Said::Array(vec![run]), bulk("len"), Said::Int(6)];
    assert_eq!(client.ask("LCS a b IDX MINMATCHLEN 4 WITHMATCHLEN"), Said::Array(told));
    assert_eq!(client.ask("LCS a none"), bulk(""));
    client.ask_words(&[b"SET", b"long", &[b'x'; 4000]]);
    assert!(matches!(client.ask("LCS long long"), Said::Error(said) if said.contains("their product may be 8388608")));
}

fn sicily(client: &mut Client) {
    assert_eq!(client.ask("GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania"), Said::Int(2));
    assert_eq!(client.ask("GEOADD g 13.583333 37.316667 Agrigento"), Said::Int(1));
}

#[test]
fn places_are_found_around_places() {
    let served = served(Settings::default());
    let mut client = served.client();
    sicily(&mut client);
    assert_eq!(client.ask("GEODIST g Palermo Catania"), bulk("166274.1516"));
    assert_eq!(client.ask("GEODIST g Palermo Catania km"), bulk("166.2742"));
    assert_eq!(client.ask("GEODIST g Palermo none"), Said::Null);
    assert_eq!(client.ask("GEOHASH g Palermo none"), Said::Array(vec![bulk("sqc8b49rny0"), Said::Null]));
    assert_eq!(client.ask("GEORADIUS g 15 37 100 km"), bulks(&["Catania"]));
    assert_eq!(
        client.ask("GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 km ASC"),
        bulks(&["Catania", "Agrigento", "Palermo"])
    );
    assert_eq!(client.ask("GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 km COUNT 1"), bulks(&["Catania"]));
    assert_eq!(client.ask("GEOSEARCH g FROMMEMBER Palermo BYBOX 400 100 km DESC"), bulks(&["Palermo"]));
    assert_eq!(client.ask("GEORADIUSBYMEMBER g Agrigento 100 km DESC"), bulks(&["Palermo", "Agrigento"]));
    let near = client.ask("GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 100 km WITHDIST WITHHASH");
    let told = vec![bulk("Catania"), bulk("56.4413"), Said::Int(3_479_447_370_796_909)];
    assert_eq!(near, Said::Array(vec![Said::Array(told)]));
    assert_eq!(
        client.ask("GEOSEARCHSTORE near g FROMLONLAT 15 37 BYRADIUS 200 km COUNT 2 ASC STOREDIST"),
        Said::Int(2)
    );
    assert_eq!(client.ask("ZRANGE near 0 -1"), bulks(&["Catania", "Agrigento"]));
    for (command, said) in [
        ("GEOADD g 181 0 x", "invalid longitude,latitude pair 181.000000,0.000000"),
        ("GEOADD g 0 86 x", "invalid longitude,latitude pair 0.000000,86.000000"),
        ("GEOADD g 0 0", "wrong number of arguments for 'geoadd' command"),
        ("GEOSEARCH g FROMMEMBER none BYRADIUS 1 m", "could not decode requested zset member"),
        ("GEOSEARCH g FROMMEMBER Palermo BYRADIUS 1 mm", "unsupported unit provided. please use M, KM, FT, MI"),
        ("GEOSEARCH g FROMMEMBER Palermo BYRADIUS -1 m", "radius cannot be negative"),
        ("GEOSEARCH g FROMMEMBER Palermo BYRADIUS 1 m ANY", "the ANY argument requires COUNT argument"),
    ] {
        assert_eq!(client.ask(command), error(said), "{command}");
    }
}

#[test]
fn a_search_around_a_place_finds_what_a_comparison_of_all_places_does() {
    let served = served(Settings::default());
    let mut client = served.client();
    let mut dice = fastrand::Rng::with_seed(12);
    for n in 0..1500 {
        // Many near the antimeridian and the poles.
        let (longitude, latitude) = match n % 3 {
            0 => (dice.f64() * 360.0 - 180.0, dice.f64() * 170.0 - 85.0),
            1 => (179.0 + dice.f64() * 0.99, dice.f64() * 10.0),
            _ => (-179.99 + dice.f64(), 75.0 + dice.f64() * 10.0),
        };
        client.ask(&format!("GEOADD g {longitude} {latitude} p{n}"));
    }
    for radius in [20.0, 200.0, 2000.0, 12_000.0] {
        for middle in ["p0", "p1", "p2", "p100", "p101"] {
            let search = format!("GEOSEARCH g FROMMEMBER {middle} BYRADIUS {radius} km");
            let Said::Array(found) = client.ask(&search) else { panic!() };
            let mut naive = 0;
            for n in 0..1500 {
                let Said::Bulk(metres) = client.ask(&format!("GEODIST g {middle} p{n} km")) else { panic!() };
                naive += usize::from(String::from_utf8(metres).unwrap().parse::<f64>().unwrap() <= radius);
            }
            assert_eq!(found.len(), naive, "{search}");
        }
    }
}
