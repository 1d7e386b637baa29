//! `nuthatch watch`: adds files, and adds them again as they change.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use clap::Args;
use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use nuthatch_link::{AddOptions, AddReport, Collection, Database, Error, PassagesMade, Result as EngineResult, Tree};
use nuthatch_worktree::Added;
use serde_json::{Value as Json, json};

use crate::args::Globals;
use crate::commands::add::{Source, make_passages};
use crate::exit::{Failure, Outcome};
use crate::output::{self, Out};
use crate::units::count;
use crate::{folder, interrupt};

/// Changes are awaited for so long after the last one: editors write a file in several steps.
const QUIET: Duration = Duration::from_millis(300);
/// But not for longer than this after the first.
const QUIET_MAX: Duration = Duration::from_secs(3);
/// How soon a round that failed is tried again.
const AGAIN: Duration = Duration::from_secs(2);
/// How often a signal is looked for.
const SLICE: Duration = Duration::from_millis(100);

#[derive(Args)]
pub struct Watch {
    #[command(flatten)]
    source: Source,
    /// Look through the folders at least this often, in seconds: the system may lose changes
    #[arg(long, default_value_t = 600, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    every: u64,
    /// Print a JSON object for each round that changed something
    #[arg(long)]
    json: bool,
    /// Print nothing for rounds
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
}

/// Where the files go.
struct Places {
    tree: Option<Tree>,
    collection: Option<Collection>,
    own: PathBuf,
}

/// The results of a round.
#[derive(Default)]
struct Round {
    tree: Option<Added>,
    /// Of the tree.
    made: Option<PassagesMade>,
    passages: Option<AddReport>,
}

impl Watch {
    pub fn run(&self, globals: &Globals, out: &mut Out) -> Result<Outcome, Failure> {
        let source = &self.source;
        source.check()?;
        let options = source.embedder.options()?;
        let database = folder::create(globals)?;
        let cancel = interrupt::flag("Stopping after this round")?;
        let places = self.places(&database, options)?;
        // Watched before the first round: what changes while it goes on is seen.
        let every = Duration::from_secs(self.every);
        let mut changes = Changes::of(&source.paths, &places.own, every);
        let round = self.round(&places, cancel)?;
        self.tell(out, &round, true)?;
        let mut failed = false;
        while !cancel.load(Ordering::SeqCst) && changes.wait(cancel, if failed { every.min(AGAIN) } else { every }) {
            if failed && source.paths.iter().all(|path| path.exists()) {
                // A folder that is made again is another one to the system.
                changes = Changes::of(&source.paths, &places.own, every);
            }
            match self.round(&places, cancel) {
                Ok(round) => {
                    failed = false;
                    self.tell(out, &round, false)?;
                }
                Err(error) => {
                    if !failed {
                        output::warning(&format!("{}; trying again", error.message));
                    }
                    failed = true;
                }
            }
        }
        drop(places);
        database.close()?;
        Ok(Outcome::Done)
    }

    fn places(&self, database: &Database, options: nuthatch_link::CollectionOptions) -> EngineResult<Places> {
        let (source, durability) = (&self.source, self.source.durability.durability);
        let tree = source.tree.as_ref().map(|name| database.tree(name)).transpose()?;
        let tree = tree.map(|tree| tree.with_durability(durability).with_embedder(options.embedder.clone()));
        let collection = match source.collection() {
            None => None,
            Some(name) => Some(database.collection(name, options)?.with_durability(durability)),
        };
        Ok(Places { tree, collection, own: database.folder().to_path_buf() })
    }

    /// Brings tree and passages up to the files. Only those that changed are read.
    fn round(&self, places: &Places, cancel: &AtomicBool) -> EngineResult<Round> {
        let there: Vec<PathBuf> = self.source.paths.iter().filter(|path| path.exists()).cloned().collect();
        if there.len() < self.source.paths.len() {
            let gone = self.source.paths.iter().find(|path| !path.exists());
            let gone = gone.map(|path| path.display().to_string()).unwrap_or_default();
            return Err(Error::not_found(format!("{gone} is not there now; nothing was removed")));
        }
        let mut round = Round::default();
        if let Some(tree) = &places.tree {
            let added = self.source.store(tree, &places.own, false, cancel)?;
            let there = added.added + added.changed + added.unchanged > 0;
            if there && !self.source.no_passages && !added.cancelled {
                round.made = Some(make_passages(tree, true, cancel)?);
            }
            round.tree = Some(added);
        }
        if let Some(collection) = &places.collection {
            let options = AddOptions { prune: true, cancel: Some(cancel), ..self.source.options() };
            round.passages = Some(collection.add(&there, options)?);
        }
        Ok(round)
    }

    fn tell(&self, out: &mut Out, round: &Round, is_first: bool) -> Result<(), Failure> {
        if self.quiet || !(is_first || round.changed_something()) {
            return Ok(());
        }
        match self.json {
            true => writeln!(out, "{}", round.as_json())?,
            false => writeln!(out, "{}", round.shown(is_first))?,
        }
        out.flush()?;
        Ok(())
    }
}

impl Round {
    fn changed_something(&self) -> bool {
        let tree = self.tree.as_ref().map_or(0, |tree| tree.added + tree.changed + tree.gone);
        let passages = self.passages.as_ref();
        let passages = passages.map_or(0, |report| report.files_added + report.files_changed + report.files_pruned);
        tree + passages > 0
    }

    fn as_json(&self) -> Json {
        let passages = self.passages.as_ref().map(|report| {
            json!({
                "added": report.files_added,
                "changed": report.files_changed,
                "removed": report.files_pruned,
                "passages": report.passages_added,
                "skipped": report.skipped.len(),
            })
        });
        let mut tree = json!(self.tree);
        if let Some(made) = &self.made {
            tree["passages"] = json!(made.passages);
        }
        json!({ "tree": tree, "files": passages })
    }

    fn shown(&self, is_first: bool) -> String {
        let parts = |added: u64, changed: u64, gone: u64| format!("{added} added, {changed} changed, {gone} gone");
        let mut said = Vec::new();
        if let Some(tree) = &self.tree {
            let made =
                self.made.as_ref().map_or(String::new(), |made| format!(", {}", count(made.passages, "passage")));
            said.push(format!("tree: {}{made}", parts(tree.added, tree.changed, tree.gone)));
        }
        if let Some(report) = &self.passages {
            let files = parts(report.files_added, report.files_changed, report.files_pruned);
            said.push(format!("files: {files}, {}", count(report.passages_added, "passage")));
        }
        let more = if is_first { "; watching" } else { "" };
        format!("{}{more}", said.join("; "))
    }
}

/// Tells that something changed, or that it is time to look.
struct Changes {
    /// Holds the watch; `None` where the system cannot watch, and only time passes.
    _watcher: Option<RecommendedWatcher>,
    events: Receiver<()>,
}

impl Changes {
    fn of(paths: &[PathBuf], own: &Path, every: Duration) -> Self {
        let (to_us, events) = channel();
        let own = own.canonicalize().unwrap_or_else(|_| own.to_path_buf());
        let heard = move |event: notify::Result<notify::Event>| {
            // A lost event may have been any: look.
            let counts = event.map_or(true, |event| changes_files(&event, &own));
            if counts {
                let _ = to_us.send(()); // nobody listens any more while the program ends
            }
        };
        let watched = notify::recommended_watcher(heard).and_then(|mut watcher| {
            for path in paths {
                let path = path.canonicalize().unwrap_or_else(|_| path.clone());
                watcher.watch(&path, RecursiveMode::Recursive)?;
            }
            Ok(watcher)
        });
        match watched {
            Ok(watcher) => Self { _watcher: Some(watcher), events },
            Err(error) => {
                let seconds = every.as_secs();
                output::warning(&format!(
                    "the system cannot watch these folders ({error}); they are looked through every {seconds} seconds instead. \
                     On Linux, raise fs.inotify.max_user_watches, or give a smaller --every"
                ));
                Self { _watcher: None, events }
            }
        }
    }

    /// Waits for changes to come and to end. False when the program is to end.
    fn wait(&self, cancel: &AtomicBool, every: Duration) -> bool {
        let began = Instant::now();
        let mut first: Option<Instant> = None;
        let mut last = began;
        loop {
            if cancel.load(Ordering::SeqCst) {
                return false;
            }
            match self.events.recv_timeout(SLICE) {
                Ok(()) => {
                    last = Instant::now();
                    first.get_or_insert(last);
                    self.events.try_iter().for_each(drop);
                }
                Err(RecvTimeoutError::Timeout) => {}
                // Nobody tells of changes: time does.
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(SLICE),
            }
            match first {
                Some(first) if last.elapsed() >= QUIET || first.elapsed() >= QUIET_MAX => return true,
                None if began.elapsed() >= every => return true,
                _ => {}
            }
        }
    }
}

/// Whether what an event tells may change what is added: reading changes nothing, and the data folder may lie below the files.
fn changes_files(event: &notify::Event, own: &Path) -> bool {
    let reads = match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => false,
        EventKind::Access(_) => true,
        _ => false,
    };
    !reads && (event.paths.is_empty() || event.paths.iter().any(|path| !path.starts_with(own)))
}
