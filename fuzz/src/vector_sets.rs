//! The FILTER language of vector sets. It is translated for the index where that can be done; what is found is what each element by itself says.

use crate::Run;
use crate::serving::{Redis, Reply};

const ELEMENTS_MAX: usize = 4;

/// An expression, then the attributes of an element on each further line.
pub fn start() -> Run {
    let server = Redis::start();
    Box::new(move |bytes| {
        let mut lines = bytes.split(|byte| *byte == b'\n');
        let Some(filter) = lines.next() else { return };
        let attributes: Vec<&[u8]> = lines.take(ELEMENTS_MAX).collect();
        let names: Vec<String> = (0..attributes.len()).map(|at| format!("e{at}")).collect();
        let ways: Vec<String> = (0..attributes.len()).map(|at| format!("{}", at + 1)).collect();
        let mut commands: Vec<Vec<&[u8]>> = vec![vec![b"DEL", b"all"]];
        for ((name, way), attributes) in names.iter().zip(&ways).zip(&attributes) {
            let (name, way) = (name.as_bytes(), way.as_bytes());
            commands.push(vec![b"DEL", name]);
            for set in [b"all", name] {
                let mut add: Vec<&[u8]> = vec![b"VADD", set, b"VALUES", b"2", way, b"1", name];
                if !attributes.is_empty() {
                    add.extend([&b"SETATTR"[..], attributes]);
                }
                commands.push(add);
            }
        }
        let question = |set| -> Vec<&[u8]> {
            vec![b"VSIM", set, b"VALUES", b"2", b"1", b"1", b"COUNT", b"100", b"FILTER", filter]
        };
        let first = commands.len();
        commands.push(question(b"all"));
        commands.extend(names.iter().map(|name| question(name.as_bytes())));
        let replies = server.ask(&commands);
        let (together, alone) = (found(&replies[first]), replies[first + 1..].iter().map(found));
        let alone: Option<Vec<Vec<u8>>> = alone.collect::<Option<Vec<_>>>().map(|found| found.concat());
        match (together, alone) {
            (Some(mut together), Some(mut alone)) => {
                together.sort();
                alone.sort();
                assert_eq!(together, alone, "{:?}", String::from_utf8_lossy(filter));
            }
            (None, Some(alone)) => assert!(alone.is_empty(), "refused for all, and not for one"),
            (_, None) => {}
        }
    })
}

/// The names of elements; `None` when the expression was refused.
fn found(reply: &Reply) -> Option<Vec<Vec<u8>>> {
    match reply {
        Reply::Many(items) => Some(
            items
                .iter()
                .map(|item| match item {
                    Reply::Bulk(name) => name.clone(),
                    other => panic!("{other:?} among names"),
                })
                .collect(),
        ),
        Reply::Bulk(_) => panic!("{reply:?} is no list"),
        Reply::Line(_) => None,
    }
}
