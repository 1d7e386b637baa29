//! Libraries that may panic on damaged files, or recurse along them, kept away from the rest of the process.

use std::sync::Once;

/// Threads of this name panic silently: their panics are reports about a file.
const THREAD: &str = "nuthatch-extract";

/// The stack for a parser that recurses along a file's own nesting. Reserved, not resident.
const STACK_BYTES: usize = 64 << 20;

/// Runs the reading on a thread of its own, where a panic or deep nesting harms nobody. `parser` names what failed.
pub(crate) fn isolated<T: Send>(parser: &str, read: impl FnOnce() -> Result<T, String> + Send) -> Result<T, String> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if std::thread::current().name() != Some(THREAD) {
                report(info);
            }
        }));
    });
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name(THREAD.to_owned()).stack_size(STACK_BYTES);
        let reading = builder.spawn_scoped(scope, read).map_err(|error| format!("no thread to read it on: {error}"))?;
        reading.join().unwrap_or_else(|panic| Err(format!("the {parser} parser failed: {}", reason(&*panic))))
    })
}

/// Extracts the message of a panic.
pub(crate) fn reason(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("no reason given").chars().take(200).collect()
}
