//! The log: lines on standard error, for people or as JSON.

use std::io::IsTerminal;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::{Config, LogFormat};

/// Sends what is traced in this process to standard error. Only the first call in a process does so.
pub fn start_logging(config: &Config) {
    // The protocol's library tells of every message, and from `debug` on what is in it: neither is for a log.
    let quieter = config.log_level.min(LevelFilter::WARN);
    let mut filter = Targets::new().with_default(config.log_level).with_target("rmcp", quieter);
    // At `trace`, these tell of the heads of messages, in which keys stand.
    for library in ["h2", "hyper", "hyper_util", "rustls"] {
        filter = filter.with_target(library, config.log_level.min(LevelFilter::DEBUG));
    }
    let registry = tracing_subscriber::registry().with(filter);
    // A second server in one process (as in tests) writes into the log of the first.
    let _already_started = match config.log_format {
        LogFormat::Json => {
            let layer = fmt::layer().json().flatten_event(true).with_current_span(true).with_span_list(false);
            registry.with(layer.with_writer(std::io::stderr)).try_init().is_err()
        }
        LogFormat::Text => {
            let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            let layer = fmt::layer().with_ansi(colours).with_writer(std::io::stderr);
            registry.with(layer).try_init().is_err()
        }
    };
}
