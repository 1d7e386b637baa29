//! The caller of a request and the database that it asks, determined in this one place for every route.

use std::any::Any;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, header};
use nuthatch_link::{Database, Error, ErrorKind, Result as EngineResult, Waits};
use percent_encoding::percent_decode;
use tracing::{Span, field};

use crate::access::{Entered, Key, Scope, Scopes, Slot, TENANT_DEFAULT, Turn, Work};
use crate::admission::at_once;
use crate::audit::Notes;
use crate::clock;
use crate::problem::Problem;
use crate::shared::Shared;

/// A caller who may ask. Its requests are answered from the data of its tenant and nothing else.
#[derive(Clone)]
pub struct Caller {
    /// The server that the caller is connected to.
    pub(crate) shared: Arc<Shared>,
    database: Database,
    tenant: String,
    /// The key is one of the default tenant.
    is_operator: bool,
    scopes: Scopes,
    /// `None` where none is needed.
    key: Option<Arc<Key>>,
    work: Work,
    notes: Notes,
    /// Ends the reads of the request.
    waits: Waits,
}

/// Ends the reads of a call whose client has gone away.
pub struct CancelledOnDrop(Arc<AtomicBool>);

impl Drop for CancelledOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// The result of a call, until its caller takes it. All that happens around a call is compiled once, not once for each type.
type Found = Box<dyn Any + Send>;
/// A call of the engine on the data of a tenant.
type Call = Box<dyn FnOnce(&Database) -> EngineResult<Found> + Send>;
/// One step of a call that knows its data.
type Step = Box<dyn FnOnce() -> EngineResult<Found> + Send>;

fn boxed<T: Send + 'static>(found: T) -> Found {
    Box::new(found)
}

fn unboxed<T: 'static>(found: Found) -> Result<T, Problem> {
    match found.downcast() {
        Ok(found) => Ok(*found),
        Err(_) => Err(Error::internal("a call has found something of another type").into()),
    }
}

/// The outcome of a lookup in memory.
enum Looked<T> {
    Found(T),
    /// It is not there; the request has been counted.
    Missed(Database, Option<Turn>),
    /// Not even whose data it is.
    Unknown,
}

/// Whose data an administrator of the default tenant asks about, percent-encoded.
const TENANT: HeaderName = HeaderName::from_static("x-nuthatch-tenant");

/// As of which moment a read is answered.
pub const SNAPSHOT: HeaderName = HeaderName::from_static("x-nuthatch-snapshot");

/// A caller with any key that holds: for what a key may know of itself.
pub struct Known(pub Caller);
/// A caller who may read, and asks what is there now.
pub struct Reading(pub Caller);
/// A caller who may write.
pub struct Writing(pub Caller);
/// A caller who may do everything with their tenant's data; what they change is noted in the audit log.
pub struct Administering(pub Caller);
/// The same with a key of the default tenant: for the whole database, or for the tenant that it names.
pub struct Operating(pub Caller);

impl Caller {
    /// Whose data it is.
    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    /// The id and the name of the key; `None` where none is needed.
    pub fn key(&self) -> Option<(&str, &str)> {
        self.key.as_ref().map(|key| (key.id.as_str(), key.name.as_str()))
    }

    /// Returns the scopes of the key.
    pub fn scopes(&self) -> &Scopes {
        &self.scopes
    }

    /// Runs a call of the engine on a thread that may block.
    ///
    /// # Errors
    /// Its own, as this caller may see them.
    pub async fn run<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Database) -> EngineResult<T> + Send + 'static,
    ) -> Result<T, Problem> {
        unboxed(self.run_boxed(Box::new(move |database| call(database).map(boxed))).await?)
    }

    async fn run_boxed(&self, call: Call) -> Result<Found, Problem> {
        let (mine, _wanted) = self.watched();
        let place = self.shared.shares.enter(&self.tenant, self.work, Instant::now())?.wait().await;
        self.step_in(place, move || mine.in_turn(call)).await?
    }

    /// Runs one more call of a request that was counted when it began.
    ///
    /// # Errors
    /// Its own, as this caller may see them.
    pub async fn go_on<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Database) -> EngineResult<T> + Send + 'static,
    ) -> Result<T, Problem> {
        let mine = self.clone();
        self.step(move || call(&mine.data()?)).await
    }

    /// The same caller, who waits no longer than that from now on.
    #[must_use]
    pub fn waiting(self, limit: Option<Duration>) -> Self {
        Self { waits: self.waits.and(&Waits::of(limit, None)), ..self }
    }

    /// The same caller, whose reads end when what comes with it is dropped.
    fn watched(&self) -> (Self, CancelledOnDrop) {
        let cancel = Arc::default();
        let waits = self.waits.and(&Waits::of(None, Some(&cancel)));
        (Self { waits, ..self.clone() }, CancelledOnDrop(cancel))
    }

    /// Answers from memory at once, on the calling thread: `look` gives the answer and waits for nothing. If it has
    /// none, or has to wait for its turn, `call` runs on a thread that may block. Both are about what was `asked`, and
    /// the two together count as one request.
    ///
    /// # Errors
    /// Their own, as this caller may see them.
    pub async fn look<A: Send + 'static, T: Send + 'static>(
        &self,
        asked: A,
        look: impl FnOnce(&A, &Database) -> EngineResult<Option<T>>,
        call: impl FnOnce(A, &Database) -> EngineResult<T> + Send + 'static,
    ) -> Result<T, Problem> {
        let (mine, _wanted) = self.watched();
        let place = self.shared.shares.enter(&self.tenant, self.work, Instant::now())?;
        let mut missed = None;
        if let Entered::Now(_) = &place {
            let looked = at_once(|| mine.look_in_turn(|database| look(&asked, database)));
            match looked.map_err(|error| self.problem(error))?? {
                Looked::Found(found) => return Ok(found),
                Looked::Missed(database, turn) => missed = Some((database, turn)),
                Looked::Unknown => {}
            }
        }
        let call: Call = Box::new(move |database| call(asked, database).map(boxed));
        unboxed(self.run_missed(mine, place, missed, call).await?)
    }

    /// Runs a call whose answer was not in memory; `missed` is its data and its turn, where looking found those.
    async fn run_missed(
        &self,
        mine: Self,
        place: Entered,
        missed: Option<(Database, Option<Turn>)>,
        call: Call,
    ) -> Result<Found, Problem> {
        let place = place.wait().await;
        self.step_in(place, move || match missed {
            Some((database, _turn)) => call(&database).map(Ok),
            None => mine.in_turn(call),
        })
        .await?
    }

    /// Begins a call of several [steps](Self::step), which counts as one request: its data, what it takes up, and what ends its reads
    /// when it is dropped.
    ///
    /// # Errors
    /// 429 when the tenant asks too often, or too much at a time.
    pub async fn begin(&self) -> Result<(Database, Option<Turn>, CancelledOnDrop), Problem> {
        let (mine, wanted) = self.watched();
        let (database, turn) = self.step(move || mine.turn()).await??;
        Ok((database, turn, wanted))
    }

    /// A step of a call that has begun, on a thread that may block.
    ///
    /// # Errors
    /// Its own, as this caller may see them.
    pub async fn step<T: Send + 'static>(
        &self,
        call: impl FnOnce() -> EngineResult<T> + Send + 'static,
    ) -> Result<T, Problem> {
        unboxed(self.step_boxed(Box::new(move || call().map(boxed))).await?)
    }

    async fn step_boxed(&self, call: Step) -> Result<Found, Problem> {
        let place = self.shared.shares.enter(&self.tenant, self.work, Instant::now())?.wait().await;
        self.step_in(place, call).await
    }

    /// The same of a call whose turn it is.
    async fn step_in<T: Send + 'static>(
        &self,
        place: Slot,
        call: impl FnOnce() -> EngineResult<T> + Send + 'static,
    ) -> Result<T, Problem> {
        let gives_way = place.gives_way();
        let mine = self.clone();
        let work = move || {
            let done = if mine.holds()? { call().map(Ok) } else { Ok(Err(Problem::unauthenticated())) };
            drop(place);
            done
        };
        let done = match gives_way {
            true => self.shared.admission.work_behind(work).await,
            false => self.shared.admission.work(work).await,
        };
        done.map_err(|error| self.problem(error))?
    }

    /// Tells the audit log what is about to be done where the route does not say it: it is noted however it ends.
    ///
    /// # Errors
    /// 503 while the log cannot be written.
    pub async fn act(&self, action: &str, target: &str) -> Result<(), Problem> {
        self.notes.acts(action, target);
        if self.is_operator && self.may(Scope::Admin) {
            self.notes.administers();
        }
        self.shared.audit.ready().await.map_err(|error| self.problem(error))
    }

    /// The same caller, about to do what takes this scope.
    ///
    /// # Errors
    /// 403 when their key does not allow it.
    pub fn allowed(&self, wanted: Scope) -> Result<Self, Problem> {
        if wanted == Scope::Admin {
            self.notes.administers();
        }
        if !self.may(wanted) {
            let (remedy, scopes) = (format!("use a key with the scope `{wanted}`"), &self.scopes);
            return Err(Problem::forbidden(format!("this key has the scopes {scopes}, not `{wanted}`"), &remedy));
        }
        let work = if wanted == Scope::Read { Work::Read } else { Work::Write };
        Ok(Self { work, ..self.clone() })
    }

    /// # Errors
    /// 403 when the key is one of a tenant.
    pub fn allow_operating(&self) -> Result<(), Problem> {
        match self.is_operator {
            true => Ok(()),
            false => Err(Problem::forbidden(
                "this call concerns the whole database, but the key belongs to one tenant",
                "ask the server's operator",
            )),
        }
    }

    /// The same for a call that may take minutes.
    ///
    /// # Errors
    /// Its own, as this caller may see them.
    pub async fn run_long<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Database) -> EngineResult<T> + Send + 'static,
    ) -> Result<T, Problem> {
        unboxed(self.run_long_boxed(Box::new(move |database| call(database).map(boxed))).await?)
    }

    async fn run_long_boxed(&self, call: Call) -> Result<Found, Problem> {
        let (mine, shared) = (self.clone(), self.shared.clone());
        let place = shared.shares.enter(&self.tenant, Work::Long, Instant::now())?.wait().await;
        let work = move || {
            let done = if mine.holds()? { mine.in_turn(call) } else { Ok(Err(Problem::unauthenticated())) };
            drop(place);
            done
        };
        let done = shared.admission.work_long(work).await;
        done.map_err(|error| self.problem(error))?
    }

    /// The call on the tenant's data, if its limits allow one more.
    fn in_turn<T>(&self, call: impl FnOnce(&Database) -> EngineResult<T>) -> EngineResult<Result<T, Problem>> {
        match self.turn()? {
            Ok((database, _turn)) => call(&database).map(Ok),
            Err(too_many) => Ok(Err(too_many)),
        }
    }

    /// The tenant's data, and its turn where it has limits.
    fn turn(&self) -> EngineResult<Result<(Database, Option<Turn>), Problem>> {
        let database = self.data()?;
        let waiting = database.waiting(self.waits.clone());
        Ok(self.turn_in(&database)?.map(|turn| (waiting, turn)))
    }

    /// The tenant's data.
    fn data(&self) -> EngineResult<Database> {
        match (self.is_operator, self.tenant.as_str()) {
            // Named in a header: a caller that may name any tenant may learn that there is none.
            (true, tenant) if tenant != TENANT_DEFAULT => self.database.tenant(tenant),
            (_, tenant) => database_of(&self.database, tenant, self.key.as_deref()),
        }
    }

    fn turn_in(&self, database: &Database) -> EngineResult<Result<Option<Turn>, Problem>> {
        match self.tenant.as_str() {
            TENANT_DEFAULT => Ok(Ok(None)),
            tenant => Ok(self.shared.turns.begin(tenant, &database.limits()?, Instant::now())),
        }
    }

    /// The call on the tenant's data, if that is known without waiting and its limits allow one more.
    fn look_in_turn<T>(
        &self,
        look: impl FnOnce(&Database) -> EngineResult<Option<T>>,
    ) -> EngineResult<Result<Looked<T>, Problem>> {
        let database = match self.tenant.as_str() {
            TENANT_DEFAULT => Some(self.database.clone()),
            tenant => self
                .database
                .cached_tenant(tenant)?
                .filter(|found| self.key.as_ref().is_none_or(|key| key.opens(found))),
        };
        let Some(database) = database else { return Ok(Ok(Looked::Unknown)) };
        let turn = match self.turn_in(&database)? {
            Ok(turn) => turn,
            Err(too_many) => return Ok(Err(too_many)),
        };
        Ok(Ok(match look(&database)? {
            Some(found) => Looked::Found(found),
            None => Looked::Missed(database.waiting(self.waits.clone()), turn),
        }))
    }

    /// A call may have waited, or be one of a stream's: the key can have ended since it was shown.
    fn holds(&self) -> EngineResult<bool> {
        match &self.key {
            Some(key) => self.shared.ring.holds(key, clock::now()),
            None => Ok(!self.shared.wants_keys()?),
        }
    }

    /// Whether the scopes of the key suffice.
    pub(crate) fn may(&self, scope: Scope) -> bool {
        self.scopes.allow(scope)
    }

    fn problem(&self, error: Error) -> Problem {
        let problem = Problem::from(error);
        if problem.status == 500 {
            tracing::error!(kind = problem.kind, detail = problem.detail, "a call failed");
        }
        match self.scopes.allow(Scope::Admin) {
            true => problem,
            false => problem.without_inner_workings(),
        }
    }

    fn of(parts: &Parts, shared: &Arc<Shared>, wanted: Scope) -> Result<Self, Problem> {
        Self::identify(parts, shared, Some(wanted))?.allowed(wanted)?.about_now(parts)
    }

    /// The same caller, who names no snapshot.
    fn about_now(self, parts: &Parts) -> Result<Self, Problem> {
        match parts.headers.contains_key(SNAPSHOT) {
            // An answer of another moment than the one that was asked for would be wrong.
            true => {
                Err(Problem::invalid(format!("this endpoint takes no header `{SNAPSHOT}`; it works on current data")))
            }
            false => Ok(self),
        }
    }

    /// Identifies the caller; [`allowed`](Self::allowed) checks what it may do.
    ///
    /// # Errors
    /// 401 without a key where one is needed, 403 for another site's request where none is, 503 while the folder is being opened.
    pub fn identify(parts: &Parts, shared: &Arc<Shared>, wanted: Option<Scope>) -> Result<Self, Problem> {
        let notes = parts.extensions.get::<Notes>().cloned().unwrap_or_default();
        if wanted == Some(Scope::Admin) {
            notes.administers();
        }
        let (key, tenant, scopes) = match shared.wants_keys()? {
            true => {
                let key = bearer(&parts.headers)
                    .map(|token| shared.ring.find(token, clock::now()))
                    .transpose()?
                    .flatten()
                    .ok_or_else(Problem::unauthenticated)?;
                Span::current().record("key", field::display(&key.id));
                notes.who(&key.name, &key.id, &key.tenant);
                let Key { tenant, scopes, .. } = (*key).clone();
                (Some(key), tenant, scopes)
            }
            false => {
                refuse_other_sites(parts)?;
                notes.without_a_key();
                (None, TENANT_DEFAULT.to_string(), Scopes::all())
            }
        };
        let is_operator = tenant == TENANT_DEFAULT;
        let own = tenant.clone();
        let tenant = tenant_asked_for(&parts.headers, tenant, &scopes)?;
        if tenant != own {
            notes.detail("for", tenant.as_str());
        }
        let database = shared.database()?.clone();
        let work = Work::Read;
        Ok(Self {
            shared: shared.clone(),
            database,
            tenant,
            is_operator,
            scopes,
            key,
            work,
            notes,
            waits: Waits::default(),
        })
    }

    /// More for the audit log of what is being done; nothing that a client wrote about others.
    pub fn note(&self, name: &str, value: impl Into<serde_json::Value>) {
        self.notes.detail(name, value);
    }
}

/// The key's tenant, or the one that an administrator of the default tenant names.
fn tenant_asked_for(headers: &HeaderMap, own: String, scopes: &Scopes) -> Result<String, Problem> {
    let Some(asked) = headers.get(TENANT) else { return Ok(own) };
    let asked = percent_decode(asked.as_bytes()).decode_utf8();
    let asked = asked.map_err(|_| Problem::invalid(format!("the header `{TENANT}` is not a percent-encoded name")))?;
    match asked == own || (own == TENANT_DEFAULT && scopes.allow(Scope::Admin)) {
        true => Ok(asked.into()),
        false => Err(Problem::forbidden(
            format!("the header `{TENANT}` names another tenant than the key's"),
            "leave it out, or use a key of the default tenant with the scope `admin`",
        )),
    }
}

/// The data that a tenant sees.
///
/// # Errors
/// `NotFound` without such a tenant, in the same words for every name: who has tenants is nobody else's business. Nor is one that
/// has the name of another, which the key was made for.
pub fn database_of(database: &Database, tenant: &str, key: Option<&Key>) -> EngineResult<Database> {
    let none = || Error::not_found("the tenant of this key does not exist on this server; ask the server's operator");
    match tenant {
        TENANT_DEFAULT => Ok(database.clone()),
        tenant => {
            let found = database.tenant(tenant).map_err(|error| match error.kind {
                ErrorKind::NotFound | ErrorKind::Invalid => none(),
                _ => error,
            })?;
            key.is_none_or(|key| key.opens(&found)).then_some(found).ok_or_else(none)
        }
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Where no key is needed, a page in a browser on this machine could ask, too. It cannot hide the name it asked for, nor its
/// own.
fn refuse_other_sites(parts: &Parts) -> Result<(), Problem> {
    let text = |name: header::HeaderName| parts.headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let host = parts.uri.authority().map(|authority| authority.as_str()).or_else(|| text(header::HOST));
    let origin = text(header::ORIGIN).map(|origin| origin.split_once("://").map_or(origin, |(_, host)| host));
    match [host, origin].into_iter().flatten().all(is_this_machine) {
        true => Ok(()),
        false => Err(Problem::forbidden(
            "without keys, this server accepts only requests to this machine (`localhost`, `127.0.0.1`), and none \
            from other sites",
            "create a key with `nuthatch key create`, or use `127.0.0.1`",
        )),
    }
}

/// With a key or without: no page of another site asks where a protocol forbids it. Programs that are no browsers name no origin.
///
/// # Errors
/// 403 for a request from a page that this machine did not serve.
pub fn refuse_other_origins(parts: &Parts) -> Result<(), Problem> {
    let origin = parts.headers.get(header::ORIGIN).map(|origin| origin.to_str().unwrap_or("?"));
    match origin.map(|origin| origin.split_once("://").map_or(origin, |(_, host)| host)) {
        Some(origin) if !is_this_machine(origin) => {
            let detail = "this endpoint refuses pages of other sites, and the request has an `Origin`";
            Err(Problem::forbidden(detail, "call it from a program, or from a page of this machine"))
        }
        _ => Ok(()),
    }
}

fn is_this_machine(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.rsplit_once(':').map_or(authority, |(host, _)| host),
    };
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

impl FromRequestParts<Arc<Shared>> for Known {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, shared: &Arc<Shared>) -> Result<Self, Problem> {
        Caller::identify(parts, shared, None)?.about_now(parts).map(Self)
    }
}

impl FromRequestParts<Arc<Shared>> for Reading {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, shared: &Arc<Shared>) -> Result<Self, Problem> {
        Caller::of(parts, shared, Scope::Read).map(Self)
    }
}

impl FromRequestParts<Arc<Shared>> for Writing {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, shared: &Arc<Shared>) -> Result<Self, Problem> {
        Caller::of(parts, shared, Scope::Write).map(Self)
    }
}

impl FromRequestParts<Arc<Shared>> for Administering {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, shared: &Arc<Shared>) -> Result<Self, Problem> {
        Caller::of(parts, shared, Scope::Admin).map(Self)
    }
}

impl FromRequestParts<Arc<Shared>> for Operating {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, shared: &Arc<Shared>) -> Result<Self, Problem> {
        let Administering(caller) = Administering::from_request_parts(parts, shared).await?;
        caller.allow_operating()?;
        Ok(Self(caller))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_its_own() {
        for own in ["localhost", "localhost:7700", "127.0.0.1:1", "127.1.2.3", "[::1]:7700", "[::1]"] {
            assert!(is_this_machine(own), "{own}");
        }
        for other in ["example.org", "localhost.example.org:80", "10.0.0.1:7700", "null", "", "[::2]:1"] {
            assert!(!is_this_machine(other), "{other}");
        }
    }

    #[test]
    fn only_an_administrator_of_the_default_tenant_chooses_another() {
        let headers = |name: &str| HeaderMap::from_iter([(TENANT, name.parse().unwrap())]);
        let chosen = |headers: &HeaderMap, own: &str, scopes| {
            tenant_asked_for(headers, own.into(), &scopes).map_err(|problem| problem.status)
        };
        let reader = || Scopes::new([Scope::Read]);
        assert_eq!(chosen(&HeaderMap::new(), "acme", reader()), Ok("acme".into()));
        assert_eq!(chosen(&headers("acme"), "acme", reader()), Ok("acme".into()));
        assert_eq!(chosen(&headers("acme"), TENANT_DEFAULT, Scopes::all()), Ok("acme".into()));
        assert_eq!(chosen(&headers("acme"), TENANT_DEFAULT, reader()), Err(403));
        assert_eq!(chosen(&headers(TENANT_DEFAULT), "acme", Scopes::all()), Err(403));
        assert_eq!(chosen(&headers("bolt"), "acme", Scopes::all()), Err(403));
    }

    #[test]
    fn a_token_is_read_from_its_header() {
        let of = |value: &str| {
            let headers = HeaderMap::from_iter([(header::AUTHORIZATION, value.parse().unwrap())]);
            bearer(&headers).map(str::to_string)
        };
        assert_eq!(of("Bearer abc"), Some("abc".into()));
        assert_eq!(of("bearer abc"), Some("abc".into()));
        assert_eq!((of("Basic abc"), of("abc")), (None, None));
    }
}
