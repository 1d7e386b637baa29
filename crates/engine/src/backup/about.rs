//! The details that a backup records about itself, besides the list of its files.

use std::path::Path;

use nuthatch_backup::Manifest;
use nuthatch_store::{Reader, Shard};
use serde::{Deserialize, Serialize};

use crate::backup::capture::Capture;
use crate::descriptor::meta::{self, COUNTERS, Counters, Meta, meta_key};
use crate::folder::Identity;
use crate::kv::{Kind, keyspaces};
use crate::tenant::{DEFAULT, Tenant, records};
use crate::{Error, Result};

/// Stored in the manifest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct About {
    /// Format of the data folder.
    pub format: u32,
    /// The data folder's: tells backups of one folder from those of another in the same place.
    pub uuid: String,
    pub folder: String,
    pub written_by: String,
    pub collections: Vec<BackedUpCollection>,
    /// The default tenant's.
    pub keyspaces: Vec<String>,
    /// The default tenant's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub graphs: Vec<String>,
    /// All tenants but the default one.
    #[serde(default)]
    pub tenants: Vec<BackedUpTenant>,
    /// The one tenant that it is of; absent when it is of the whole folder.
    #[serde(default)]
    pub only: Option<String>,
    /// Indexes that are not in it, and why, one sentence each.
    pub left_out: Vec<String>,
}

/// A tenant in a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackedUpTenant {
    /// Its number in the data folder, as its collections have it.
    pub number: u32,
    /// The tenant's name.
    pub name: String,
    /// Names of its keyspaces.
    pub keyspaces: Vec<String>,
    /// Names of its graphs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub graphs: Vec<String>,
}

/// A collection in a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackedUpCollection {
    /// The number of the tenant that it belongs to; the default one has 0.
    pub tenant: u32,
    /// Its number in the data folder.
    pub id: u32,
    /// Its name within the tenant.
    pub name: String,
    /// Records.
    pub rows: u64,
    /// Unnamed vectors.
    pub vectors: u64,
}

/// A backup, for listings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupInfo {
    /// The name under which the place lists it.
    pub id: String,
    /// UTC, RFC 3339.
    pub created: String,
    /// The data folder that was backed up.
    pub folder: String,
    /// The format of the data folder.
    pub format: u32,
    /// Of all tenants that it is of.
    pub collections: Vec<BackedUpCollection>,
    /// The default tenant's.
    pub keyspaces: Vec<String>,
    /// The default tenant's.
    pub graphs: Vec<String>,
    /// All tenants but the default one.
    pub tenants: Vec<BackedUpTenant>,
    /// The one tenant that it is of; `None` when it is of the whole folder.
    pub only: Option<String>,
    /// Files of the backup.
    pub files: u64,
    /// Bytes of these files, as they were in the data folder.
    pub bytes: u64,
    /// Of these, bytes that no earlier backup there had.
    pub new_bytes: u64,
    /// Indexes that are not in it, and why.
    pub left_out: Vec<String>,
    /// Why it cannot be restored, when its manifest is damaged. All else but the id is empty then.
    pub damaged: Option<String>,
}

impl About {
    /// Reads the collections of the moment from the checkpoint itself.
    pub fn of(capture: &Capture, root: &Path, identity: &Identity, tenant: &Tenant) -> Result<Self> {
        let store = capture.store();
        let mut tenants = Vec::new();
        let mut all = collections(store, DEFAULT)?;
        for (name, record) in records(store)?.into_iter().filter(|(_, record)| record.dropping.is_none()) {
            all.extend(collections(store, record.id)?);
            let names = |kind| names(store, record.id, kind);
            tenants.push(BackedUpTenant {
                number: record.id,
                name,
                keyspaces: names(Kind::Plain)?,
                graphs: names(Kind::Graph)?,
            });
        }
        Ok(Self {
            format: identity.format,
            uuid: identity.uuid.clone(),
            folder: std::path::absolute(root).unwrap_or_else(|_| root.to_path_buf()).to_string_lossy().into_owned(),
            written_by: format!("nuthatch {}", env!("CARGO_PKG_VERSION")),
            collections: all,
            keyspaces: names(store, DEFAULT, Kind::Plain)?,
            graphs: names(store, DEFAULT, Kind::Graph)?,
            tenants,
            only: (!tenant.is_default()).then(|| tenant.name.clone()),
            left_out: capture.left_out().to_vec(),
        })
    }

    pub fn from_manifest(manifest: &Manifest) -> Result<Self> {
        serde_json::from_value(manifest.about.clone())
            .map_err(|error| Error::invalid(format!("backup {} is not a database backup: {error}", manifest.id)))
    }

    /// How a collection is called.
    pub fn label(&self, collection: &BackedUpCollection) -> String {
        label(&self.tenants, collection)
    }

    /// Of the same data: what the one has the other is likely to have, too.
    pub fn is_of_the_same(&self, other: &Self) -> bool {
        (&self.uuid, &self.only) == (&other.uuid, &other.only)
    }

    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("strings and numbers are JSON")
    }
}

impl BackupInfo {
    pub(crate) fn from_manifest(manifest: &Manifest) -> Result<Self> {
        let about = About::from_manifest(manifest)?;
        Ok(Self {
            id: manifest.id.clone(),
            created: manifest.created.clone(),
            folder: about.folder,
            format: about.format,
            collections: about.collections,
            keyspaces: about.keyspaces,
            graphs: about.graphs,
            tenants: about.tenants,
            only: about.only,
            files: manifest.files.len() as u64,
            bytes: manifest.bytes,
            new_bytes: manifest.new_bytes,
            left_out: about.left_out,
            damaged: None,
        })
    }

    pub(crate) fn damaged(id: &str, why: String) -> Self {
        Self {
            id: id.to_string(),
            created: String::new(),
            folder: String::new(),
            format: 0,
            collections: Vec::new(),
            keyspaces: Vec::new(),
            graphs: Vec::new(),
            tenants: Vec::new(),
            only: None,
            files: 0,
            bytes: 0,
            new_bytes: 0,
            left_out: Vec::new(),
            damaged: Some(why),
        }
    }

    /// Collections of all tenants; of one other than the default one `tenant/name`.
    pub fn collection_names(&self) -> Vec<String> {
        self.collections.iter().map(|collection| label(&self.tenants, collection)).collect()
    }

    /// Keyspaces of all tenants, in the same way.
    pub fn keyspace_names(&self) -> Vec<String> {
        self.labels(&self.keyspaces, |tenant| &tenant.keyspaces)
    }

    /// Graphs of all tenants, in the same way.
    pub fn graph_names(&self) -> Vec<String> {
        self.labels(&self.graphs, |tenant| &tenant.graphs)
    }

    fn labels(&self, own: &[String], of: impl Fn(&BackedUpTenant) -> &Vec<String>) -> Vec<String> {
        let of = |tenant| of(tenant).iter().map(|name| format!("{}/{name}", tenant.name)).collect::<Vec<_>>();
        own.iter().cloned().chain(self.tenants.iter().flat_map(of)).collect()
    }

    /// Records over all collections.
    pub fn rows(&self) -> u64 {
        self.collections.iter().map(|collection| collection.rows).sum()
    }
}

/// Names of a tenant's keyspaces of one kind.
fn names(store: &dyn Reader, tenant: u32, kind: Kind) -> Result<Vec<String>> {
    let of_it = keyspaces(store, tenant)?.into_iter().filter(|listed| listed.kind == kind);
    Ok(of_it.map(|listed| listed.name).collect())
}

fn label(tenants: &[BackedUpTenant], collection: &BackedUpCollection) -> String {
    match tenants.iter().find(|tenant| tenant.number == collection.tenant) {
        Some(tenant) => format!("{}/{}", tenant.name, collection.name),
        None => collection.name.clone(),
    }
}

fn collections(store: &dyn Reader, tenant: u32) -> Result<Vec<BackedUpCollection>> {
    let one = |(_, meta): (String, Meta)| {
        let shard = Shard { tenant, collection: meta.id };
        let counters: Counters = meta::read(store, &shard.key(COUNTERS))?.unwrap_or_default();
        let Counters { rows, vectors, .. } = counters;
        Ok(BackedUpCollection { tenant: shard.tenant, id: meta.id, name: meta.name, rows, vectors })
    };
    meta::listed(store, &meta_key(tenant, ""))?.into_iter().map(one).collect()
}
