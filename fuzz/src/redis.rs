//! Commands of Redis, with any arguments: each has a reply, and none harms the next.

use crate::Run;
use crate::serving::{Redis, Reply, replies};

/// The number of inputs after which the databases are emptied.
const EMPTIED_AFTER: u32 = 500;

/// Commands as lines of words, or as arrays.
pub fn start() -> Run {
    let server = Redis::start();
    let mut inputs = 0;
    Box::new(move |bytes| {
        let answered = replies(&server.answers(bytes));
        assert!(answered.len() <= bytes.len() + 1, "{} replies", answered.len());
        for reply in &answered {
            if let Reply::Line(line) = reply {
                assert!(!line.starts_with(b"-CORRUPT"), "{}", String::from_utf8_lossy(line));
            }
        }
        inputs += 1;
        let mut after = vec![vec![&b"PING"[..]]];
        if inputs % EMPTIED_AFTER == 0 {
            after.push(vec![b"FLUSHALL"]);
        }
        assert_eq!(server.ask(&after)[0], Reply::Line(b"+PONG".to_vec()), "the server goes on");
    })
}
