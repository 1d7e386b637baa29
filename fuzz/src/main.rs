//! libFuzzer around one target, which the environment variable `NUTHATCH_FUZZ` names.
#![no_main]

use std::cell::RefCell;
use std::mem::ManuallyDrop;

use libfuzzer_sys::fuzz_target;
use nuthatch_fuzz::{Run, TARGETS, target};

thread_local! {
    /// Never dropped: when the process ends, the runtime of a server finds its own thread locals gone. Its folder is in the script's, which is removed.
    static TARGET: RefCell<Option<ManuallyDrop<Run>>> = const { RefCell::new(None) };
}

fuzz_target!(
    init: {
        let name = std::env::var("NUTHATCH_FUZZ").unwrap_or_default();
        let Some(target) = target(&name) else {
            let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            eprintln!("set NUTHATCH_FUZZ to one of: {}", names.join(" "));
            std::process::exit(2);
        };
        end_with_our_own_panics();
        TARGET.with_borrow_mut(|running| *running = Some(ManuallyDrop::new((target.start)())));
    },
    |bytes: &[u8]| TARGET.with_borrow_mut(|running| running.as_mut().expect("it was started")(bytes))
);

/// Ends the process when a file of this repository panics, wherever that happens and even if something would catch it:
/// such a panic is a finding. Our code has to catch the panics of others' code; one that it does not catch ends the
/// process as well.
fn end_with_our_own_panics() {
    drop(std::panic::take_hook());
    let say = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if panic.location().is_some_and(|place| !std::path::Path::new(place.file()).is_absolute()) {
            say(panic);
            std::process::abort();
        }
    }));
}
