//! Adding files, in a thread of its own, so that the caller's can hear of Ctrl-C and report progress.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use nuthatch_link::{AddOptions, AddReport, Error, FieldChange, PassageOptions, Progress, Result, WalkOptions};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::changes::ChangeParts;
use crate::error::{take_raised, to_python};

/// How often a waiting thread asks Python whether a signal came.
pub const SIGNALS_EVERY: Duration = Duration::from_millis(100);

/// Stops an `add` after its current batch, and a search soon.
#[pyclass(frozen, module = "nuthatch._core")]
#[derive(Default)]
pub struct CancelFlag {
    flag: Arc<AtomicBool>,
}

#[pymethods]
impl CancelFlag {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn set(&self) {
        self.flag.store(true, Ordering::SeqCst);
    }

    fn is_set(&self) -> bool {
        self.flag.load(Ordering::SeqCst)
    }
}

impl CancelFlag {
    /// The flag as the engine looks at it.
    pub fn shared(&self) -> Arc<AtomicBool> {
        self.flag.clone()
    }
}

/// The arguments of the package's `Database.add`; absent ones keep the engine's defaults.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct AddArguments<'py> {
    paths: Vec<PathBuf>,
    prune: bool,
    hidden: bool,
    follow_links: bool,
    respect_ignore: bool,
    max_file_bytes: Option<u64>,
    target_chars: Option<usize>,
    overlap_chars: Option<usize>,
    wait: bool,
    fields: Option<ChangeParts<'py>>,
    pub durability: Option<String>,
    on_progress: Option<Bound<'py, PyAny>>,
    cancel: Option<Bound<'py, CancelFlag>>,
}

pub fn add<'py>(
    py: Python<'py>,
    arguments: AddArguments<'py>,
    work: impl FnOnce(&[PathBuf], AddOptions<'_>) -> Result<AddReport> + Send,
) -> PyResult<Bound<'py, PyDict>> {
    let cancel = arguments.cancel.as_ref().map(|cancel| cancel.get().shared()).unwrap_or_default();
    let walk = WalkOptions::default();
    let walk = WalkOptions {
        hidden: arguments.hidden,
        follow_links: arguments.follow_links,
        respect_ignore: arguments.respect_ignore,
        max_file_bytes: arguments.max_file_bytes.unwrap_or(walk.max_file_bytes),
    };
    let passages = PassageOptions::default();
    let passages = PassageOptions {
        target_chars: arguments.target_chars.unwrap_or(passages.target_chars),
        overlap_chars: arguments.overlap_chars.unwrap_or(passages.overlap_chars),
    };
    let fields = arguments.fields.map_or(Ok(FieldChange::default()), |parts| parts.change())?;
    let (sender, mut progress) = channel::<Progress>();
    let (paths, prune, wait) = (arguments.paths, arguments.prune, arguments.wait);
    std::thread::scope(|scope| {
        let stop = &*cancel;
        let worker = scope.spawn(move || {
            // Nobody listens any more once the callback has failed.
            let mut tell = |progress: &Progress| drop(sender.send(progress.clone()));
            let options =
                AddOptions { prune, walk, passages, fields, wait, on_progress: Some(&mut tell), cancel: Some(stop) };
            (work(&paths, options), take_raised())
        });
        let heard = listen(py, &mut progress, arguments.on_progress.as_ref());
        if heard.is_err() {
            cancel.store(true, Ordering::SeqCst);
        }
        let joined = py.detach(|| worker.join());
        heard?;
        let (report, raised) = joined.unwrap_or_else(|_| {
            (Err(Error::internal("adding panicked; this is a defect, please report it with the input")), None)
        });
        report_to_python(py, report.map_err(|error| to_python(py, error, raised))?)
    })
}

/// Passes progress on until the work is over. Fails when the callback does, or a signal's handler (Ctrl-C).
fn listen(py: Python<'_>, progress: &mut Receiver<Progress>, on_progress: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    loop {
        let receiver = &mut *progress;
        match py.detach(move || receiver.recv_timeout(SIGNALS_EVERY)) {
            Ok(progress) => {
                if let Some(on_progress) = on_progress {
                    on_progress.call1((progress_to_python(py, &progress)?,))?;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        py.check_signals()?;
    }
}

fn progress_to_python<'py>(py: Python<'py>, progress: &Progress) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("files_total", progress.files_total)?;
    dict.set_item("files_done", progress.files_done)?;
    dict.set_item("bytes_total", progress.bytes_total)?;
    dict.set_item("bytes_done", progress.bytes_done)?;
    dict.set_item("passages", progress.passages)?;
    dict.set_item("passages_pending", progress.passages_pending)?;
    dict.set_item("elapsed_seconds", progress.elapsed.as_secs_f64())?;
    dict.set_item("remaining_seconds", progress.remaining.map(|remaining| remaining.as_secs_f64()))?;
    dict.set_item("current", progress.current.as_ref())?;
    Ok(dict)
}

fn report_to_python(py: Python<'_>, report: AddReport) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    let skipped: Vec<_> =
        report.skipped.into_iter().map(|skipped| (skipped.path, skipped.why, skipped.is_error)).collect();
    dict.set_item("files_added", report.files_added)?;
    dict.set_item("files_changed", report.files_changed)?;
    dict.set_item("files_unchanged", report.files_unchanged)?;
    dict.set_item("files_pruned", report.files_pruned)?;
    dict.set_item("skipped", skipped)?;
    dict.set_item("warnings", report.warnings)?;
    dict.set_item("passages_added", report.passages_added)?;
    dict.set_item("passages_reused", report.passages_reused)?;
    dict.set_item("passages_pending", report.passages_pending)?;
    dict.set_item("passages_removed", report.passages_removed)?;
    dict.set_item("bytes_read", report.bytes_read)?;
    dict.set_item("elapsed_seconds", report.elapsed.as_secs_f64())?;
    dict.set_item("cancelled", report.cancelled)?;
    Ok(dict)
}
