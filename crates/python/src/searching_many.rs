//! Many searches in one call, in a thread of its own, so that the caller's can hear of Ctrl-C and of the time running out.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use nuthatch_link::{Answer, Error, Result, Search};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::adding::SIGNALS_EVERY;
use crate::error::{invalid, take_raised, to_python};
use crate::records::{Vectors, string};
use crate::results::Results;
use crate::searching::Query;

/// `asked` with each of `count` texts, vectors, or both, asked by `run`. Its time limit is one for all of them.
pub fn search_many<'py>(
    py: Python<'py>,
    run: impl FnOnce(&[Search]) -> Result<Vec<Answer>> + Send,
    asked: &Bound<'py, PyTuple>,
    count: usize,
    texts: Option<Bound<'py, PyList>>,
    vectors: Option<Vectors>,
) -> PyResult<Vec<Bound<'py, Results>>> {
    let query = Query::of(asked)?;
    let cancel = query.cancel.clone().unwrap_or_default();
    let (explain, timeout_seconds) = (query.asked.explain, query.timeout_seconds);
    let like_all = query.search().map_err(|error| to_python(py, error, None))?;
    let like_all = Search { cancel: Some(cancel.clone()), ..like_all };
    let of_one = |(text, vector)| Search { text, vector, ..like_all.clone() };
    let searches: Vec<Search> = each(py, count, texts, vectors)?.into_iter().map(of_one).collect();
    let deadline = timeout_seconds.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds));
    let answers = std::thread::scope(|scope| {
        let (sender, mut ended) = channel::<()>();
        let worker = scope.spawn(move || {
            let _dropped_at_the_end = sender;
            (run(&searches), take_raised())
        });
        let heard = loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                cancel.store(true, Ordering::SeqCst);
            }
            // Once the time is up, there is only the end to wait for.
            let slice =
                left.filter(|left| !left.is_zero()).map_or(SIGNALS_EVERY, |left: Duration| left.min(SIGNALS_EVERY));
            let ended = &mut ended;
            if py.detach(move || ended.recv_timeout(slice)) == Err(RecvTimeoutError::Disconnected) {
                break Ok(());
            }
            if let Err(raised) = py.check_signals() {
                cancel.store(true, Ordering::SeqCst);
                break Err(raised);
            }
        };
        let joined = py.detach(|| worker.join());
        heard?;
        let (answers, raised) = joined.unwrap_or_else(|_| {
            (Err(Error::internal("searching panicked; this is a defect, please report it with the query")), None)
        });
        answers.map_err(|error| to_python(py, error, raised))
    })?;
    answers.into_iter().map(|answer| Results::of(py, answer, explain)).collect()
}

/// Text, vector.
type Question = (Option<String>, Option<Vec<f32>>);

/// Returns the question of each search.
pub fn each<'py>(
    py: Python<'py>,
    count: usize,
    texts: Option<Bound<'py, PyList>>,
    vectors: Option<Vectors>,
) -> PyResult<Vec<Question>> {
    let one = |at: usize| {
        let text = |texts: &Bound<'py, PyList>| {
            string(&texts.get_item(at)?).map_err(|what| invalid(py, format!("texts[{at}] {what}; give strings")))
        };
        let text = texts.as_ref().map(text).transpose()?;
        Ok((text, vectors.as_ref().and_then(|vectors| vectors.row(at))))
    };
    (0..count).map(one).collect()
}
