//! How the server is run: every setting with its type, checked before anything is opened.
//!
//! **Invariant:** a setting means the same as a flag, as a variable and in the file; a value that cannot be used names who said
//! it.

mod layers;
mod proxy;
mod settings;
mod units;

use std::net::{SocketAddr, ToSocketAddrs};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use nuthatch_link::{CacheChange, Durability, ERASURE_GRACE_MAX, Error, Options, Result as EngineResult};
use proxy::{parse_identity, parse_mode, parse_prices, parse_upstream};

pub use layers::{Layers, Origin, Said};
pub use proxy::{Demo, Identity, Mark, Prices, ProxyConfig, UpstreamConfig};
pub use settings::{SETTINGS, Setting};
pub use units::{parse_bytes, parse_duration};

/// Parses a switch, as written in a flag, a variable or the file.
///
/// # Errors
/// A sentence that quotes the text.
pub fn parse_boolean(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Ok(true),
        "false" | "0" | "no" | "off" => Ok(false),
        _ => Err(format!("{text:?}; write true or false")),
    }
}

/// A thread each, when all of them are busy.
const WORKERS_MAX: usize = 4096;
/// Of requests, connections and snapshots: beyond it, no bound at all was meant.
const COUNT_MAX: usize = 1_000_000;
const BODY_BYTES_MIN: u64 = 1 << 10;
const BODY_BYTES_MAX: u64 = 1 << 40;

/// The callers that may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auth {
    /// Holders of a key, from the first key on; everybody before.
    Auto,
    /// Holders of a key.
    Keys,
    /// Everybody who can connect.
    None,
}

/// The files of TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The server's chain of certificates, in PEM.
    pub certificate: PathBuf,
    /// The certificate's private key, in PEM.
    pub key: PathBuf,
    /// The authority that signs clients' certificates; with it, a client needs one.
    pub client_ca: Option<PathBuf>,
}

/// The format of the log's lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// One line for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// All settings, typed.
#[derive(Clone, Debug)]
pub struct Config {
    /// Left out: the nearest `.nuthatch`, which the command looks for.
    pub data_dir: Option<PathBuf>,
    /// Where HTTP is listened to; port 0 picks a free one.
    pub listen: SocketAddr,
    /// Listen there at all: the proxy alone does without.
    pub api: bool,
    /// For Redis clients.
    pub redis: Option<SocketAddr>,
    /// The failures that an answered write of a Redis client survives.
    pub redis_durability: Durability,
    /// The callers that may connect.
    pub auth: Auth,
    /// `None`: without TLS.
    pub tls: Option<TlsFiles>,
    /// Listen beyond this machine without TLS, because a proxy in front does it.
    pub allow_plaintext: bool,
    /// Where backups that clients ask for go; `None`: clients cannot ask.
    pub backup_dir: Option<PathBuf>,
    /// Keep other processes out of the folder.
    pub exclusive: bool,
    /// How the log on standard error is written.
    pub log_format: LogFormat,
    /// The least important lines that the log has.
    pub log_level: tracing::level_filters::LevelFilter,
    /// Requests that the engine processes at the same time.
    pub workers: usize,
    /// Requests under way, with those that wait for a worker.
    pub requests_max: usize,
    /// Open connections; further ones wait to be accepted.
    pub connections_max: usize,
    /// The largest body of one request.
    pub body_max_bytes: u64,
    /// Memory for the bodies of all requests under way.
    pub bodies_memory_bytes: u64,
    /// How long a connection may take to send the head of its next request.
    pub header_timeout: Duration,
    /// How long a client may pause while it sends a body or reads an answer.
    pub body_timeout: Duration,
    /// How long one search may take, whatever its client requests.
    pub search_timeout: Duration,
    /// How long requests under way may take when the server stops.
    pub shutdown_timeout: Duration,
    /// Of one tenant.
    pub snapshots_max: usize,
    /// How old a snapshot or a transaction may become, over any protocol.
    pub snapshot_age_max: Duration,
    /// How long nobody may use one before it ends; `None`: as long as it may live.
    pub snapshot_idle_max: Option<Duration>,
    /// How long an erasure waits for earlier snapshots before it ends them.
    pub erasure_grace: Duration,
    /// Memory for caches, buffers and indexing; `None`: the engine's default.
    pub memory_budget_bytes: Option<u64>,
    /// Map the indexes of large segments instead of reading them; `None`: while memory is free.
    pub mapped: Option<bool>,
    /// Memory for building the vector graph of a large segment; `None`: the engine's default.
    pub build_memory_bytes: Option<u64>,
    /// Threads for building it; `None`: the engine's default.
    pub build_threads: Option<usize>,
    /// The caching proxy; `None`: there is none.
    pub proxy: Option<ProxyConfig>,
}

impl Default for Config {
    fn default() -> Self {
        Self::resolve(&Layers::default()).expect("the defaults are settings that can be used")
    }
}

impl Config {
    /// The settings that hold, each from the first layer that says it.
    ///
    /// # Errors
    /// `Invalid` for a value that cannot be used, with who said it and the key.
    pub fn resolve(layers: &Layers) -> EngineResult<Self> {
        let read = |key: &str| Read(layers.say(Setting::of(key).expect("a setting of the list")));
        let path = |key: &str| read(key).optional().map(PathBuf::from);
        Ok(Self {
            data_dir: path("data_dir"),
            listen: read("listen").parse(address)?,
            api: true,
            redis: read("redis").parse_optional(address)?,
            redis_durability: read("redis_durability")
                .among(&[Durability::Commit, Durability::Interval, Durability::Os].map(|one| (one.name(), one)))?,
            auth: read("auth").among(&[("auto", Auth::Auto), ("keys", Auth::Keys), ("none", Auth::None)])?,
            tls: tls(path("tls_cert"), path("tls_key"), path("tls_client_ca"))?,
            allow_plaintext: read("allow_plaintext").parse(parse_boolean)?,
            backup_dir: path("backup_dir"),
            exclusive: read("exclusive").parse(parse_boolean)?,
            log_format: read("log_format").among(&[("text", LogFormat::Text), ("json", LogFormat::Json)])?,
            log_level: read("log_level").parse(|text| {
                text.parse()
                    .map_err(|_| format!("{text:?} is not a level; write error, warn, info, debug, trace or off"))
            })?,
            workers: read("workers").parse(up_to(WORKERS_MAX))?,
            requests_max: read("requests_max").parse(up_to(COUNT_MAX))?,
            connections_max: read("connections_max").parse(up_to(COUNT_MAX))?,
            body_max_bytes: read("body_max").parse(body_bytes)?,
            bodies_memory_bytes: read("bodies_memory").parse(body_bytes)?,
            header_timeout: read("header_timeout").parse(parse_duration)?,
            body_timeout: read("body_timeout").parse(parse_duration)?,
            search_timeout: read("search_timeout").parse(parse_duration)?,
            shutdown_timeout: read("shutdown_timeout").parse(parse_duration)?,
            snapshots_max: read("snapshots_max").parse(up_to(COUNT_MAX))?,
            snapshot_age_max: read("snapshot_age").parse(parse_duration)?,
            snapshot_idle_max: read("snapshot_idle").parse_optional(parse_duration)?,
            erasure_grace: read("erasure_grace").parse(erasure_grace)?,
            memory_budget_bytes: read("memory_budget").parse_optional(parse_bytes)?,
            mapped: read("mapped").parse_optional(parse_boolean)?,
            build_memory_bytes: read("build_memory").parse_optional(parse_bytes)?,
            build_threads: read("build_threads").parse_optional(up_to(WORKERS_MAX))?,
            proxy: Self::proxy(layers)?,
        })
    }

    fn proxy(layers: &Layers) -> EngineResult<Option<ProxyConfig>> {
        let read = |key: &str| Read(layers.say(Setting::of(key).expect("a setting of the list")));
        let path = |key: &str| read(key).optional().map(PathBuf::from);
        let whole = |text: &str| text.parse::<u64>().map_err(|_| format!("{text:?}; write a whole number"));
        let change = CacheChange {
            mode: read("cache_mode").parse_optional(parse_mode)?,
            budget: read("cache_budget").parse_optional(share)?,
            ttl_ms: read("cache_ttl").parse_optional(|text| Ok(parse_duration(text)?.as_millis() as u64))?,
            max_entries: read("cache_max_entries").parse_optional(whole)?,
            max_bytes: read("cache_max_bytes").parse_optional(parse_bytes)?,
            user_max_entries: read("cache_user_max_entries").parse_optional(whole)?,
            user_max_bytes: read("cache_user_max_bytes").parse_optional(parse_bytes)?,
            ..CacheChange::default()
        };
        let proxy = |upstream| {
            Ok(ProxyConfig {
                listen: read("cache_listen").parse(address)?,
                upstream,
                upstream_key: path("cache_upstream_key"),
                upstream_ca: path("cache_upstream_ca"),
                cache: read("cache_name").0.text,
                change,
                identity: read("cache_identity").parse(parse_identity)?,
                tool_calls: read("cache_tool_calls").parse(parse_boolean)?,
                media: read("cache_media").parse(parse_boolean)?,
                timeout: read("cache_timeout").parse(parse_duration)?,
                prices: read("cache_prices").parse_optional(parse_prices)?.unwrap_or_default(),
                demo: None,
            })
        };
        read("cache_upstream").parse_optional(parse_upstream)?.map(proxy).transpose()
    }

    /// Every setting with its value and who said it, in the order of [`SETTINGS`].
    pub fn said(layers: &Layers) -> Vec<Said> {
        SETTINGS.iter().map(|setting| layers.say(setting)).collect()
    }

    /// How the engine is opened.
    pub fn engine_options(&self) -> Options {
        let default = Options::default();
        Options {
            memory_budget_bytes: self.memory_budget_bytes.unwrap_or(default.memory_budget_bytes),
            mapped: self.mapped,
            build_memory_bytes: self.build_memory_bytes.unwrap_or(default.build_memory_bytes),
            build_threads: self.build_threads.unwrap_or(default.build_threads),
            exclusive: self.exclusive,
            snapshots_max: self.snapshots_max,
            snapshot_age_max: self.snapshot_age_max,
            snapshot_idle_max: self.snapshot_idle_max,
            erasure_grace: self.erasure_grace,
            program: "nuthatch serve".into(),
            ..default
        }
    }

    /// An address that other machines can connect to, if there is one.
    pub fn open_address(&self) -> Option<SocketAddr> {
        let proxy = self.proxy.as_ref().map(|proxy| proxy.listen);
        [Some(self.listen).filter(|_| self.api), self.redis, proxy]
            .into_iter()
            .flatten()
            .find(|address| !address.ip().is_loopback())
    }
}

/// A value that is about to be parsed.
struct Read(Said);

impl Read {
    fn optional(self) -> Option<String> {
        Some(self.0.text).filter(|text| !text.is_empty())
    }

    fn parse<T>(self, parse: impl FnOnce(&str) -> Result<T, String>) -> EngineResult<T> {
        let Said { setting, text, origin } = self.0;
        parse(&text).map_err(|why| Error::invalid(format!("{origin}: {setting}: {why}")))
    }

    fn parse_optional<T>(self, parse: impl FnOnce(&str) -> Result<T, String>) -> EngineResult<Option<T>> {
        match self.0.text.is_empty() {
            true => Ok(None),
            false => self.parse(parse).map(Some),
        }
    }

    fn among<T: Copy>(self, choices: &[(&str, T)]) -> EngineResult<T> {
        self.parse(|text| {
            let found = choices.iter().find(|(name, _)| *name == text);
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            found.map(|(_, choice)| *choice).ok_or_else(|| format!("{text:?}; choose one of {}", names.join(", ")))
        })
    }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let found = text.to_socket_addrs().ok().and_then(|mut found| found.next());
    found.ok_or_else(|| format!("{text:?} is not an address; write host and port, for example 127.0.0.1:7700"))
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..1.0).contains(share));
    share.ok_or_else(|| format!("{text:?}; write a share from 0 up to 1, for example 0.01"))
}

fn erasure_grace(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        grace if grace <= ERASURE_GRACE_MAX => Ok(grace),
        _ => Err(format!("{text:?}; write at most {} s, because erasures wait that long", ERASURE_GRACE_MAX.as_secs())),
    }
}

fn up_to(max: usize) -> impl FnOnce(&str) -> Result<usize, String> {
    move |text| {
        let number = text.parse::<NonZeroUsize>().ok().map(NonZeroUsize::get).filter(|number| *number <= max);
        number.ok_or_else(|| format!("{text:?}; write a whole number from 1 up to {max}"))
    }
}

fn body_bytes(text: &str) -> Result<u64, String> {
    match parse_bytes(text)? {
        bytes if (BODY_BYTES_MIN..=BODY_BYTES_MAX).contains(&bytes) => Ok(bytes),
        _ => Err(format!("{text:?}; write 1KiB to {}GiB", BODY_BYTES_MAX >> 30)),
    }
}

fn tls(
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    client_ca: Option<PathBuf>,
) -> EngineResult<Option<TlsFiles>> {
    match (certificate, key, client_ca) {
        (Some(certificate), Some(key), client_ca) => Ok(Some(TlsFiles { certificate, key, client_ca })),
        (None, None, None) => Ok(None),
        (None, None, Some(_)) => Err(Error::invalid("tls_client_ca needs tls_cert and tls_key")),
        _ => Err(Error::invalid("TLS needs both tls_cert and tls_key")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unusable_value_names_its_key_and_who_said_it() {
        for (key, value, said) in [
            ("listen", "here", "127.0.0.1:7700"),
            ("workers", "0", "from 1 up"),
            ("workers", "9999999999", "up to 4096"),
            ("connections_max", "18446744073709551615", "up to 1000000"),
            ("body_max", "0", "1KiB to 1024GiB"),
            ("body_max", "99999999999GiB", "1KiB to 1024GiB"),
            ("auth", "maybe", "auto, keys, none"),
            ("body_max", "much", "64MiB"),
            ("header_timeout", "soon", "30s"),
            ("log_level", "loud", "info"),
            ("exclusive", "perhaps", "true or false"),
            ("cache_upstream", "openai", "https://"),
            ("cache_budget", "1.5", "0.01"),
            ("cache_mode", "on", "shadow"),
        ] {
            let message = Config::resolve(&Layers::default().flag(key, value)).unwrap_err().message;
            let flag = Setting::of(key).unwrap().flag();
            assert!(message.starts_with(&format!("flag {flag}: {key}: ")) && message.contains(said), "{message}");
        }
        assert!(Config::resolve(&Layers::default().flag("tls_cert", "a.pem")).is_err());
    }

    #[test]
    fn the_server_is_local_unless_told_otherwise() {
        let open = |layers| Config::resolve(&layers).unwrap().open_address();
        assert_eq!(open(Layers::default().flag("redis", "127.0.0.1:1")), None);
        for setting in ["listen", "redis"] {
            assert_eq!(open(Layers::default().flag(setting, "0.0.0.0:1")).unwrap().port(), 1);
        }
    }
}
