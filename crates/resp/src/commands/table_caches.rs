//! The commands about caches of answers. A transaction does not cover them, so MULTI refuses them.

use crate::commands::table::NO_KEY;
use crate::commands::{Run, Scope, Spec, caches};

const GROUP: &str = "nuthatch";

pub(super) static CACHES: &[Spec] = &[
    Spec::new("NH.CACHES", 1, Scope::Read, NO_KEY, GROUP, "Lists the caches.", Run::Session(caches::names)),
    Spec::new(
        "NH.CACHE.CREATE",
        -2,
        Scope::Write,
        NO_KEY,
        GROUP,
        "Creates a missing cache, and changes its settings.",
        Run::Data(caches::create),
    )
    .outside_multi(),
    Spec::new(
        "NH.CACHE.LOOKUP",
        -3,
        Scope::ReadWrite,
        NO_KEY,
        GROUP,
        "Looks for the answer to a prompt.",
        Run::Data(caches::lookup),
    )
    .outside_multi(),
    Spec::new(
        "NH.CACHE.STORE",
        -3,
        Scope::Write,
        NO_KEY,
        GROUP,
        "Keeps the answer to a prompt.",
        Run::Data(caches::store),
    )
    .outside_multi(),
    Spec::new(
        "NH.CACHE.LEASE",
        -3,
        Scope::ReadWrite,
        NO_KEY,
        GROUP,
        "Says whose it is to compute a missing answer.",
        Run::Data(caches::lease),
    )
    .outside_multi(),
    Spec::new(
        "NH.CACHE.RELEASE",
        -3,
        Scope::ReadWrite,
        NO_KEY,
        GROUP,
        "Gives a lease back without an answer.",
        Run::Data(caches::release),
    )
    .outside_multi(),
    Spec::new(
        "NH.CACHE.REPORT",
        -3,
        Scope::Write,
        NO_KEY,
        GROUP,
        "Takes a verdict on an answer.",
        Run::Data(caches::report),
    )
    .outside_multi(),
    Spec::new(
        "NH.CACHE.INVALIDATE",
        -3,
        Scope::Write,
        NO_KEY,
        GROUP,
        "Removes answers.",
        Run::Data(caches::invalidate),
    )
    .outside_multi(),
    Spec::new(
        "NH.CACHE.STATS",
        2,
        Scope::Read,
        NO_KEY,
        GROUP,
        "Returns what a cache holds, has done and has saved.",
        Run::Data(caches::stats),
    )
    .outside_multi(),
    Spec::new(
        "NH.CACHE.EXPLAIN",
        -3,
        Scope::Read,
        NO_KEY,
        GROUP,
        "Tells what a lookup would find.",
        Run::Data(caches::explain),
    )
    .outside_multi(),
    Spec::new(
        "NH.CACHE.AUDITS",
        -2,
        Scope::Read,
        NO_KEY,
        GROUP,
        "Lists answers that wait for a verdict.",
        Run::Data(caches::audits),
    )
    .outside_multi(),
];
