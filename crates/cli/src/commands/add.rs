//! `nuthatch add`: files and folders in, incrementally.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use nuthatch_link::{
    AddOptions, AddReport, CollectionOptions, Database, Error, PassagesMade, ProcessMemory, Result as EngineResult,
    Tree, TreeSnapshot, Value, WalkOptions,
};
use nuthatch_worktree::{AddOptions as StoreOptions, Added, Walk, add as store};
use serde_json::json;

use crate::args::{COLLECTION_DEFAULT, Globals};
use crate::commands::{embed, tag};
use crate::durability::DurabilityArgs;
use crate::embedder::EmbedderArgs;
use crate::exit::{Failure, Outcome};
use crate::output::{self, BAD, BOLD, DIM, Out};
use crate::progress::Meter;
use crate::tree_at::inside;
use crate::units::{bytes, count, duration, parse_bytes, rate, thousands};
use crate::{folder, interrupt, paths};

/// Files that wait for the index from which on a process is left behind that makes it.
const INDEXED_BEHIND_MIN: u64 = 256;

/// The files to add, and their destination.
#[derive(Args)]
pub struct Source {
    /// Files and folders to add; .gitignore is respected
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// The collection for the passages [default: documents; with --tree, none: `search --tree`
    /// finds the tree's own passages]
    #[arg(long, value_name = "NAME")]
    pub collection: Option<String>,
    /// Skip files larger than this
    #[arg(long, default_value = "32MiB", value_parser = parse_bytes, value_name = "SIZE")]
    max_file_bytes: u64,
    /// Also add hidden files and folders (names that begin with a dot)
    #[arg(long)]
    hidden: bool,
    /// Follow symbolic links
    #[arg(long)]
    follow_links: bool,
    /// Also add files that .gitignore and .ignore exclude
    #[arg(long)]
    no_ignore: bool,
    /// Give these files, or all their passages, this tag, also those that are unchanged; may be repeated
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// Set a field of these files, or of all their passages: JSON values, or text; may be repeated
    #[arg(long, value_name = "FIELD=VALUE", value_parser = tag::field)]
    meta: Vec<(String, Value)>,
    /// Keep the files themselves, bit for bit, in this tree: one folder, which the tree then
    /// equals, or single files. Files of any size and type, and links
    #[arg(long, value_name = "NAME")]
    pub tree: Option<String>,
    /// Where they go in the tree [default: its root]
    #[arg(long, value_name = "PATH", requires = "tree", default_value = "", hide_default_value = true)]
    below: String,
    /// Make no passages now; `search --tree` makes those that it needs
    #[arg(long, requires = "tree")]
    pub no_passages: bool,
    #[command(flatten)]
    pub durability: DurabilityArgs,
    #[command(flatten)]
    pub embedder: EmbedderArgs,
}

#[derive(Args)]
pub struct Add {
    #[command(flatten)]
    source: Source,
    /// Also remove files below these paths that no longer exist
    #[arg(long)]
    prune: bool,
    /// Return when every vector is there, not as soon as words are found, and every file of the tree in the index of `grep`
    #[arg(long)]
    wait: bool,
    /// Leave no process behind that makes the vectors, or the index of a tree; `nuthatch embed` and `nuthatch index` do
    #[arg(long, conflicts_with = "wait")]
    no_embed: bool,
    /// Name the tree as it then stands
    #[arg(long, value_name = "NAME", requires = "tree")]
    snapshot: Option<String>,
    /// Keep in the tree what the folder has no longer
    #[arg(long, requires = "tree")]
    keep_missing: bool,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
}

impl Source {
    /// Refuses paths that are not there, before anything is created: a slip of the pen should leave no data folder behind.
    pub fn check(&self) -> Result<(), Failure> {
        for path in &self.paths {
            path.symlink_metadata().map_err(|error| match error.kind() {
                std::io::ErrorKind::NotFound => {
                    Error::not_found(format!("{} does not exist; nothing was added", path.display()))
                }
                _ => Error::io(path, &error),
            })?;
        }
        let is_folder = self.paths.iter().any(|path| path.is_dir());
        if self.tree.is_some() && is_folder && self.paths.len() > 1 {
            return Err(Error::invalid("--tree takes one folder, which the tree then equals, or single files").into());
        }
        Ok(())
    }

    /// The collection that gets passages of the files where they are on the disk.
    pub fn collection(&self) -> Option<&str> {
        match &self.collection {
            _ if self.no_passages => None,
            Some(name) => Some(name),
            None if self.tree.is_some() => None,
            None => Some(COLLECTION_DEFAULT),
        }
    }

    /// How files become passages.
    pub fn options<'a>(&self) -> AddOptions<'a> {
        let walk = WalkOptions {
            max_file_bytes: self.max_file_bytes,
            hidden: self.hidden,
            follow_links: self.follow_links,
            respect_ignore: !self.no_ignore,
        };
        AddOptions { walk, fields: tag::change(&self.tag, &self.meta), ..AddOptions::default() }
    }

    /// Keeps the files themselves.
    pub fn store(&self, tree: &Tree, own: &Path, keep_missing: bool, cancel: &AtomicBool) -> EngineResult<Added> {
        let mut added = Added::default();
        for path in &self.paths {
            let options = StoreOptions {
                below: inside(&self.below).into(),
                walk: Walk { hidden: self.hidden, respect_ignore: !self.no_ignore, leave_out: vec![own.to_path_buf()] },
                keep_missing,
                fields: tag::change(&self.tag, &self.meta),
                on_progress: None,
                cancel: Some(cancel),
            };
            added.join(store(tree, path, options)?);
        }
        Ok(added)
    }
}

/// Time and place of an `add`, in addition to the engine's report.
struct Took {
    total: Duration,
    memory: ProcessMemory,
    anonymous_bytes_max: u64,
}

impl Add {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let source = &self.source;
        source.check()?;
        let started = Instant::now();
        let options = source.embedder.options()?;
        let database = folder::create(globals)?;
        let cancel = interrupt::flag("Stopping after this batch")?;
        let mut stored = match &source.tree {
            Some(name) => Some(self.store(&database, name, &options, cancel)?),
            None => None,
        };
        let folder = database.folder().to_path_buf();
        let leaves_index =
            stored.as_ref().is_some_and(|stored| stored.is_indexed_later) && !self.no_embed && embed::holds(&database)?;
        let leave_index = || match leaves_index {
            true => embed::leave_behind(globals, &folder, "index").map_err(|error| Error::io(&folder, &error)),
            false => Ok(()),
        };
        let name = source.collection().filter(|_| stored.as_ref().is_none_or(|stored| !stored.is_cut(cancel)));
        let Some(name) = name else {
            let Some(stored) = &mut stored else { return Ok(Outcome::Interrupted) };
            let leaves = stored.pending() > 0 && !self.no_embed && !self.wait && embed::holds(&database)?;
            if self.wait
                && let Some(passages) = database.passages_of_trees()?
            {
                embed::wait_for(&passages, &mut Meter::new(self.quiet), cancel)?;
                if let Some(made) = &mut stored.passages {
                    made.pending = passages.info()?.pending;
                }
            }
            database.close()?;
            if leaves {
                embed::leave_behind(globals, &folder, "embed").map_err(|error| Error::io(&folder, &error))?;
            }
            leave_index()?;
            match self.json {
                true => output::json(out, &json!({ "tree": stored.as_json() }))?,
                false => stored.show(out)?,
            }
            return Ok(if stored.is_cut(cancel) { Outcome::Interrupted } else { Outcome::Done });
        };
        let collection = database.collection(name, options)?.with_durability(source.durability.durability);
        let mut meter = Meter::new(self.quiet);
        let mut show = |progress: &_| meter.show(progress);
        let options = AddOptions {
            prune: self.prune,
            wait: self.wait,
            on_progress: Some(&mut show),
            cancel: Some(cancel),
            ..source.options()
        };
        let added = collection.add(&source.paths, options);
        meter.finish();
        let report = added?;
        meter.look_at_memory();
        let memory = ProcessMemory::now().unwrap_or_default();
        let leaves = report.passages_pending > 0 && !self.no_embed && embed::holds(&database)?;
        // Closing brings what is fresh into the indexes: part of the work, so part of the time.
        database.close()?;
        meter.look_at_memory();
        if leaves {
            embed::leave_behind(globals, &folder, "embed").map_err(|error| Error::io(&folder, &error))?;
        }
        leave_index()?;
        let took = Took { total: started.elapsed(), memory, anonymous_bytes_max: meter.anonymous_bytes_max };
        if self.json {
            let mut report = as_json(&report, &took);
            report["tree"] = stored.as_ref().map_or(serde_json::Value::Null, Stored::as_json);
            output::json(out, &report)?;
        } else {
            if let Some(stored) = &stored {
                stored.show(out)?;
            }
            show_report(out, &report, &took)?;
        }
        Ok(match report.files_added + report.files_changed + report.files_unchanged + report.files_pruned {
            _ if report.cancelled => Outcome::Interrupted,
            0 if !report.skipped.is_empty() => Outcome::NothingFound,
            _ => Outcome::Done,
        })
    }
}

/// The result of adding to a tree.
struct Stored {
    tree: String,
    added: Added,
    snapshot: Option<TreeSnapshot>,
    passages: Option<PassagesMade>,
    /// Enough files wait for the index to be worth a process.
    is_indexed_later: bool,
}

impl Add {
    fn store(
        &self,
        database: &Database,
        name: &str,
        options: &CollectionOptions,
        cancel: &AtomicBool,
    ) -> Result<Stored, Failure> {
        let tree = database.tree(name)?.with_durability(self.source.durability.durability);
        let tree = tree.with_embedder(options.embedder.clone());
        let added = self.source.store(&tree, database.folder(), self.keep_missing, cancel)?;
        if added.added + added.changed + added.unchanged == 0 && !added.cancelled {
            output::warning(
                "no files were found; .gitignore, .ignore and hidden names are left out without --no-ignore and --hidden",
            );
        }
        let snapshot = match &self.snapshot {
            Some(snapshot) if !added.cancelled => Some(tree.name_snapshot(snapshot)?),
            _ => None,
        };
        let wants_passages = !self.source.no_passages && !added.cancelled;
        let there = wants_passages && added.added + added.changed + added.unchanged > 0;
        let passages = if there { Some(make_passages(&tree, self.quiet, cancel)?) } else { None };
        let index = tree.index(self.wait && !added.cancelled)?;
        let is_indexed_later = index.pending >= INDEXED_BEHIND_MIN;
        Ok(Stored { tree: name.into(), added, snapshot, passages, is_indexed_later })
    }
}

/// Makes the passages that a tree lacks, and shows how far that is.
pub fn make_passages(tree: &Tree, quiet: bool, cancel: &AtomicBool) -> EngineResult<PassagesMade> {
    let mut meter = Meter::new(quiet);
    let made = tree.make_passages(None, |made| {
        meter.show_passages(tree.name(), made.contents, made.contents + made.left, made.passages);
        !cancel.load(Ordering::SeqCst)
    });
    meter.finish();
    made
}

impl Stored {
    /// Whether somebody ended it before everything was done.
    fn is_cut(&self, cancel: &AtomicBool) -> bool {
        let left = self.passages.as_ref().is_some_and(|made| made.left > 0);
        self.added.cancelled || (left && cancel.load(Ordering::SeqCst))
    }

    /// Passages that wait for their vectors.
    fn pending(&self) -> u64 {
        self.passages.as_ref().map_or(0, |made| made.pending)
    }

    fn show(&self, out: &mut Out) -> Result<(), Failure> {
        let Added { added, changed, unchanged, gone, bytes_read, skipped, .. } = &self.added;
        for skipped in skipped {
            writeln!(out, "{DIM}skipped{DIM:#}  {}: {}", output::plain(&skipped.path.to_string_lossy()), skipped.why)?;
        }
        let snapshot = self.snapshot.as_ref().map_or(String::new(), |snapshot| format!("; snapshot {}", snapshot.name));
        writeln!(
            out,
            "{BOLD}Tree{BOLD:#}      {}: {} added, {} changed, {} unchanged, {} gone, {} skipped, {} read{snapshot}",
            output::plain(&self.tree),
            thousands(*added),
            thousands(*changed),
            thousands(*unchanged),
            thousands(*gone),
            thousands(skipped.len() as u64),
            bytes(*bytes_read)
        )?;
        let Some(made) = &self.passages else { return Ok(()) };
        for unread in made.unread.iter().filter(|unread| unread.is_error) {
            writeln!(out, "{BAD}no text{BAD:#}  {}", output::plain(&unread.why))?;
        }
        let reused = match made.reused {
            0 => String::new(),
            reused => format!(" ({} kept their vectors)", thousands(reused)),
        };
        let (passages, contents) = (thousands(made.passages), count(made.contents, "new content"));
        writeln!(out, "{BOLD}Passages{BOLD:#}  {passages} in{reused}, of {contents}")?;
        if made.pending > 0 {
            writeln!(
                out,
                "{BOLD}Vectors{BOLD:#}   {} to come, made in the background; words are found now (`nuthatch embed` waits)",
                thousands(made.pending)
            )?;
        }
        Ok(())
    }

    fn as_json(&self) -> serde_json::Value {
        let mut report = json!(self.added);
        report["passages"] = json!(self.passages);
        report["name"] = self.tree.clone().into();
        report["snapshot"] = json!(self.snapshot);
        report
    }
}

fn show_report(out: &mut Out, report: &AddReport, took: &Took) -> Result<(), Failure> {
    let here = paths::here();
    let here = format!("{}/", here.display());
    for skipped in &report.skipped {
        let style = if skipped.is_error { BAD } else { DIM };
        let word = if skipped.is_error { "failed " } else { "skipped" };
        writeln!(out, "{style}{word}{style:#}  {}", output::plain(&skipped.why.replace(&here, "")))?;
    }
    for warning in &report.warnings {
        writeln!(out, "{DIM}partly {DIM:#}  {}", output::plain(&warning.replace(&here, "")))?;
    }
    let mut files = vec![
        format!("{} added", thousands(report.files_added)),
        format!("{} changed", thousands(report.files_changed)),
        format!("{} unchanged", thousands(report.files_unchanged)),
        format!("{} skipped", thousands(report.skipped.len() as u64)),
    ];
    if report.files_pruned > 0 {
        files.push(format!("{} pruned", thousands(report.files_pruned)));
    }
    writeln!(out, "{BOLD}Files{BOLD:#}     {}", files.join(", "))?;
    let mut passages = format!("{} in", thousands(report.passages_added));
    if report.passages_reused > 0 {
        passages += &format!(" ({} kept their vectors)", thousands(report.passages_reused));
    }
    writeln!(out, "{BOLD}Passages{BOLD:#}  {passages}, {} removed", thousands(report.passages_removed))?;
    if report.passages_pending > 0 {
        writeln!(
            out,
            "{BOLD}Vectors{BOLD:#}   {} to come, made in the background; words are found now (`nuthatch embed` waits)",
            thousands(report.passages_pending)
        )?;
    }
    let speed = match report.passages_added {
        0 => String::new(),
        added => format!(", {:.0} passages/s", rate(added, took.total)),
    };
    writeln!(out, "{BOLD}Time{BOLD:#}      {}{speed}, {} read", duration(took.total), bytes(report.bytes_read))?;
    if took.memory != ProcessMemory::default() {
        writeln!(
            out,
            "{BOLD}Memory{BOLD:#}    {} resident ({} at most) and {} of mapped program files, as the system measures",
            bytes(took.memory.anonymous_bytes),
            bytes(took.anonymous_bytes_max),
            bytes(took.memory.file_bytes)
        )?;
    }
    if report.cancelled {
        let done = report.files_added + report.files_changed + report.files_unchanged;
        out.flush()?;
        output::note(&format!("Stopped. {} done; run the same command again to finish the rest.", count(done, "file")));
    }
    Ok(())
}

fn as_json(report: &AddReport, took: &Took) -> serde_json::Value {
    let skipped =
        report.skipped.iter().map(|s| json!({"path": s.path.to_string_lossy(), "why": s.why, "is_error": s.is_error}));
    json!({
        "files": {
            "added": report.files_added,
            "changed": report.files_changed,
            "unchanged": report.files_unchanged,
            "pruned": report.files_pruned,
            "skipped": skipped.collect::<Vec<_>>(),
        },
        "warnings": report.warnings,
        "passages": {"added": report.passages_added, "reused": report.passages_reused, "pending": report.passages_pending, "removed": report.passages_removed},
        "bytes_read": report.bytes_read,
        "seconds": took.total.as_secs_f64(),
        "passages_per_second": rate(report.passages_added, took.total),
        "memory": {
            "anonymous_bytes": took.memory.anonymous_bytes,
            "anonymous_bytes_max": took.anonymous_bytes_max,
            "file_bytes": took.memory.file_bytes,
        },
        "cancelled": report.cancelled,
    })
}
