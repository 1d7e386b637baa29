//! What happens around every request of HTTP and gRPC.

mod audited;
mod requests;

pub use audited::watch;
pub use requests::observe;
