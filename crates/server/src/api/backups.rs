//! Backups into the one place that the configuration names.

use std::path::PathBuf;
use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use nuthatch_link::{
    BackedUpCollection, BackedUpTenant as EngineTenant, BackupCheck, BackupInfo, BackupOptions, Backups as Place,
    Error, ErrorKind,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::reply;
use crate::caller::{Caller, Operating};
use crate::extract::Json;
use crate::problem::Problem;
use crate::shared::Shared;

/// A slower backup would hold its place for days.
const RATE_MIN: u64 = 1 << 20;

pub fn routes() -> OpenApiRouter<Arc<Shared>> {
    OpenApiRouter::new().routes(routes!(list, start)).routes(routes!(verify))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = StartBackup)]
struct Start {
    /// Include the indexes, so that a restored folder is fast at once.
    #[serde(default = "yes")]
    indexes: bool,
    /// Maximum bytes to read per second, at least 1 MiB.
    #[schema(minimum = 1048576)]
    rate_bytes_per_second: Option<u64>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = BackupReport)]
struct Report {
    backup: Backup,
    files: u64,
    /// Of these, files that were not read because the previous backup has them.
    files_unchanged: u64,
    read_bytes: u64,
    /// Objects that no earlier backup had, and their bytes.
    new_objects: u64,
    new_bytes: u64,
    elapsed_ms: u64,
}

#[derive(Serialize, ToSchema)]
struct Backup {
    id: String,
    /// UTC, RFC 3339.
    created: String,
    /// The data folder that was backed up.
    folder: String,
    format: u32,
    /// Of all tenants.
    collections: Vec<BackedUp>,
    /// The default tenant's.
    keyspaces: Vec<String>,
    /// The default tenant's.
    graphs: Vec<String>,
    /// All tenants except the default one.
    tenants: Vec<BackedUpTenant>,
    /// The tenant that was backed up; null for the whole folder.
    only: Option<String>,
    files: u64,
    bytes: u64,
    /// Of these, bytes that no earlier backup in the folder had.
    new_bytes: u64,
    /// Indexes that the backup lacks, and why.
    left_out: Vec<String>,
    /// Why it cannot be restored, when it is damaged.
    damaged: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = BackedUpCollection)]
struct BackedUp {
    name: String,
    /// Null for the default tenant.
    tenant: Option<String>,
    rows: u64,
    vectors: u64,
}

#[derive(Serialize, ToSchema)]
struct BackedUpTenant {
    name: String,
    keyspaces: Vec<String>,
    graphs: Vec<String>,
}

#[derive(Serialize, ToSchema)]
struct Backups {
    /// Oldest first.
    backups: Vec<Backup>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = VerifyBackups)]
struct Verify {
    /// Default: all.
    #[serde(default)]
    ids: Vec<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = VerifiedBackups)]
struct Verified {
    well: bool,
    backups: u64,
    objects: u64,
    bytes: u64,
    /// One sentence for each damaged object.
    damage: Vec<String>,
}

fn yes() -> bool {
    true
}

fn place(caller: &Caller) -> Result<PathBuf, Problem> {
    let place = caller.shared.config.backup_dir.clone();
    place.ok_or_else(|| {
        let none = "this server has no folder for backups; its operator must set `backup_dir`";
        Error::new(ErrorKind::Unavailable, none).into()
    })
}

impl From<BackupInfo> for Backup {
    fn from(info: BackupInfo) -> Self {
        let owner =
            |number| info.tenants.iter().find(|tenant| tenant.number == number).map(|tenant| tenant.name.clone());
        let one = |BackedUpCollection { name, tenant, rows, vectors, .. }| BackedUp {
            name,
            tenant: owner(tenant),
            rows,
            vectors,
        };
        let collections = info.collections.into_iter().map(one).collect();
        let tenant = |EngineTenant { name, keyspaces, graphs, .. }| BackedUpTenant { name, keyspaces, graphs };
        Self {
            id: info.id,
            created: info.created,
            folder: info.folder,
            format: info.format,
            collections,
            keyspaces: info.keyspaces,
            graphs: info.graphs,
            tenants: info.tenants.into_iter().map(tenant).collect(),
            only: info.only,
            files: info.files,
            bytes: info.bytes,
            new_bytes: info.new_bytes,
            left_out: info.left_out,
            damaged: info.damaged,
        }
    }
}

/// Lists all backups.
#[utoipa::path(get, path = "/v1/backups", tag = "administration", security(("key" = ["admin"])),
    responses((status = 200, description = "The backups, oldest first", body = Backups)))]
async fn list(Operating(caller): Operating) -> Result<Response, Problem> {
    let place = place(&caller)?;
    let backups = caller
        .run(move |_| match Place::at(place).list() {
            Err(error) if error.kind == ErrorKind::NotFound => Ok(Vec::new()), // none was made yet
            listed => listed,
        })
        .await?;
    Ok(reply::json(&Backups { backups: backups.into_iter().map(Backup::from).collect() }))
}

/// Backs up a consistent state of all data, and answers when the backup is complete. Reads and writes continue during
/// the backup. The backup also continues if the client disconnects.
#[utoipa::path(post, path = "/v1/backups", tag = "administration", security(("key" = ["admin"])), request_body = Start,
    responses((status = 201, description = "Created", body = Report)))]
async fn start(Operating(caller): Operating, Json { value, .. }: Json<Start>) -> Result<Response, Problem> {
    if value.rate_bytes_per_second.is_some_and(|rate| rate < RATE_MIN) {
        return Err(Problem::invalid(format!(
            "rate_bytes_per_second is below {RATE_MIN}; such a backup would not end"
        )));
    }
    let place = place(&caller)?;
    let report = caller
        .run_long(move |database| {
            let Start { indexes, rate_bytes_per_second } = value;
            database.backup(place, BackupOptions { indexes, rate_bytes_per_second, ..BackupOptions::default() })
        })
        .await?;
    caller.note("backup", report.backup.id.clone());
    let report = Report {
        backup: report.backup.into(),
        files: report.files,
        files_unchanged: report.files_unchanged,
        read_bytes: report.read_bytes,
        new_objects: report.new_objects,
        new_bytes: report.new_bytes,
        elapsed_ms: report.elapsed.as_millis() as u64,
    };
    Ok(reply::json_with(StatusCode::CREATED, &report))
}

/// Reads every byte of the backups and compares it with its checksum.
#[utoipa::path(post, path = "/v1/backups/verify", tag = "administration", security(("key" = ["admin"])),
    request_body = Verify, responses((status = 200, description = "What was checked, and what is damaged", body = Verified)))]
async fn verify(Operating(caller): Operating, Json { value, .. }: Json<Verify>) -> Result<Response, Problem> {
    let place = place(&caller)?;
    let check = caller.run_long(move |_| match Place::at(place).verify(&value.ids, None, None) {
        // None was made yet, and none was named.
        Err(error) if error.kind == ErrorKind::NotFound && value.ids.is_empty() => Ok(BackupCheck::default()),
        checked => checked,
    });
    let check = check.await?;
    Ok(reply::json(&Verified {
        well: check.is_well(),
        backups: check.backups,
        objects: check.objects,
        bytes: check.bytes,
        damage: check.damage.into_iter().map(|object| object.what).collect(),
    }))
}
