//! Bringing a folder to the layout that this program writes.
//!
//! Opening never changes what it can read, so an older layout may stay for years. A migration rewrites it; a caller can
//! ask first what it would do. No migration so far touches stored records: everything older is in the indexes.

use serde::{Deserialize, Serialize};

use crate::collection::Core;
use crate::database::Database;
use crate::folder::FORMAT_VERSION;
use crate::index::{Indexed, SEGMENTS};
use crate::{Error, Result};

/// The changes that a migration would make, or has made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Migration {
    /// The folder's format, and the one that this program writes.
    pub format: u32,
    /// See `format`.
    pub format_written: u32,
    /// The parts in an earlier layout; empty when there are none.
    pub steps: Vec<MigrationStep>,
}

/// One part in an earlier layout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MigrationStep {
    /// Its name; of a tenant other than the default one `tenant/name`.
    pub collection: String,
    /// The part, and its layout.
    pub what: String,
    /// The action taken on it.
    pub action: String,
}

impl Database {
    /// Returns the changes that [`migrate`](Self::migrate) would make. Changes nothing. Best called on a database
    /// opened without background work, which might rebuild an unusable index first.
    pub fn migration(&self) -> Result<Migration> {
        self.each_of_an_earlier_layout(&mut |_, _| Ok(()))
    }

    /// Rewrites the parts in an earlier layout, in this thread. Reads and writes go on during the migration. Old index
    /// files move to `quarantine/`. Returns what it did.
    pub fn migrate(&self) -> Result<Migration> {
        self.each_of_an_earlier_layout(&mut |core, steps| {
            for step in steps {
                if has_old_columns(core) {
                    let why = Error::corrupt(&core.segments_folder(), format!("migrated: {}", step.what));
                    core.note_damage(&why, SEGMENTS);
                }
                core.rebuild_broken()?;
            }
            Ok(())
        })
    }

    /// Every collection of every tenant that has something to migrate.
    fn each_of_an_earlier_layout(
        &self,
        visit: &mut dyn FnMut(&Core, &[MigrationStep]) -> Result<()>,
    ) -> Result<Migration> {
        let shared = &self.administrator("a migration")?.shared;
        let format = shared.folder.read_identity()?.format;
        let mut migration = Migration { format, format_written: FORMAT_VERSION, steps: Vec::new() };
        for scope in self.scopes()? {
            for name in scope.collection_names()? {
                let core = scope.borrow(&name)?;
                let steps = steps(&core);
                if !steps.is_empty() {
                    visit(&core, &steps)?;
                    migration.steps.extend(steps);
                }
            }
        }
        Ok(migration)
    }
}

fn steps(core: &Core) -> Vec<MigrationStep> {
    let step = |what: String, action: &str| MigrationStep {
        collection: core.tenant.label(&core.name),
        what,
        action: action.into(),
    };
    let state = core.state.read();
    let mut steps = Vec::new();
    for (index, why) in state.broken() {
        let what = format!("its index of {} cannot be used: {why}", index.holds);
        steps.push(step(what, "rebuild it from the stored records"));
    }
    if state.is_sound(SEGMENTS) && state.segments.iter().any(|view| view.segment.has_old_columns()) {
        steps.push(step(
            "the columns of its segments are of version 1".into(),
            "rebuild its segments from the stored records",
        ));
    }
    steps
}

fn has_old_columns(core: &Core) -> bool {
    core.state.read().segments.iter().any(|view| view.segment.has_old_columns())
}
