//! How the calls of a handle reach its tenant's data: the link to the folder, and whose data it is about.
//!
//! **Invariant:** a call over a tenant's route is answered with that tenant's database, in this process or in another.

use std::path::Path;
use std::sync::{Arc, OnceLock, Weak};

use nuthatch_engine::call::{Asked, Call, Choice, Waits};
use nuthatch_engine::codec::Bytes;
use nuthatch_engine::database::Database as LocalDatabase;
use nuthatch_engine::lock::Holder;
use nuthatch_engine::ops::{Op, View, on};
use nuthatch_engine::tenant::{DEFAULT, TenantPlace};
use nuthatch_engine::transaction::WriteBatch;
use nuthatch_engine::{EmbedderChoice, Error, Result};
use nuthatch_vector::VectorError;
use serde::de::DeserializeOwned;

use crate::client::Client;
use crate::connection::Connection;
use crate::link::{HeldFolder, Link, Role};
use crate::meanwhile::Meanwhile;
use crate::request::{Ask, Of, Request};

/// Cheap to clone.
#[derive(Clone)]
pub(crate) struct Route {
    link: Arc<Link>,
    /// Absent for the default tenant.
    tenant: Option<Arc<Scope>>,
    /// On whose behalf this process asks.
    call: Call,
}

struct Scope {
    place: TenantPlace,
    /// Set when this process holds the folder, and from then on.
    held: OnceLock<Arc<HeldFolder>>,
}

impl Route {
    pub fn new(link: Arc<Link>) -> Self {
        Self { link, tenant: None, call: Call::default() }
    }

    /// The same route, for somebody who waits no longer than this.
    pub fn waiting(&self, waits: Waits) -> Self {
        Self { call: Call::default().waiting(waits), ..self.clone() }
    }

    /// The route of a tenant's data.
    pub fn to(&self, place: TenantPlace) -> Self {
        self.with(Some(place))
    }

    fn with(&self, place: Option<TenantPlace>) -> Self {
        let tenant = place.map(|place| Arc::new(Scope { place, held: OnceLock::new() }));
        Self { tenant, ..self.clone() }
    }

    /// `None`: the default tenant's.
    pub fn tenant(&self) -> Option<&TenantPlace> {
        self.tenant.as_ref().map(|scope| &scope.place)
    }

    /// This route, or in a fork the fork's own.
    pub fn here(&self) -> Result<Self> {
        if self.is_ours() {
            return Ok(self.clone());
        }
        let forked = Self { link: self.link.here()?, tenant: None, call: self.call.clone() };
        Ok(forked.with(self.tenant().cloned()))
    }

    pub fn is_ours(&self) -> bool {
        self.link.is_ours()
    }

    /// Returns the limits that end the reads over this route.
    pub fn waits(&self) -> &Waits {
        self.call.waits()
    }

    /// The role of this process for the folder; a database that it holds is the tenant's.
    pub fn role(&self) -> Result<Role> {
        match (self.link.role()?, &self.tenant) {
            (Role::Holds(held), Some(scope)) => {
                if let Some(known) = scope.held.get() {
                    return Ok(Role::Holds(known.clone()));
                }
                let scoped = Arc::new(HeldFolder::of(held.db().tenant_at(&scope.place)?));
                Ok(Role::Holds(scope.held.get_or_init(|| scoped).clone()))
            }
            (role, _) => Ok(role),
        }
    }

    /// The database that this process holds, on behalf of the caller.
    pub fn local(&self, held: &HeldFolder) -> LocalDatabase {
        held.db().on_behalf_of(&self.call)
    }

    /// Asks the process that holds the folder, again when another one takes it over; a write is done once, however long that takes.
    pub fn ask<O: Op>(&self, of: Of, embedder: &EmbedderChoice, op: &O) -> Result<O::Answer> {
        let waits = if O::READS { op.waits().and(self.call.waits()) } else { op.waits() };
        if waits.is_cancelled() {
            return Err(VectorError::Stopped.into()); // its answer might come before anybody looks at the flag
        }
        let operation = postcard::to_stdvec(op)
            .map_err(|error| Error::internal(format!("operation {} cannot be encoded: {error}", O::NAME)))?;
        let (embedder_there, operation) = (Choice::from(embedder), Bytes(operation));
        let ask = Ask::Operation { of, embedder: embedder_there, name: O::NAME.into(), operation };
        self.ask_meanwhile(ask, &mut Meanwhile::new(embedder, &waits))
    }

    /// Asks the tenant's data as a whole, in this process or in the one that holds the folder.
    pub fn ask_everything<O: Op<On = on::Everything>>(&self, embedder: &EmbedderChoice, op: O) -> Result<O::Answer> {
        let link = self.here()?;
        match link.role()? {
            Role::Holds(held) => {
                let mut call = link.call.clone();
                if !matches!(embedder, EmbedderChoice::Auto) {
                    let asked = Asked { embedder: embedder.clone(), ..Asked::default() };
                    call = Call::of(asked).waiting(call.waits().clone());
                }
                op.run(&View::Everything(&held.db().on_behalf_of(&call)))
            }
            Role::IsServed(_) => link.ask(Of::Everything, embedder, &op),
            Role::Closed => Err(Error::closed()),
        }
    }

    /// Asks for something other than an operation, or does more than wait for the answer.
    pub fn ask_meanwhile<T: DeserializeOwned>(&self, ask: Ask, meanwhile: &mut Meanwhile<'_>) -> Result<T> {
        self.link.ask(self.request(ask, meanwhile), meanwhile)
    }

    /// The same, but hands the connection to `answered` instead of keeping it for the next call.
    pub fn ask_and<T: DeserializeOwned>(
        &self,
        ask: Ask,
        meanwhile: &mut Meanwhile<'_>,
        answered: &mut dyn FnMut(&Arc<Client>, Connection),
    ) -> Result<T> {
        self.link.ask_and(self.request(ask, meanwhile), meanwhile, answered)
    }

    fn request(&self, ask: Ask, meanwhile: &Meanwhile<'_>) -> Request {
        Request { tenant: self.tenant().cloned(), wait: meanwhile.waits.left(), ask }
    }

    /// Remembers an embedder that this process has given to a collection.
    pub fn note_embedder(&self, collection: &str, choice: &EmbedderChoice) {
        self.link.given.note(self.number(), collection, choice);
    }

    /// Forgets it: the collection is dropped.
    pub fn forget_embedder(&self, collection: &str) {
        self.link.given.forget(self.number(), collection);
    }

    /// The embedder that this process has given to a collection.
    pub fn given_embedder(&self, collection: &str) -> EmbedderChoice {
        self.link.given.of(self.number(), collection)
    }

    /// Makes the vectors of a batch's texts that come without one, where the embedder is this process's own.
    pub fn embed(&self, batch: &mut WriteBatch) -> Result<()> {
        self.link.given.embed(self.number(), batch)
    }

    pub fn is_served_by(&self, client: &Weak<Client>) -> bool {
        self.link.is_served_by(client)
    }

    pub fn now_ms(&self) -> u64 {
        self.link.now_ms()
    }

    fn number(&self) -> u32 {
        self.tenant().map_or(DEFAULT, |tenant| tenant.number)
    }

    /// The folder as the caller named it.
    pub fn shown(&self) -> &Path {
        &self.link.shown
    }

    /// The folder's absolute path.
    pub fn root(&self) -> &Path {
        &self.link.root
    }

    pub fn holder(&self) -> Option<Holder> {
        self.link.holder()
    }

    /// Releases the folder, for all tenants.
    pub fn close(&self) -> Result<()> {
        self.link.close()
    }
}
