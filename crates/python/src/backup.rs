//! Backups, exports and imports, in threads of their own, so that the caller's can hear of Ctrl-C and report progress.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};

use nuthatch_link::{
    BackupInfo, BackupOptions, BackupProgress, Backups, Database, Error, ExportOptions, ImportOptions, Options,
    RestoreOptions, Result, TransferProgress,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::adding::SIGNALS_EVERY;
use crate::error::{engine, take_raised, to_python};

/// (files_total, bytes_total, bytes_done, elapsed_seconds) of a backup, or (name, done, total) of a transfer.
enum Told {
    Backup(BackupProgress),
    Transfer(TransferProgress),
}

/// Runs `work` in a thread; passes on what it tells, and stops it when a signal comes or the callback fails.
fn watched<T: Send>(
    py: Python<'_>,
    on_progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&AtomicBool, &mut (dyn FnMut(Told) + Send)) -> Result<T> + Send,
) -> PyResult<T> {
    let cancel = Arc::new(AtomicBool::new(false));
    let (sender, mut told) = channel::<Told>();
    std::thread::scope(|scope| {
        let stop = &*cancel;
        let worker = scope.spawn(move || {
            // Nobody listens any more once the callback has failed.
            let mut tell = |told| drop(sender.send(told));
            (work(stop, &mut tell), take_raised())
        });
        let heard = listen(py, &mut told, on_progress);
        if heard.is_err() {
            cancel.store(true, Ordering::SeqCst);
        }
        let joined = py.detach(|| worker.join());
        heard?;
        let (outcome, raised) =
            joined.unwrap_or_else(|_| (Err(Error::internal("it panicked; this is a defect, please report it")), None));
        outcome.map_err(|error| to_python(py, error, raised))
    })
}

fn listen(py: Python<'_>, told: &mut Receiver<Told>, on_progress: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    loop {
        let receiver = &mut *told;
        match (py.detach(move || receiver.recv_timeout(SIGNALS_EVERY)), on_progress) {
            (Ok(Told::Backup(it)), Some(tell)) => {
                tell.call1((it.files_total, it.bytes_total, it.bytes_done, it.elapsed.as_secs_f64()))?;
            }
            (Ok(Told::Transfer(it)), Some(tell)) => {
                tell.call1((it.name, it.done, it.total))?;
            }
            (Ok(_), None) | (Err(RecvTimeoutError::Timeout), _) => {}
            (Err(RecvTimeoutError::Disconnected), _) => return Ok(()),
        }
        py.check_signals()?;
    }
}

pub fn backup<'py>(
    py: Python<'py>,
    database: &Database,
    place: PathBuf,
    indexes: bool,
    rate_bytes_per_second: Option<u64>,
    on_progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let report = watched(py, on_progress.as_ref(), |cancel, tell| {
        let mut tell = |progress: &BackupProgress| tell(Told::Backup(*progress));
        let options =
            BackupOptions { indexes, rate_bytes_per_second, on_progress: Some(&mut tell), cancel: Some(cancel) };
        database.backup(place, options)
    })?;
    let dict = PyDict::new(py);
    dict.set_item("backup", info(py, report.backup)?)?;
    dict.set_item("files", report.files)?;
    dict.set_item("files_unchanged", report.files_unchanged)?;
    dict.set_item("read_bytes", report.read_bytes)?;
    dict.set_item("new_objects", report.new_objects)?;
    dict.set_item("new_bytes", report.new_bytes)?;
    dict.set_item("elapsed_seconds", report.elapsed.as_secs_f64())?;
    Ok(dict)
}

fn info(py: Python<'_>, info: BackupInfo) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("rows", info.rows())?;
    dict.set_item("collections", info.collection_names())?;
    dict.set_item("keyspaces", info.keyspace_names())?;
    dict.set_item("graphs", info.graph_names())?;
    dict.set_item("id", info.id)?;
    dict.set_item("created", info.created)?;
    dict.set_item("folder", info.folder)?;
    dict.set_item("format", info.format)?;
    dict.set_item("tenants", info.tenants.into_iter().map(|it| it.name).collect::<Vec<_>>())?;
    dict.set_item("only", info.only)?;
    dict.set_item("files", info.files)?;
    dict.set_item("bytes", info.bytes)?;
    dict.set_item("new_bytes", info.new_bytes)?;
    dict.set_item("left_out", info.left_out)?;
    dict.set_item("damaged", info.damaged)?;
    Ok(dict)
}

#[pyfunction]
pub fn list_backups(py: Python<'_>, place: PathBuf) -> PyResult<Vec<Bound<'_, PyDict>>> {
    engine(py, || Backups::at(place).list())?.into_iter().map(|one| info(py, one)).collect()
}

/// (backups, objects, bytes, [(path, what, files)])
type CheckParts = (u64, u64, u64, Vec<(PathBuf, String, Vec<String>)>);

#[pyfunction]
pub fn verify_backups(
    py: Python<'_>,
    place: PathBuf,
    ids: Vec<String>,
    on_progress: Option<Bound<'_, PyAny>>,
) -> PyResult<CheckParts> {
    let check = watched(py, on_progress.as_ref(), |cancel, tell| {
        let mut tell = |progress: &BackupProgress| tell(Told::Backup(*progress));
        Backups::at(place).verify(&ids, Some(&mut tell), Some(cancel))
    })?;
    let damage = check.damage.into_iter().map(|one| (one.path, one.what, one.files));
    Ok((check.backups, check.objects, check.bytes, damage.collect()))
}

/// `keep`: deletes all but this many of the newest. (backups, objects, bytes)
#[pyfunction]
pub fn delete_backups(
    py: Python<'_>,
    place: PathBuf,
    ids: Vec<String>,
    keep: Option<usize>,
) -> PyResult<(Vec<String>, u64, u64)> {
    let deleted = engine(py, || match keep {
        Some(newest) => Backups::at(place).keep(newest),
        None => Backups::at(place).delete(&ids),
    })?;
    Ok((deleted.backups, deleted.objects, deleted.bytes))
}

/// `which`: a backup, a tenant and a collection of it, each where it was named.
#[pyfunction]
pub fn restore<'py>(
    py: Python<'py>,
    place: PathBuf,
    target: PathBuf,
    which: (Option<String>, Option<String>, Option<String>),
    indexes: bool,
    on_progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (backup, tenant, collection) = which;
    let report = watched(py, on_progress.as_ref(), |cancel, tell| {
        let mut tell = |progress: &BackupProgress| tell(Told::Backup(*progress));
        Backups::at(place).restore(
            target,
            RestoreOptions {
                backup,
                tenant,
                collection,
                without_indexes: !indexes,
                options: Options::default(),
                on_progress: Some(&mut tell),
                cancel: Some(cancel),
            },
        )
    })?;
    let dict = PyDict::new(py);
    dict.set_item("backup", info(py, report.backup)?)?;
    dict.set_item("folder", report.folder)?;
    dict.set_item("collections", report.collections)?;
    dict.set_item("rows", report.rows)?;
    dict.set_item("files", report.files)?;
    dict.set_item("bytes", report.bytes)?;
    dict.set_item("elapsed_seconds", report.elapsed.as_secs_f64())?;
    Ok(dict)
}

pub fn export<'py>(
    py: Python<'py>,
    database: &Database,
    folder: PathBuf,
    collection: Option<String>,
    on_progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let report = watched(py, on_progress.as_ref(), |cancel, tell| {
        let mut tell = |progress: &TransferProgress| tell(Told::Transfer(progress.clone()));
        database.export(folder, ExportOptions { collection, on_progress: Some(&mut tell), cancel: Some(cancel) })
    })?;
    let dict = PyDict::new(py);
    dict.set_item("folder", report.folder)?;
    dict.set_item("collections", report.collections)?;
    dict.set_item("keyspaces", report.keyspaces)?;
    dict.set_item("graphs", report.graphs)?;
    dict.set_item("records", report.records)?;
    dict.set_item("files", report.files)?;
    dict.set_item("keys", report.keys)?;
    dict.set_item("nodes", report.nodes)?;
    dict.set_item("edges", report.edges)?;
    dict.set_item("fact_sets", report.fact_sets)?;
    dict.set_item("facts", report.facts)?;
    dict.set_item("trees", report.trees)?;
    dict.set_item("versions", report.versions)?;
    dict.set_item("bytes", report.bytes)?;
    dict.set_item("elapsed_seconds", report.elapsed.as_secs_f64())?;
    Ok(dict)
}

pub fn import<'py>(
    py: Python<'py>,
    database: &Database,
    folder: PathBuf,
    collection: Option<String>,
    merge: bool,
    on_progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let report = watched(py, on_progress.as_ref(), |cancel, tell| {
        let mut tell = |progress: &TransferProgress| tell(Told::Transfer(progress.clone()));
        database.import(folder, ImportOptions { collection, merge, on_progress: Some(&mut tell), cancel: Some(cancel) })
    })?;
    let dict = PyDict::new(py);
    dict.set_item("collections", report.collections)?;
    dict.set_item("keyspaces", report.keyspaces)?;
    dict.set_item("graphs", report.graphs)?;
    dict.set_item("records", report.records)?;
    dict.set_item("files", report.files)?;
    dict.set_item("keys", report.keys)?;
    dict.set_item("nodes", report.nodes)?;
    dict.set_item("edges", report.edges)?;
    dict.set_item("fact_sets", report.fact_sets)?;
    dict.set_item("facts", report.facts)?;
    dict.set_item("trees", &report.trees)?;
    dict.set_item("elapsed_seconds", report.elapsed.as_secs_f64())?;
    Ok(dict)
}
