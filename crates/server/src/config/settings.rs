//! The one list of settings: each is a flag, a variable of the environment and a key of the file, with the same meaning.

/// A setting, as flags, variables and the file name it.
#[derive(Debug)]
pub struct Setting {
    /// Its name in the file. The flag has dashes for the underscores.
    pub key: &'static str,
    /// Its variable.
    pub variable: &'static str,
    /// The placeholder for the value in help texts.
    pub value: &'static str,
    /// As it would be written; empty: not set.
    pub default: &'static str,
    /// Its purpose: the sentence of help texts.
    pub help: &'static str,
    /// A flag of every command, not of `serve` alone.
    pub everywhere: bool,
}

const fn setting(
    key: &'static str,
    variable: &'static str,
    value: &'static str,
    default: &'static str,
    help: &'static str,
) -> Setting {
    Setting { key, variable, value, default, help, everywhere: false }
}

const fn everywhere(key: &'static str, variable: &'static str, value: &'static str, help: &'static str) -> Setting {
    Setting { key, variable, value, default: "", help, everywhere: true }
}

/// All settings, in the order in which they are shown.
pub const SETTINGS: &[Setting] = &[
    everywhere("data_dir", "NUTHATCH_DIR", "DIR", "The data folder"),
    setting(
        "listen",
        "NUTHATCH_LISTEN",
        "ADDRESS",
        "127.0.0.1:7700",
        "Address to listen on for HTTP; port 0 picks a free one",
    ),
    setting(
        "redis",
        "NUTHATCH_REDIS",
        "ADDRESS",
        "",
        "Address to listen on for Redis clients, for example 127.0.0.1:6380; off by default",
    ),
    setting(
        "redis_durability",
        "NUTHATCH_REDIS_DURABILITY",
        "HOW",
        "commit",
        "What an answered write of a Redis client survives: `commit`: power loss; `interval`: power loss a moment \
        later; `os`: the end of this process",
    ),
    setting(
        "auth",
        "NUTHATCH_AUTH",
        "WHO",
        "auto",
        "Who may connect: `keys`: holders of a key; `none`: everybody; `auto`: holders of a key, once a key exists",
    ),
    setting("tls_cert", "NUTHATCH_TLS_CERT", "FILE", "", "Certificate chain (PEM) of this server; enables TLS"),
    setting("tls_key", "NUTHATCH_TLS_KEY", "FILE", "", "Private key (PEM) of the certificate"),
    setting(
        "tls_client_ca",
        "NUTHATCH_TLS_CLIENT_CA",
        "FILE",
        "",
        "Certificate authorities (PEM) for clients; clients without a certificate are refused",
    ),
    setting(
        "allow_plaintext",
        "NUTHATCH_ALLOW_PLAINTEXT",
        "BOOL",
        "false",
        "Listen beyond this machine without TLS, because a proxy in front does it",
    ),
    setting(
        "backup_dir",
        "NUTHATCH_BACKUP_DIR",
        "DIR",
        "",
        "Folder for backups that clients request; without it, they cannot",
    ),
    setting(
        "exclusive",
        "NUTHATCH_EXCLUSIVE",
        "BOOL",
        "false",
        "Open the folder for this process alone: refuse to start while another process has it, and refuse others later",
    ),
    setting(
        "log_format",
        "NUTHATCH_LOG_FORMAT",
        "FORMAT",
        "text",
        "Format of the log on standard error: `text` or `json`",
    ),
    setting(
        "log_level",
        "NUTHATCH_LOG_LEVEL",
        "LEVEL",
        "info",
        "`error`, `warn`, `info` (every request), `debug`, `trace` or `off`",
    ),
    setting("workers", "NUTHATCH_WORKERS", "N", "64", "Requests that the engine processes at the same time"),
    setting(
        "requests_max",
        "NUTHATCH_REQUESTS_MAX",
        "N",
        "1024",
        "Requests under way, including waiting ones; further ones get 503",
    ),
    setting(
        "connections_max",
        "NUTHATCH_CONNECTIONS_MAX",
        "N",
        "1024",
        "Open connections; further ones wait to be accepted",
    ),
    setting("body_max", "NUTHATCH_BODY_MAX", "SIZE", "64MiB", "Largest body of one request; a larger one gets 413"),
    setting(
        "bodies_memory",
        "NUTHATCH_BODIES_MEMORY",
        "SIZE",
        "256MiB",
        "Memory for the bodies of all requests under way; further requests get 503",
    ),
    setting(
        "header_timeout",
        "NUTHATCH_HEADER_TIMEOUT",
        "TIME",
        "30s",
        "How long a connection may take to send the head of its next request",
    ),
    setting(
        "body_timeout",
        "NUTHATCH_BODY_TIMEOUT",
        "TIME",
        "30s",
        "How long a client may pause while it sends a body or reads an answer",
    ),
    setting(
        "search_timeout",
        "NUTHATCH_SEARCH_TIMEOUT",
        "TIME",
        "60s",
        "How long one search may take, whatever its client requests",
    ),
    setting(
        "shutdown_timeout",
        "NUTHATCH_SHUTDOWN_TIMEOUT",
        "TIME",
        "30s",
        "How long requests under way may take when the server stops",
    ),
    setting(
        "snapshots_max",
        "NUTHATCH_SNAPSHOTS_MAX",
        "N",
        "64",
        "Snapshots and transactions that a tenant may have open over HTTP, Flight and other processes together",
    ),
    setting(
        "snapshot_age",
        "NUTHATCH_SNAPSHOT_AGE",
        "TIME",
        "10m",
        "Maximum age of a snapshot or transaction, over any protocol",
    ),
    setting(
        "snapshot_idle",
        "NUTHATCH_SNAPSHOT_IDLE",
        "TIME",
        "",
        "How long a snapshot or transaction may go unread before it ends; without it, until it is too old",
    ),
    setting(
        "erasure_grace",
        "NUTHATCH_ERASURE_GRACE",
        "TIME",
        "10s",
        "How long erasing, reclaiming and dropping a tenant wait for earlier snapshots before they end them; at most 1m",
    ),
    setting(
        "cache_upstream",
        "NUTHATCH_CACHE_UPSTREAM",
        "URL",
        "",
        "Provider behind the caching proxy, for example https://api.openai.com/v1; enables the proxy",
    ),
    setting(
        "cache_listen",
        "NUTHATCH_CACHE_LISTEN",
        "ADDRESS",
        "127.0.0.1:7710",
        "Address to listen on for the caching proxy; port 0 picks a free one",
    ),
    setting(
        "cache_upstream_key",
        "NUTHATCH_CACHE_UPSTREAM_KEY",
        "FILE",
        "",
        "File with the API key that the provider gets in place of the clients' keys",
    ),
    setting(
        "cache_upstream_ca",
        "NUTHATCH_CACHE_UPSTREAM_CA",
        "FILE",
        "",
        "Further certificate authorities (PEM) for the provider",
    ),
    setting("cache_name", "NUTHATCH_CACHE_NAME", "NAME", "default", "The cache that the proxy answers from"),
    setting(
        "cache_identity",
        "NUTHATCH_CACHE_IDENTITY",
        "MARKS",
        "key",
        "Which callers of the proxy share answers: those with the same API `key`, `user` of the request and \
        `header:NAME`; `none`: all of a tenant",
    ),
    setting(
        "cache_mode",
        "NUTHATCH_CACHE_MODE",
        "MODE",
        "",
        "`serve`; `shadow`: only count what would be given; `off`; by default, as the cache is set",
    ),
    setting(
        "cache_budget",
        "NUTHATCH_CACHE_BUDGET",
        "SHARE",
        "",
        "Share of the answers by meaning that may be wrong, for example 0.01; by default, as the cache is set",
    ),
    setting("cache_ttl", "NUTHATCH_CACHE_TTL", "TIME", "", "How long answers live; by default, as the cache is set"),
    setting(
        "cache_max_entries",
        "NUTHATCH_CACHE_MAX_ENTRIES",
        "N",
        "",
        "Maximum number of answers; by default, as the cache is set",
    ),
    setting(
        "cache_max_bytes",
        "NUTHATCH_CACHE_MAX_BYTES",
        "SIZE",
        "",
        "Maximum bytes of answers; by default, as the cache is set",
    ),
    setting(
        "cache_user_max_entries",
        "NUTHATCH_CACHE_USER_MAX_ENTRIES",
        "N",
        "",
        "Maximum number of answers of one caller; by default, as the cache is set",
    ),
    setting(
        "cache_user_max_bytes",
        "NUTHATCH_CACHE_USER_MAX_BYTES",
        "SIZE",
        "",
        "Maximum bytes of the answers of one caller; by default, as the cache is set",
    ),
    setting("cache_tool_calls", "NUTHATCH_CACHE_TOOL_CALLS", "BOOL", "false", "Also keep answers that call tools"),
    setting(
        "cache_media",
        "NUTHATCH_CACHE_MEDIA",
        "BOOL",
        "false",
        "Also answer requests with images, sound and files, where all is the same",
    ),
    setting(
        "cache_timeout",
        "NUTHATCH_CACHE_TIMEOUT",
        "TIME",
        "10m",
        "How long the provider may take to begin an answer, or pause within one",
    ),
    setting(
        "cache_prices",
        "NUTHATCH_CACHE_PRICES",
        "PRICES",
        "",
        "MODEL=INPUT/OUTPUT[/CACHED] in USD per million tokens, with commas in between; `*` is any other model",
    ),
    everywhere("memory_budget", "NUTHATCH_MEMORY_BUDGET", "SIZE", "Memory for caches, buffers and indexing"),
    everywhere(
        "mapped",
        "NUTHATCH_MAPPED",
        "BOOL",
        "Map the indexes of large segments (true) or read them (false); by default, map while memory is free",
    ),
    everywhere(
        "build_memory",
        "NUTHATCH_BUILD_MEMORY",
        "SIZE",
        "Memory for building the vector graph of a large segment",
    ),
    everywhere("build_threads", "NUTHATCH_BUILD_THREADS", "N", "Threads for building it"),
];

impl Setting {
    /// `--log-format`
    pub fn flag(&self) -> String {
        format!("--{}", self.key.replace('_', "-"))
    }

    /// The setting of this name in the file.
    pub(crate) fn of(key: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| setting.key == key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_settings_share_a_key_or_a_variable() {
        for (at, one) in SETTINGS.iter().enumerate() {
            assert!(
                SETTINGS[..at].iter().all(|other| other.key != one.key && other.variable != one.variable),
                "{}",
                one.key
            );
        }
    }
}
