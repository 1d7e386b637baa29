//! Bringing a folder to the layout that this program writes.
//!
//! Opening never changes what it can read, so an older layout may stay for years. A migration rewrites it; what it would do can be
//! asked first. Stored records are never touched by what there is to do today: everything older is in the indexes.

use serde::{Deserialize, Serialize};

use crate::collection::Core;
use crate::database::Database;
use crate::folder::FORMAT_VERSION;
use crate::{Error, Result};

/// What a migration would change, or has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Migration {
    /// The folder's format, and the one that this program writes.
    pub format: u32,
    pub format_written: u32,
    pub steps: Vec<MigrationStep>,
}

/// One thing that is of an earlier layout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MigrationStep {
    pub collection: String,
    pub what: String,
    pub action: String,
}

impl Database {
    /// What [`migrate`](Self::migrate) would do. Changes nothing. Best asked of a database opened without background work, which
    /// would rebuild an index that cannot be used before it is asked.
    pub fn migration(&self) -> Result<Migration> {
        let shared = &self.inner.shared;
        shared.check_open()?;
        let format = shared.folder.read_identity()?.format;
        let mut migration = Migration { format, format_written: FORMAT_VERSION, steps: Vec::new() };
        for name in self.collection_names()? {
            migration.steps.extend(steps(&self.existing_collection(&name)?.core));
        }
        Ok(migration)
    }

    /// Rewrites what is of an earlier layout, in this thread. Reads and writes go on meanwhile. Old index files move to `quarantine/`.
    /// Returns what was done.
    pub fn migrate(&self) -> Result<Migration> {
        let migration = self.migration()?;
        for step in &migration.steps {
            let core = self.existing_collection(&step.collection)?.core;
            if has_old_columns(&core) {
                let why = Error::corrupt(&core.segments_folder(), format!("migrated: {}", step.what));
                core.note_damage(&why, true);
            }
            core.rebuild_broken()?;
        }
        Ok(migration)
    }
}

fn steps(core: &Core) -> Vec<MigrationStep> {
    let step =
        |what: String, action: &str| MigrationStep { collection: core.name.clone(), what, action: action.into() };
    let state = core.state.read();
    let mut steps = Vec::new();
    if let Some(why) = state.segments_health.broken() {
        steps.push(step(format!("its segments cannot be used: {why}"), "build them anew from the stored records"));
    } else if state.segments.iter().any(|view| view.segment.has_old_columns()) {
        steps.push(step(
            "the columns of its segments are of version 1".into(),
            "build its segments anew from the stored records",
        ));
    }
    if let Some(why) = state.text_health.broken() {
        steps.push(step(format!("its text index cannot be used: {why}"), "build it anew from the stored records"));
    }
    steps
}

fn has_old_columns(core: &Core) -> bool {
    core.state.read().segments.iter().any(|view| view.segment.has_old_columns())
}
