//! The middleware around every request of HTTP and gRPC.

mod audited;
mod gated;
mod held;
mod requests;

pub use audited::watch;
pub use gated::gated;
pub use held::hold;
pub use requests::observe;
