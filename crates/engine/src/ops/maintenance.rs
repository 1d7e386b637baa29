//! Operations on a data folder as a whole: its contents, its integrity, and deletion that leaves nothing behind.

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::database::{self, Erase, Receipt};
use crate::ops::{Op, Scope, View, on};

/// Statistics of the database, on disk and in memory.
#[derive(Serialize, Deserialize)]
pub struct Stats;

impl Op for Stats {
    type On = on::Everything;
    type Answer = database::Stats;
    const NAME: &'static str = "folder.stats";
    const SCOPE: Scope = Scope::Admin;

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.database()?.stats()
    }
}

/// Reads every byte of the folder and checks it against its checksums.
#[derive(Serialize, Deserialize)]
pub struct Doctor;

impl Op for Doctor {
    type On = on::Everything;
    type Answer = database::Doctor;
    const NAME: &'static str = "folder.doctor";
    const SCOPE: Scope = Scope::Admin;

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.database()?.doctor()
    }
}

/// Brings everything fresh into the indexes and merges what is worth merging.
#[derive(Serialize, Deserialize)]
pub struct Optimize;

impl Op for Optimize {
    type On = on::Everything;
    type Answer = ();
    const NAME: &'static str = "folder.optimize";
    const SCOPE: Scope = Scope::Admin;

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.database()?.optimize()
    }
}

/// Rewrites every file that may hold bytes of deleted data, in one collection or in all.
#[derive(Serialize, Deserialize)]
pub struct Reclaim(pub Option<String>);

impl Op for Reclaim {
    type On = on::Everything;
    type Answer = Receipt;
    const NAME: &'static str = "folder.reclaim";
    const SCOPE: Scope = Scope::Admin;

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.database()?.reclaim(self.0.as_deref())
    }
}

/// Deletes in a collection and leaves nothing behind.
#[derive(Serialize, Deserialize)]
pub struct EraseIn {
    /// The collection's name.
    pub collection: String,
    /// Which records go.
    pub what: Erase,
}

impl Op for EraseIn {
    type On = on::Everything;
    type Answer = Receipt;
    const NAME: &'static str = "folder.erase";
    const SCOPE: Scope = Scope::Admin;

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.database()?.erase(&self.collection, &self.what)
    }
}

/// Of all reclaims of this folder, oldest first.
#[derive(Serialize, Deserialize)]
pub struct Receipts;

impl Op for Receipts {
    type On = on::Everything;
    type Answer = Vec<Receipt>;
    const NAME: &'static str = "folder.receipts";
    const SCOPE: Scope = Scope::Admin;

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.database()?.receipts()
    }
}

/// Everything that was written before is on the disk when this is answered.
#[derive(Serialize, Deserialize)]
pub struct Sync;

impl Op for Sync {
    type On = on::Everything;
    type Answer = ();
    const NAME: &'static str = "folder.sync";
    const SCOPE: Scope = Scope::Write;

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.database()?.sync()
    }
}

/// The changes that migrating would make.
#[derive(Serialize, Deserialize)]
pub struct Migration;

impl Op for Migration {
    type On = on::Everything;
    type Answer = database::Migration;
    const NAME: &'static str = "folder.migration";
    const SCOPE: Scope = Scope::Admin;

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.database()?.migration()
    }
}

/// Brings the folder to this program's format.
#[derive(Serialize, Deserialize)]
pub struct Migrate;

impl Op for Migrate {
    type On = on::Everything;
    type Answer = database::Migration;
    const NAME: &'static str = "folder.migrate";
    const SCOPE: Scope = Scope::Admin;

    fn run(self, view: &View<'_>) -> Result<Self::Answer> {
        view.database()?.migrate()
    }
}
