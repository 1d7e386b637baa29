//! What happens around every request of HTTP and gRPC.

mod audited;
mod held;
mod requests;

pub use audited::watch;
pub use held::hold;
pub use requests::observe;
