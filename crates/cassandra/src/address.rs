//! `cassandra://h1,h2/keyspace?bucket=s3://…`, and what the environment adds.

use std::fmt;
use std::path::PathBuf;

use nuthatch_cluster::{ClusterError, Result};

const PORT: u16 = 9042;
/// Cassandra's bound on names.
const KEYSPACE_BYTES_MAX: usize = 48;
const FORM: &str = "give cassandra://HOST,HOST/KEYSPACE?bucket=s3://BUCKET/PREFIX";

/// Where a log in Cassandra lies, and the bucket of its cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Hosts to begin with; they name the others. Each with its port.
    pub hosts: Vec<(String, u16)>,
    /// The keyspace.
    pub keyspace: String,
    /// The bucket.
    pub bucket: String,
}

impl Address {
    /// `None` for an address of something else.
    ///
    /// # Errors
    /// `Invalid`.
    pub fn parse(text: &str) -> Result<Option<Self>> {
        let Some(rest) = text.strip_prefix("cassandra://").or_else(|| text.strip_prefix("scylla://")) else {
            return Ok(None);
        };
        let invalid = |what: &str| Err(ClusterError::Invalid(format!("the address of the log cannot be used: {what}")));
        let (place, options) = rest.split_once('?').unwrap_or((rest, ""));
        // The text before it may be a password, which no message shows.
        if place.contains('@') {
            return invalid("credentials belong into NUTHATCH_CASSANDRA_USER and NUTHATCH_CASSANDRA_PASSWORD_FILE");
        }
        let Some((hosts, keyspace)) = place.split_once('/') else { return invalid(FORM) };
        let mut found = Vec::new();
        for host in hosts.split(',') {
            let Some(host) = host_and_port(host) else {
                return invalid(&format!("{host:?} is no HOST or HOST:PORT; {FORM}"));
            };
            found.push(host);
        }
        let is_name = |text: &str| {
            let mut letters = text.chars();
            letters.next().is_some_and(|first| first.is_ascii_lowercase())
                && letters.all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_')
        };
        if !is_name(keyspace) || keyspace.len() > KEYSPACE_BYTES_MAX {
            return invalid(&format!(
                "{keyspace:?} is no keyspace: up to {KEYSPACE_BYTES_MAX} lower-case letters, digits and underscores, the first a \
                 letter; {FORM}"
            ));
        }
        let mut bucket = None;
        for option in options.split('&').filter(|option| !option.is_empty()) {
            match option.split_once('=') {
                Some(("bucket", value)) if !value.is_empty() => bucket = Some(value.trim_end_matches('/').to_string()),
                _ => {
                    return invalid(&format!(
                        "{:?} is no option of it; {FORM}",
                        option.split('=').next().unwrap_or("")
                    ));
                }
            }
        }
        match bucket {
            Some(bucket) => Ok(Some(Self { hosts: found, keyspace: keyspace.into(), bucket })),
            None => invalid(&format!("checkpoints need a bucket; {FORM}")),
        }
    }
}

/// Without the bucket, and without credentials: an address has none.
impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts: Vec<String> = self.hosts.iter().map(named).collect();
        write!(out, "cassandra://{}/{}", hosts.join(","), self.keyspace)
    }
}

/// How a host is written; IPv6 in brackets.
pub(crate) fn named((host, port): &(String, u16)) -> String {
    let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
    if *port == PORT { host } else { format!("{host}:{port}") }
}

fn host_and_port(text: &str) -> Option<(String, u16)> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']')?;
            (host, if port.is_empty() { None } else { Some(port.strip_prefix(':')?) })
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let is_host = !host.is_empty() && host.chars().all(|one| one.is_ascii_alphanumeric() || ".-_:".contains(one));
    let port = port.map_or(Some(PORT), |port| port.parse().ok().filter(|port| *port > 0))?;
    is_host.then(|| (host.to_string(), port))
}

/// The role to log in as, and its password.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The role.
    pub user: String,
    /// Its password.
    pub password: String,
}

/// Without the password.
impl fmt::Debug for Credentials {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Credentials").field("user", &self.user).finish_non_exhaustive()
    }
}

/// Connection settings from the environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// None: the database asks for none.
    pub credentials: Option<Credentials>,
    /// Certificates of those who may sign the nodes' certificates; none: connections without TLS.
    pub authorities: Option<PathBuf>,
    /// This node's own certificate and its key, where the database asks for one.
    pub identity: Option<(PathBuf, PathBuf)>,
}

impl Settings {
    /// From `NUTHATCH_CASSANDRA_USER`, `_PASSWORD` or `_PASSWORD_FILE`, `_CA`, `_CERT` and `_KEY`.
    ///
    /// # Errors
    /// `Invalid` when they are incomplete; `Io` for a file of a password that cannot be read.
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let get = |name: &str| variable(&format!("NUTHATCH_CASSANDRA_{name}")).filter(|value| !value.is_empty());
        let invalid = |what: &str| Err(ClusterError::Invalid(format!("NUTHATCH_CASSANDRA_…: {what}")));
        let password = match (get("PASSWORD"), get("PASSWORD_FILE").map(PathBuf::from)) {
            (Some(_), Some(_)) => return invalid("give PASSWORD or PASSWORD_FILE, not both"),
            (given, None) => given,
            (None, Some(file)) => {
                let read = std::fs::read_to_string(&file);
                let text = read.map_err(|error| ClusterError::Io { path: file, what: error.to_string() })?;
                Some(text.trim_end_matches(['\r', '\n']).to_string())
            }
        };
        let credentials = match (get("USER"), password) {
            (Some(user), Some(password)) => Some(Credentials { user, password }),
            (None, None) => None,
            _ => return invalid("USER and a PASSWORD belong together"),
        };
        let identity = match (get("CERT"), get("KEY")) {
            (Some(certificate), Some(key)) => Some((certificate.into(), key.into())),
            (None, None) => None,
            _ => return invalid("CERT and KEY belong together"),
        };
        let authorities = get("CA").map(PathBuf::from);
        if identity.is_some() && authorities.is_none() {
            return invalid("CERT and KEY need CA, the certificates of those who sign the nodes'");
        }
        Ok(Self { credentials, authorities, identity })
    }
}
