//! Where samples come from: the process that holds a folder, or a server.

use std::path::Path;
use std::time::{Duration, Instant};

use nuthatch_dialect::caches;
use nuthatch_link::{Database, Error, ErrorKind, Result};
use serde_json::{Value, json};
use ureq::Agent;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

use super::sample::Sample;
use crate::args::Globals;
use crate::commands::ls::collection_json;
use crate::folder;

/// A server that does not answer for so long is not waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// Caches that are asked, each by itself.
const CACHES_MAX: usize = 50;

pub struct Source {
    place: Place,
    /// As it is shown.
    name: String,
    began: Instant,
}

enum Place {
    Folder(Database),
    Server(Server),
}

struct Server {
    agent: Agent,
    url: String,
    key: Option<String>,
    tenant: Option<String>,
}

impl Source {
    pub fn folder(globals: &Globals) -> Result<Self> {
        // This command may come to hold the folder, and others then rely on its background work.
        let database = folder::open_to_write(globals)?;
        let name = database.folder().display().to_string();
        Ok(Self { place: Place::Folder(database), name, began: Instant::now() })
    }

    pub fn server(url: &str, key: Option<&str>, ca: Option<&Path>, globals: &Globals) -> Result<Self> {
        let url = url.trim_end_matches('/');
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err(Error::invalid(format!(
                "{url:?} is no address of a server; write http://HOST:PORT or https://…"
            )));
        }
        let config = Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .http_status_as_error(false)
            .tls_config(TlsConfig::builder().root_certs(roots(ca)?).build())
            .build();
        let server = Server {
            agent: config.into(),
            url: url.into(),
            key: key.filter(|key| !key.is_empty()).map(Into::into),
            tenant: folder::tenant(globals).map(Into::into),
        };
        Ok(Self { place: Place::Server(server), name: url.into(), began: Instant::now() })
    }

    /// One look.
    pub fn sample(&self) -> Result<Sample> {
        let (sample, holder) = match &self.place {
            Place::Folder(database) => (of_folder(database)?, holder(database)?),
            Place::Server(server) => server.sample()?,
        };
        let at_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(Sample { source: self.name.clone(), holder, at_ms, ..sample })
    }

    pub fn close(&self) -> Result<()> {
        match &self.place {
            Place::Folder(database) => database.close(),
            Place::Server(_) => Ok(()),
        }
    }
}

fn of_folder(database: &Database) -> Result<Sample> {
    let stats = database.stats()?;
    let told = json!({
        "collections": stats.collections.iter().map(collection_json).collect::<Vec<_>>(),
        "disk": stats.disk.as_json(),
        "memory": stats.memory.as_json(),
        "snapshots": stats.snapshots,
    });
    let mut answers = Vec::new();
    for name in database.cache_names()?.into_iter().take(CACHES_MAX) {
        let stats = caches::ask(&database.existing_cache(&name)?, "stats", json!({}))?;
        answers.push((name, stats));
    }
    let tenants = match database.is_of_the_default_tenant() {
        true => database.tenants()?,
        false => Vec::new(),
    };
    let tenant = |info: &nuthatch_link::TenantInfo| json!({"name": info.name, "limits": info.limits, "vectors": info.usage.vectors, "bytes": info.usage.bytes});
    Ok(Sample::of(&told, &answers, &tenants.iter().map(tenant).collect()))
}

fn holder(database: &Database) -> Result<String> {
    let holder = database.holder()?;
    Ok(match holder.is_this {
        true => "this command, as no other process has the folder open".into(),
        false => format!("process {} ({}), since {}", holder.pid, holder.program, holder.since),
    })
}

impl Server {
    fn sample(&self) -> Result<(Sample, String)> {
        let stats = self.json("/v1/stats")?;
        let mut answers = Vec::new();
        for name in self.json("/v1/caches")?["caches"].as_array().into_iter().flatten().take(CACHES_MAX) {
            let name = name.as_str().or_else(|| name["name"].as_str()).unwrap_or_default();
            let path = format!("/v1/caches/{}/stats", percent_encoded(name));
            answers.push((name.to_string(), self.json(&path)?));
        }
        // A key of one tenant knows no others.
        let tenants = match self.answer("/v1/tenants")? {
            (200, text) => parsed("/v1/tenants", &text)?["tenants"].take(),
            (400 | 403 | 404, _) => Value::Null,
            (status, text) => return Err(self.refused("/v1/tenants", status, &text)),
        };
        let sample = Sample::of(&stats, &answers, &tenants).with_metrics(&self.text("/metrics")?);
        let version = self.json("/healthz")?["version"].as_str().unwrap_or_default().to_string();
        Ok((sample, format!("nuthatch {version}")))
    }

    fn json(&self, path: &str) -> Result<Value> {
        parsed(path, &self.text(path)?)
    }

    fn text(&self, path: &str) -> Result<String> {
        match self.answer(path)? {
            (200, text) => Ok(text),
            (status, text) => Err(self.refused(path, status, &text)),
        }
    }

    fn answer(&self, path: &str) -> Result<(u16, String)> {
        let mut request = self.agent.get(format!("{}{path}", self.url));
        if let Some(key) = &self.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        if let Some(tenant) = &self.tenant {
            request = request.header("x-nuthatch-tenant", tenant);
        }
        let failed = |error: ureq::Error| unavailable(format!("{}{path}: {error}; is the server running?", self.url));
        let mut response = request.call().map_err(failed)?;
        let text = response.body_mut().with_config().limit(64 << 20).read_to_string().map_err(failed)?;
        Ok((response.status().as_u16(), text))
    }

    fn refused(&self, path: &str, status: u16, text: &str) -> Error {
        let detail =
            serde_json::from_str::<Value>(text).ok().and_then(|told| told["detail"].as_str().map(str::to_string));
        let detail = detail.unwrap_or_else(|| text.chars().take(200).collect());
        let said = format!("{}{path} answered {status}: {detail}", self.url);
        match status {
            401 | 403 => Error::invalid(format!("{said}; give a key of the scope `admin` with --api-key")),
            404 => Error::not_found(format!("{said}; is this a server of nuthatch?")),
            _ => unavailable(said),
        }
    }
}

/// Something that is not there now.
pub fn unavailable(message: String) -> Error {
    Error::new(ErrorKind::Unavailable, message)
}

fn parsed(path: &str, text: &str) -> Result<Value> {
    serde_json::from_str(text).map_err(|error| {
        unavailable(format!("the answer to {path} is not JSON ({error}); is this a server of nuthatch?"))
    })
}

/// A name in a path.
fn percent_encoded(name: &str) -> String {
    let kept = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    name.bytes().map(|byte| if kept(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

fn roots(ca: Option<&Path>) -> Result<RootCerts> {
    let found = match ca {
        Some(ca) => certificates(ca)?,
        None => {
            let found = rustls_native_certs::load_native_certs();
            found.certs.iter().map(|one| Certificate::from_der(one).to_owned()).collect()
        }
    };
    // Without any of the system's, ureq's own list.
    Ok(if found.is_empty() { RootCerts::WebPki } else { RootCerts::new_with_certs(&found) })
}

#[expect(clippy::disallowed_methods, reason = "a file that another program made, and whose form is checked")]
fn certificates(path: &Path) -> Result<Vec<Certificate<'static>>> {
    let bytes = std::fs::read(path).map_err(|error| Error::io(path, &error))?;
    let mut found = Vec::new();
    for item in parse_pem(&bytes) {
        let item = item.map_err(|error| Error::invalid(format!("{}: {error}", path.display())))?;
        if let PemItem::Certificate(certificate) = item {
            found.push(certificate);
        }
    }
    match found.is_empty() {
        true => Err(Error::invalid(format!("{} holds no certificate in PEM", path.display()))),
        false => Ok(found),
    }
}
