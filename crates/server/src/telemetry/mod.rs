//! An operator's view of the server: the log, and the figures at `/metrics`.

mod caches;
mod cluster;
mod engine;
mod logs;
mod metrics;
mod models;
mod proxy;
mod redis;

pub use caches::{cache_stats, register_caches};
pub use cluster::register_cluster;
pub use engine::registry_of;
pub use logs::start_logging;
pub use metrics::Metrics;
pub use models::names;
pub use redis::register_redis;
