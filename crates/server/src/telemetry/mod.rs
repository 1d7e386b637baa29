//! What an operator sees: the log, and the figures at `/metrics`.

mod engine;
mod logs;
mod metrics;
mod proxy;
mod redis;

pub use engine::registry_of;
pub use logs::start_logging;
pub use metrics::Metrics;
pub use redis::register_redis;
