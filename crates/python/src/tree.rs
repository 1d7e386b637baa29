//! A tree as Python sees it: as it stands, or in a snapshot. It returns its JSON as dicts, the same JSON that a server
//! sends.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use nuthatch_dialect::operations::Facet;
use nuthatch_link as core;
use nuthatch_link::{
    AskCode, CodeQuestion, CountTree, DiffTrees, EntryKind, Error, FieldChange, Files, GrepIndex, GrepRequest,
    GrepTree, ListFiles, PutFile, PutFiles, PutWhat, Retention, TreeAt, TreeEntry,
};
use nuthatch_worktree as worktree;
use nuthatch_worktree::{AddOptions, RestoreOptions, Walk};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyTuple};
use serde::{Deserialize, Serialize};

use crate::adding::CancelFlag;
use crate::changes::ChangeParts;
use crate::error::{engine, invalid};
use crate::forked::Forked;
use crate::handle::Handle;
use crate::results::Results;
use crate::searching::Query;
use crate::value::json_to_python;

/// The most bytes that one content may print, and about the size of a page of a search.
const PAGE_BYTES: usize = 8 << 20;

#[pyclass(frozen, module = "nuthatch._core")]
pub struct Tree {
    at: At,
    name: String,
    handle: Handle,
}

enum At {
    Live(core::Tree),
    Kept(Forked<Files>),
}

/// The arguments of `diff`, as the package passes them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct DiffArguments {
    from: Option<String>,
    to: Option<String>,
    to_tree: Option<String>,
    below: String,
    renames: bool,
}

/// The arguments of `add`, as the package passes them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct AddArguments<'py> {
    path: PathBuf,
    below: String,
    hidden: bool,
    ignore: bool,
    keep_missing: bool,
    fields: Option<ChangeParts<'py>>,
}

/// The arguments of `restore`, as the package passes them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct RestoreArguments {
    path: PathBuf,
    as_of: Option<String>,
    below: String,
    globs: Vec<String>,
    dry_run: bool,
    overwrite: bool,
}

/// The arguments of `grep`, as the package passes them: the fields of a search, and where.
#[derive(Deserialize)]
struct GrepArguments {
    request: GrepRequest,
    below: String,
    as_of: Option<String>,
    history: bool,
    index: GrepIndex,
    #[serde(rename = "where")]
    filter: Option<String>,
    cursor: Option<String>,
}

/// The arguments of a question about source code, as the package passes them.
#[derive(Deserialize)]
struct CodeArguments {
    question: CodeQuestion,
    below: String,
    as_of: Option<String>,
    limit: usize,
}

/// path, bytes, mode, modified in nanoseconds since 1970
type FileParts = (String, PyBackedBytes, u32, i64);
/// print, contents that were searched, those that were not to their end with the reason, cursor, what was read
type GrepParts<'py> = (Bound<'py, PyBytes>, u64, Vec<(String, String)>, Option<String>, Bound<'py, PyAny>);

impl Tree {
    pub fn live(tree: core::Tree, handle: Handle) -> Self {
        Self { name: tree.name().into(), at: At::Live(tree), handle }
    }

    pub fn kept(files: Files, handle: Handle) -> Self {
        Self { name: files.name().into(), at: At::Kept(Forked::new(files)), handle }
    }

    /// Asks it while the interpreter does other things.
    fn ask<T: Send>(&self, py: Python<'_>, ask: impl FnOnce(&Files) -> core::Result<T> + Send) -> PyResult<T> {
        self.handle.get(py)?;
        let files: &Files = match &self.at {
            At::Live(tree) => tree,
            At::Kept(files) => files.get(),
        };
        engine(py, || ask(files))
    }

    fn write<T: Send>(&self, py: Python<'_>, write: impl FnOnce(&core::Tree) -> core::Result<T> + Send) -> PyResult<T> {
        self.handle.get(py)?;
        match &self.at {
            At::Live(tree) => engine(py, || write(tree)),
            At::Kept(_) => Err(invalid(py, "a snapshot is read, not written")),
        }
    }
}

#[pymethods]
impl Tree {
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    fn add_folder<'py>(&self, py: Python<'py>, arguments: AddArguments<'py>) -> PyResult<Bound<'py, PyAny>> {
        let AddArguments { path, below, hidden, ignore, keep_missing, fields } = arguments;
        let fields = fields.map_or(Ok(FieldChange::default()), |parts| parts.change())?;
        let leave_out = vec![self.handle.get(py)?.folder().to_path_buf()];
        let walk = Walk { hidden, respect_ignore: ignore, leave_out };
        let add = |tree: &core::Tree| {
            worktree::add(tree, &path, AddOptions { below, walk, keep_missing, fields, ..AddOptions::default() })
        };
        to_python(py, &self.write(py, add)?)
    }

    fn restore_to<'py>(&self, py: Python<'py>, arguments: RestoreArguments) -> PyResult<Bound<'py, PyAny>> {
        let RestoreArguments { path, as_of, below, globs, dry_run, overwrite } = arguments;
        let options = RestoreOptions { below, globs, dry_run, overwrite, cancel: None };
        let restored = self.ask(py, |files| worktree::restore(files, as_of.as_deref(), &path, &options))?;
        to_python(py, &restored)
    }

    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.ask(py, Files::info)?)
    }

    fn list_entries<'py>(
        &self,
        py: Python<'py>,
        as_of: Option<&str>,
        below: &str,
        after: Option<String>,
        limit: usize,
        filter: Option<String>,
    ) -> PyResult<(Bound<'py, PyAny>, Option<String>)> {
        let page = self.ask(py, |files| {
            files.page(ListFiles { at: files.at(as_of), below: below.into(), after, limit, filter })
        })?;
        Ok((to_python(py, &page.entries)?, page.cursor))
    }

    fn entry<'py>(&self, py: Python<'py>, as_of: Option<&str>, path: &str) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.ask(py, |files| files.entry(as_of, path))?)
    }

    fn versions<'py>(&self, py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.ask(py, |files| files.versions(path))?)
    }

    /// Of the version with this sequence and content, which was found as of `as_of`.
    #[expect(clippy::too_many_arguments, reason = "which version, and which of its bytes")]
    fn read<'py>(
        &self,
        py: Python<'py>,
        as_of: Option<&str>,
        path: String,
        sequence: u64,
        content: &str,
        offset: u64,
        limit: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.ask(py, |files| {
            let entry = TreeEntry {
                path,
                kind: EntryKind::File,
                bytes: 0,
                content: Some(content.parse()?),
                target: None,
                mode: 0,
                modified_ns: 0,
                sequence,
                recorded_ms: 0,
                fields: Default::default(),
            };
            files.read_version(as_of, &entry, offset, limit)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn diff<'py>(&self, py: Python<'py>, arguments: DiffArguments) -> PyResult<Bound<'py, PyAny>> {
        let DiffArguments { from, to, to_tree, below, renames } = arguments;
        let from = TreeAt { tree: self.name.clone(), as_of: from };
        let to = TreeAt { tree: to_tree.unwrap_or_else(|| self.name.clone()), as_of: to };
        to_python(py, &self.ask(py, |files| files.diff(DiffTrees { from, to, below, no_renames: !renames }))?)
    }

    fn snapshots<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.ask(py, Files::snapshots)?)
    }

    /// The values of fields, as the dialect has them.
    fn facets<'py>(
        &self,
        py: Python<'py>,
        as_of: Option<&str>,
        below: String,
        fields: Vec<String>,
        filter: Option<String>,
        limit: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let counted =
            self.ask(py, |files| files.facets(CountTree { at: files.at(as_of), below, fields, filter, limit }))?;
        to_python(py, &counted.into_iter().map(Facet::from).collect::<Vec<_>>())
    }

    fn update(
        &self,
        py: Python<'_>,
        paths: Vec<String>,
        filter: Option<&str>,
        change: ChangeParts<'_>,
    ) -> PyResult<u64> {
        let change = change.change()?;
        self.write(py, |tree| tree.update(paths, filter, change))
    }

    /// The root of what lies below a path.
    fn root<'py>(&self, py: Python<'py>, as_of: Option<&str>, below: &str) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.ask(py, |files| files.root(as_of, below))?)
    }

    /// A page of what comparing files with their hashes has found.
    fn verify<'py>(
        &self,
        py: Python<'py>,
        as_of: Option<&str>,
        below: &str,
        after: Option<String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.ask(py, |files| files.verify_page(as_of, below, after))?)
    }

    /// A page of ripgrep's print.
    fn grep<'py>(&self, py: Python<'py>, question: &str) -> PyResult<GrepParts<'py>> {
        let (page, cursor) = self.ask(py, |files| {
            let wrong = |error: serde_json::Error| Error::invalid(format!("grep: {error}"));
            let asked: GrepArguments = serde_json::from_str(question).map_err(wrong)?;
            let page = files.grep_page(GrepTree {
                at: files.at(asked.as_of.as_deref()),
                below: asked.below,
                request: asked.request,
                history: asked.history,
                index: asked.index,
                filter: asked.filter,
                cursor: asked.cursor.map(|cursor| serde_json::from_str(&cursor)).transpose().map_err(wrong)?,
                bytes_max: PAGE_BYTES,
            })?;
            let cursor = page.cursor.as_ref().map(serde_json::to_string).transpose().map_err(wrong)?;
            Ok((page, cursor))
        })?;
        let cut = page.cut.into_iter().map(|cut| (cut.path, cut.why)).collect();
        Ok((PyBytes::new(py, &page.output), page.searched, cut, cursor, to_python(py, &page.read)?))
    }

    /// How far the index of grams is; with `wait`, after all is in it.
    fn index<'py>(&self, py: Python<'py>, wait: bool) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.ask(py, |files| files.index(wait))?)
    }

    /// One step of a question about source code.
    fn code<'py>(&self, py: Python<'py>, question: &str) -> PyResult<Bound<'py, PyAny>> {
        let answer = self.ask(py, |files| {
            let wrong = |error: serde_json::Error| Error::invalid(format!("code: {error}"));
            let CodeArguments { question, below, as_of, limit } = serde_json::from_str(question).map_err(wrong)?;
            files.code_step(AskCode { at: files.at(as_of.as_deref()), below, question, limit })
        })?;
        to_python(py, &answer)
    }

    /// Imports the meanings of names from a SCIP index.
    fn import_scip<'py>(&self, py: Python<'py>, index: PyBackedBytes, below: &str) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.write(py, |tree| tree.import_scip(&index[..], below))?)
    }

    /// Files that are put, and paths that are removed, together.
    fn put<'py>(&self, py: Python<'py>, files: Vec<FileParts>, gone: Vec<String>) -> PyResult<Bound<'py, PyAny>> {
        let files = files.into_iter().map(|(path, bytes, mode, modified_ns)| {
            let what = PutWhat::File(bytes.to_vec());
            PutFile { path, mode, modified_ns, what }
        });
        let put = PutFiles { files: files.collect(), gone, ..PutFiles::default() };
        to_python(py, &self.write(py, |tree| tree.put_all(put))?)
    }

    /// The best passages at a moment.
    fn search<'py>(
        &self,
        py: Python<'py>,
        as_of: Option<&str>,
        below: &str,
        asked: Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, Results>> {
        let query = Query::of(&asked)?;
        let explain = query.asked.explain;
        let answer = self.write(py, |tree| tree.search(as_of, below, &query.search()?))?;
        Results::of(py, answer, explain)
    }

    /// Makes the passages that are missing.
    fn make_passages<'py>(
        &self,
        py: Python<'py>,
        as_of: Option<&str>,
        cancel: Option<Bound<'py, CancelFlag>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let cancel = cancel.map(|cancel| cancel.get().shared());
        let made = self.write(py, |tree| {
            tree.make_passages(as_of, |_| cancel.as_ref().is_none_or(|cancel| !cancel.load(Ordering::SeqCst)))
        })?;
        to_python(py, &made)
    }

    fn remove(&self, py: Python<'_>, path: &str) -> PyResult<u64> {
        self.write(py, |tree| tree.remove(path))
    }

    fn erase<'py>(&self, py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.write(py, |tree| tree.erase(path))?)
    }

    fn name_snapshot<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.write(py, |tree| tree.name_snapshot(name))?)
    }

    fn drop_snapshot(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        self.write(py, |tree| tree.drop_snapshot(name))
    }

    fn set_retention(&self, py: Python<'_>, versions: Option<u32>, seconds: Option<u64>) -> PyResult<()> {
        self.write(py, |tree| tree.set_retention(Retention { versions, seconds }))
    }
}

/// Refuses a name that no tree, and a path that no file of one can have.
#[pyfunction]
#[pyo3(signature = (tree, path=None))]
pub fn check_tree(py: Python<'_>, tree: &str, path: Option<&str>) -> PyResult<()> {
    engine(py, || {
        core::check_tree(tree)?;
        path.map_or(Ok(()), core::check_path)
    })
}

fn to_python<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let value = serde_json::to_value(value).map_err(|error| invalid(py, error.to_string()))?;
    json_to_python(py, value)
}
