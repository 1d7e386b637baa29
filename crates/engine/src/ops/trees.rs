//! Operations on trees.

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::call::{Outcome, Waits};
use crate::codec::Bytes;
use crate::collection::FieldValues;
use crate::database::Database;
use crate::ops::{Keys, Op, Repeat, Scope, View, on};
use crate::tree::{
    self, AskCode, BeginImport, CodeAnswer, CodeFiles, CountTree, DiffTrees, EndImport, FilePart, GrepPage, GrepTree,
    ImportSymbols, ImportVersions, ListFiles, Loose, MakePassages, PassagesMade, PutFiles, PutReport, Retention,
    SearchTree, Step, SymbolsImported, TreeAnswer, TreeAt, TreeChange, TreeCheck, TreeEntry, TreeErased, TreeIndex,
    TreeInfo, TreePage, TreeRoot, TreeSnapshot, Trees, UpdateTree, VerifyPage, VerifyTree,
};

/// The names of all trees.
#[derive(Serialize, Deserialize)]
pub struct Names;

impl Op for Names {
    type On = on::Trees;
    type Answer = Vec<String>;
    const NAME: &'static str = "trees.names";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.at_once(tree::names)
    }
}

/// The contents of a tree, in numbers.
#[derive(Serialize, Deserialize)]
pub struct Info(pub String);

impl Op for Info {
    type On = on::Trees;
    type Answer = TreeInfo;
    const NAME: &'static str = "trees.info";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.at_once(|rows| tree::info(rows, &self.0))
    }
}

impl Op for ListFiles {
    type On = on::Trees;
    type Answer = TreePage;
    const NAME: &'static str = "trees.list";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.at_once(|rows| tree::list(rows, &self))
    }
}

/// The entry at a path; `None` when there was none.
#[derive(Serialize, Deserialize)]
pub struct Entry(pub TreeAt, pub String);

impl Op for Entry {
    type On = on::Trees;
    type Answer = Option<TreeEntry>;
    const NAME: &'static str = "trees.entry";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.at_once(|rows| tree::entry(rows, &self.0, &self.1))
    }
}

/// All versions of a path that are kept, the newest first.
#[derive(Serialize, Deserialize)]
pub struct Versions {
    /// The tree.
    pub tree: String,
    /// The path.
    pub path: String,
}

impl Op for Versions {
    type On = on::Trees;
    type Answer = Vec<TreeEntry>;
    const NAME: &'static str = "trees.versions";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.at_once(|rows| tree::versions(rows, &self.tree, &self.path))
    }
}

/// Up to `limit` bytes of a file from `offset` on, at most 8 MiB; `None` when nothing stood there.
#[derive(Serialize, Deserialize)]
pub struct Read {
    /// Which tree, and how it stood.
    pub at: TreeAt,
    /// The path of a file.
    pub path: String,
    /// The first byte.
    pub offset: u64,
    /// Most bytes of the answer.
    pub limit: usize,
}

impl Op for Read {
    type On = on::Trees;
    type Answer = Option<FilePart>;
    const NAME: &'static str = "trees.read";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.at_once(|rows| tree::part(rows, &self.at, &self.path, self.offset, self.limit))
    }
}

impl Op for DiffTrees {
    type On = on::Trees;
    type Answer = Vec<TreeChange>;
    const NAME: &'static str = "trees.diff";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.at_once(|rows| tree::diff(rows, &self))
    }
}

impl Op for GrepTree {
    type On = on::Trees;
    type Answer = GrepPage;
    const NAME: &'static str = "trees.grep";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.at_once(|rows| tree::grep(rows, &self))
    }
}

/// How far the index of grams is; with `wait`, after the grams of all contents are found.
#[derive(Serialize, Deserialize)]
pub struct Index {
    /// Finds them.
    pub wait: bool,
}

impl Op for Index {
    type On = on::Trees;
    type Answer = TreeIndex;
    const NAME: &'static str = "trees.index";

    /// Readers may request it: the results are derived data, and change nothing that anyone reads.
    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        if self.wait
            && let Keys::Live(keyspace) = view.keys()?
        {
            Trees::of(keyspace)?.index()?;
        }
        view.at_once(tree::indexed)
    }
}

impl Op for AskCode {
    type On = on::Trees;
    type Answer = CodeAnswer;
    const NAME: &'static str = "trees.code";

    /// Facts found about contents are kept with them, even when a reader asks: they are derived data, and change
    /// nothing that anyone reads. A snapshot keeps nothing, and finds them again for each question.
    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        let mut loose = Loose::new();
        loop {
            let (mut sources, more) = match view.at_once(|rows| tree::step(rows, &self, &loose))? {
                Step::Answered(answer) => return Ok(*answer),
                Step::Missing { sources, more } => (sources, more),
            };
            if let Keys::Live(keyspace) = view.keys()? {
                sources = Trees::of(keyspace)?.keep_code(sources)?;
                if more > 0 && sources.is_empty() {
                    let files = CodeFiles { pending: more, ..CodeFiles::default() };
                    return Ok(CodeAnswer { files, ..CodeAnswer::default() });
                }
            }
            view.at_once(|rows| tree::find_loose(rows, sources, &mut loose))?;
        }
    }
}

/// Importing is idempotent: the same index says the same of files each time.
impl Op for ImportSymbols {
    type On = on::Trees;
    type Answer = SymbolsImported;
    const NAME: &'static str = "trees.import_symbols";
    const SCOPE: Scope = Scope::Write;

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        Trees::of(view.keyspace()?)?.import_symbols(self)
    }
}

/// Passages are kept also when a reader asks: they are derived, and nothing that is read changes by them.
impl Op for MakePassages {
    type On = on::Everything;
    type Answer = PassagesMade;
    const NAME: &'static str = "passages.make";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.database()?.tree_passages(&self.embedder)?.make(&self.at)
    }
}

impl Op for SearchTree {
    type On = on::Everything;
    type Answer = TreeAnswer;
    const NAME: &'static str = "passages.search";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.database()?.tree_passages(&self.embedder)?.search(&self)
    }

    fn waits(&self) -> Waits {
        SearchTree::waits(self)
    }
}

/// Removes the passages of contents that are gone. Says of how many contents.
#[derive(Serialize, Deserialize)]
pub struct SweepPassages;

impl Op for SweepPassages {
    type On = on::Everything;
    type Answer = u64;
    const NAME: &'static str = "passages.sweep";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Resumes;

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.database()?.sweep_tree_passages()
    }
}

/// A tree's named snapshots, the oldest first.
#[derive(Serialize, Deserialize)]
pub struct Snapshots(pub String);

impl Op for Snapshots {
    type On = on::Trees;
    type Answer = Vec<TreeSnapshot>;
    const NAME: &'static str = "trees.snapshots";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.at_once(|rows| tree::snapshots(rows, &self.0))
    }
}

/// The root of a tree, or of a folder in it, at each of some moments.
#[derive(Serialize, Deserialize)]
pub struct Roots {
    /// The tree.
    pub tree: String,
    /// A folder in it; empty for the whole tree.
    pub below: String,
    /// As of when, as in [`TreeAt`].
    pub moments: Vec<Option<String>>,
}

impl Op for Roots {
    type On = on::Trees;
    type Answer = Vec<TreeRoot>;
    const NAME: &'static str = "trees.roots";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.at_once(|rows| tree::roots(rows, &self.tree, &self.below, &self.moments))
    }
}

impl Op for VerifyTree {
    type On = on::Trees;
    type Answer = VerifyPage;
    const NAME: &'static str = "trees.verify";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.at_once(|rows| tree::verify(rows, &self))
    }
}

/// Counts again what trees refer to, and with `hash` reads every content and compares it with its name.
#[derive(Serialize, Deserialize)]
pub struct Check {
    /// Read everything.
    pub hash: bool,
}

impl Op for Check {
    type On = on::Trees;
    type Answer = TreeCheck;
    const NAME: &'static str = "trees.check";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        Trees::of(view.keyspace()?)?.check(self.hash)
    }
}

impl Op for PutFiles {
    type On = on::Trees;
    type Answer = PutReport;
    const NAME: &'static str = "trees.put";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Once;

    fn run(self, view: &View<'_>) -> Result<PutReport> {
        Trees::of(view.keyspace()?)?.put(self)
    }

    fn again(self, _: &Database, outcome: Outcome) -> Result<PutReport> {
        Ok(PutReport::again(outcome))
    }
}

impl Op for UpdateTree {
    type On = on::Trees;
    /// How many files changed.
    type Answer = u64;
    const NAME: &'static str = "trees.update";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Resumes;

    fn run(self, view: &View<'_>) -> Result<u64> {
        let keyspace = view.keyspace()?;
        Ok(keyspace.call.before().replaced + Trees::of(keyspace)?.update(&self)?)
    }
}

impl Op for CountTree {
    type On = on::Trees;
    type Answer = Vec<FieldValues>;
    const NAME: &'static str = "trees.facets";

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.at_once(|rows| tree::count(rows, &self))
    }
}

impl Op for BeginImport {
    type On = on::Trees;
    /// The number to add to the sequences of the export.
    type Answer = u64;
    const NAME: &'static str = "trees.begin_import";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Once;

    fn run(self, view: &View<'_>) -> Result<u64> {
        Trees::of(view.keyspace()?)?.begin_import(&self)
    }

    fn again(self, _: &Database, outcome: Outcome) -> Result<u64> {
        Ok(outcome.value as u64)
    }
}

impl Op for ImportVersions {
    type On = on::Trees;
    type Answer = ();
    const NAME: &'static str = "trees.import";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Once;

    fn run(self, view: &View<'_>) -> Result<()> {
        Trees::of(view.keyspace()?)?.import(self)
    }

    fn again(self, _: &Database, _: Outcome) -> Result<()> {
        Ok(())
    }
}

impl Op for EndImport {
    type On = on::Trees;
    type Answer = ();
    const NAME: &'static str = "trees.end_import";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Once;

    fn run(self, view: &View<'_>) -> Result<()> {
        Trees::of(view.keyspace()?)?.end_import(&self)
    }

    fn again(self, _: &Database, _: Outcome) -> Result<()> {
        Ok(())
    }
}

/// Removes what an import of a tree has written that has not ended.
#[derive(Serialize, Deserialize)]
pub struct EndImportOf(pub String);

impl Op for EndImportOf {
    type On = on::Trees;
    type Answer = ();
    const NAME: &'static str = "trees.give_up_import";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Resumes;

    fn run(self, view: &View<'_>) -> Result<()> {
        Trees::of(view.keyspace()?)?.end_import_of(&self.0)
    }
}

/// Begins an upload of a large file, and returns its number.
#[derive(Serialize, Deserialize)]
pub struct BeginUpload;

impl Op for BeginUpload {
    type On = on::Trees;
    type Answer = u64;
    const NAME: &'static str = "trees.begin_upload";
    const SCOPE: Scope = Scope::Write;

    fn run(self, view: &View<'_>) -> Result<u64> {
        Trees::of(view.keyspace()?)?.begin_upload()
    }
}

/// Adds the bytes of a content from `offset` on to an upload.
#[derive(Serialize, Deserialize)]
pub struct Upload {
    /// The number that [`BeginUpload`] returned.
    pub upload: u64,
    /// How many bytes came before.
    pub offset: u64,
    /// At most 16 MiB.
    pub bytes: Bytes,
    /// These are the last.
    pub is_last: bool,
}

impl Op for Upload {
    type On = on::Trees;
    type Answer = ();
    const NAME: &'static str = "trees.upload";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Resumes;

    fn run(self, view: &View<'_>) -> Result<()> {
        Trees::of(view.keyspace()?)?.upload(self.upload, self.offset, &self.bytes.0, self.is_last)
    }
}

/// Ends an upload without using it.
#[derive(Serialize, Deserialize)]
pub struct EndUpload(pub u64);

impl Op for EndUpload {
    type On = on::Trees;
    type Answer = ();
    const NAME: &'static str = "trees.end_upload";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Resumes;

    fn run(self, view: &View<'_>) -> Result<()> {
        Trees::of(view.keyspace()?)?.end_upload(self.0)
    }
}

/// Removes what stands at or below a path; its versions stay. Says how many files, folders and links.
#[derive(Serialize, Deserialize)]
pub struct Remove {
    /// The tree.
    pub tree: String,
    /// The path; empty for everything.
    pub path: String,
}

impl Op for Remove {
    type On = on::Trees;
    type Answer = u64;
    const NAME: &'static str = "trees.remove";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Resumes;

    fn run(self, view: &View<'_>) -> Result<u64> {
        let keyspace = view.keyspace()?;
        Ok(keyspace.call.before().deleted + Trees::of(keyspace)?.remove(&self.tree, &self.path)?)
    }
}

/// Erases every version of what ever stood at or below a path.
#[derive(Serialize, Deserialize)]
pub struct Erase {
    /// The tree.
    pub tree: String,
    /// The path; empty for everything.
    pub path: String,
}

impl Op for Erase {
    type On = on::Trees;
    type Answer = TreeErased;
    const NAME: &'static str = "trees.erase";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Resumes;

    fn run(self, view: &View<'_>) -> Result<TreeErased> {
        let keyspace = view.keyspace()?;
        let (before, now) = (keyspace.call.before(), Trees::of(keyspace)?.erase(&self.tree, &self.path)?);
        Ok(TreeErased { paths: before.files + now.paths, versions: before.deleted + now.versions })
    }
}

/// Erases a tree with all versions and snapshots. False when there is none.
#[derive(Serialize, Deserialize)]
pub struct Drop(pub String);

impl Op for Drop {
    type On = on::Trees;
    type Answer = bool;
    const NAME: &'static str = "trees.drop";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Resumes;

    fn run(self, view: &View<'_>) -> Result<bool> {
        let keyspace = view.keyspace()?;
        Ok(Trees::of(keyspace)?.drop_tree(&self.0)? || keyspace.call.before() != Outcome::default())
    }
}

/// Names a tree as it stands.
#[derive(Serialize, Deserialize)]
pub struct NameSnapshot {
    /// The tree.
    pub tree: String,
    /// The name.
    pub name: String,
}

impl Op for NameSnapshot {
    type On = on::Trees;
    type Answer = TreeSnapshot;
    const NAME: &'static str = "trees.name_snapshot";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Once;

    fn run(self, view: &View<'_>) -> Result<TreeSnapshot> {
        Trees::of(view.keyspace()?)?.name_snapshot(&self.tree, &self.name)
    }

    fn again(self, _: &Database, outcome: Outcome) -> Result<TreeSnapshot> {
        Ok(TreeSnapshot { name: self.name, sequence: outcome.value as u64, created_ms: outcome.inserted })
    }
}

/// Removes a snapshot, and the versions that only it has kept. False if there is no snapshot of that name.
#[derive(Serialize, Deserialize)]
pub struct DropSnapshot {
    /// The tree.
    pub tree: String,
    /// The name.
    pub name: String,
}

impl Op for DropSnapshot {
    type On = on::Trees;
    type Answer = bool;
    const NAME: &'static str = "trees.drop_snapshot";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Resumes;

    fn run(self, view: &View<'_>) -> Result<bool> {
        let keyspace = view.keyspace()?;
        let was_there = Trees::of(keyspace)?.drop_snapshot(&self.tree, &self.name)?;
        Ok(was_there || keyspace.call.before().dropped > 0)
    }
}

/// Changes how long a tree's versions are kept.
#[derive(Serialize, Deserialize)]
pub struct SetRetention {
    /// The tree, which is made when there is none.
    pub tree: String,
    /// How long from now on.
    pub retention: Retention,
}

impl Op for SetRetention {
    type On = on::Trees;
    type Answer = ();
    const NAME: &'static str = "trees.set_retention";
    const SCOPE: Scope = Scope::Write;
    const REPEAT: Repeat = Repeat::Resumes;

    fn run(self, view: &View<'_>) -> Result<()> {
        Trees::of(view.keyspace()?)?.set_retention(&self.tree, self.retention)
    }
}
