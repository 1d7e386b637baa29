//! Facts about a request that its handlers learn, for its entry in the log.

use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Map, Value};

use super::entry::Who;
use crate::access::TENANT_DEFAULT;

/// From where a request came; an extension of every request.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

/// The findings about a request on its way; an extension of every request.
#[derive(Clone, Debug, Default)]
pub struct Notes(Arc<Mutex<AuditedRequest>>);

/// The findings about a request.
#[derive(Debug, Default)]
pub struct AuditedRequest {
    pub who: Who,
    /// It needs the scope of administrators.
    pub administers: bool,
    /// The action and its target, where the route does not say so.
    pub act: Option<(String, String)>,
    pub details: Map<String, Value>,
}

impl Notes {
    /// Nothing is known but where it came from.
    pub fn of(peer: Option<&Peer>) -> Self {
        let address = peer.map(|Peer(address)| address.to_string());
        let who = Who { address, ..Who::default() };
        Self(Arc::new(Mutex::new(AuditedRequest { who, ..AuditedRequest::default() })))
    }

    /// Everything that was found out.
    pub fn take(&self) -> AuditedRequest {
        std::mem::take(&mut self.0.lock())
    }

    /// Whose key it is.
    pub fn who(&self, name: &str, key: &str, tenant: &str) {
        let mut found = self.0.lock();
        found.who.name = name.into();
        found.who.key = Some(key.into());
        found.who.tenant = Some(tenant.into());
    }

    /// Nobody needs a key here.
    pub fn without_a_key(&self) {
        self.0.lock().who.tenant = Some(TENANT_DEFAULT.into());
    }

    /// Only administrators may ask this.
    pub fn administers(&self) {
        self.0.lock().administers = true;
    }

    /// Sets the action that is about to be performed, and its target: it is noted however it ends.
    pub fn acts(&self, action: &str, target: &str) {
        self.0.lock().act = Some((action.into(), target.into()));
    }

    /// More of what is being done. Nothing that a client wrote about others belongs here.
    pub fn detail(&self, name: &str, value: impl Into<Value>) {
        self.0.lock().details.insert(name.into(), value.into());
    }
}
