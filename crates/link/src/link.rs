//! State shared by all handles of one open database: which process holds the folder, and how a call gets there.
//!
//! **Invariant:** a handle that was served and comes to hold the folder itself holds it until it is closed. A fork of the
//! process never touches what the process has; it gets a link of its own.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use nuthatch_engine::call::Waits;
use nuthatch_engine::database::Database as LocalDatabase;
use nuthatch_engine::folder::Folder;
use nuthatch_engine::lock::{FolderLock, Guard, Holder, Taken, named, refusal};
use nuthatch_engine::options::Options;
use nuthatch_engine::{Error, ErrorKind, Result};
use parking_lot::{Mutex, RwLock};
use serde::de::DeserializeOwned;

use crate::answer::{Answering, Brought};
use crate::client::Client;
use crate::connection::Connection;
use crate::frame::{self, FrameError};
use crate::given::Given;
use crate::limits::NoAnswer;
use crate::meanwhile::Meanwhile;
use crate::owned::Owned;
use crate::request::{Encoded, Request, ToHolder};
use crate::server::Server;
use crate::socket::SOCKET;
use crate::tethered::Keeper;

/// How long a call waits for a process to hold and serve the folder: opening after a crash reads the log again, closing
/// seals.
const HOLDER_WAIT_MAX: Duration = Duration::from_secs(120);
/// The same for a process that cannot hold the folder itself.
const ANOTHER_WAIT_MAX: Duration = Duration::from_secs(10);
/// How long the system may take to close the files of a process that was killed.
const END_WAIT_MAX: Duration = Duration::from_secs(10);
/// How often a waiting call looks who holds the folder now.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Times that one holder may hang up on the same request.
const HANG_UPS_MAX: u32 = 5;

pub(crate) struct Link {
    /// Absolute, for a program that changes its working folder.
    pub root: PathBuf,
    /// As the caller gave it.
    pub shown: PathBuf,
    options: Options,
    pid: u32,
    /// Not on any disk that another process could look at.
    in_memory: bool,
    role: RwLock<Role>,
    /// One change of role at a time.
    changing: Mutex<()>,
    closing: AtomicBool,
    /// The embedders of this process, while another one serves it.
    pub given: Given,
    /// Keeps snapshots for others. Closing forgets them; until then one that another process keeps holds the link.
    keeper: Arc<dyn Keeper>,
    /// In a fork: its own link, and the fork's pid. The lock is held for moments, and in forks alone.
    forked: RwLock<Option<(u32, Arc<Link>)>>,
}

/// The role of this process for the folder.
#[derive(Clone)]
pub(crate) enum Role {
    Holds(Arc<HeldFolder>),
    IsServed(Arc<Client>),
    Closed,
}

/// The database in this process, and the server for the others.
pub(crate) struct HeldFolder {
    db: Owned<LocalDatabase>,
    server: Owned<Mutex<Option<Server>>>,
}

impl HeldFolder {
    /// A database without a server of its own: a tenant's, in a folder that this process holds.
    pub fn of(db: LocalDatabase) -> Self {
        Self { db: Owned::new(db), server: Owned::new(Mutex::new(None)) }
    }

    pub fn db(&self) -> &LocalDatabase {
        self.db.get()
    }

    fn close(&self) -> Result<()> {
        // First, so that nobody is told that the database is closed.
        drop(self.server.get().lock().take());
        self.db.get().close()
    }
}

impl Link {
    pub fn open(folder: &Path, options: Options, keeper: Arc<dyn Keeper>) -> Result<Arc<Self>> {
        let root = std::path::absolute(folder).map_err(|error| Error::io(folder, &error))?;
        let link = Self::new(root, folder.to_path_buf(), options, (false, keeper), Role::Closed);
        link.prepare()?;
        let role = link.establish(Instant::now() + HOLDER_WAIT_MAX)?;
        *link.role.write() = role;
        Ok(Arc::new(link))
    }

    /// A link to a database that no other process sees.
    pub fn alone(db: LocalDatabase, options: Options, in_memory: bool, keeper: Arc<dyn Keeper>) -> Arc<Self> {
        let folder = db.folder().to_path_buf();
        let role = Role::Holds(Arc::new(HeldFolder::of(db)));
        Arc::new(Self::new(folder.clone(), folder, options, (in_memory, keeper), role))
    }

    fn new(
        root: PathBuf,
        shown: PathBuf,
        options: Options,
        (in_memory, keeper): (bool, Arc<dyn Keeper>),
        role: Role,
    ) -> Self {
        Self {
            root,
            shown,
            pid: std::process::id(),
            in_memory,
            keeper,
            options,
            role: RwLock::new(role),
            changing: Mutex::default(),
            closing: AtomicBool::new(false),
            given: Given::default(),
            forked: RwLock::default(),
        }
    }

    pub fn now_ms(&self) -> u64 {
        self.options.clock.now_ms()
    }

    /// This link, or in a fork the fork's own.
    pub fn here(self: &Arc<Self>) -> Result<Arc<Self>> {
        if self.is_ours() {
            return Ok(self.clone());
        }
        let pid = std::process::id();
        if self.in_memory {
            return Err(Error::new(
                ErrorKind::Closed,
                format!(
                    "this in-memory database belongs to process {}, and its fork (process {pid}) cannot use it; open a \
                    folder instead, which processes can share",
                    self.pid
                ),
            ));
        }
        if let Some((of, link)) = &*self.forked.read()
            && *of == pid
        {
            return Ok(link.clone());
        }
        let options = Options { must_exist: true, ..self.options.clone() };
        let link = Self::open(&self.root, options, self.keeper.anew())?;
        let mut forked = self.forked.write();
        Ok(match &*forked {
            Some((of, first)) if *of == pid => first.clone(),
            _ => forked.insert((pid, link)).1.clone(),
        })
    }

    /// False in a fork of the process that made it.
    pub fn is_ours(&self) -> bool {
        self.pid == std::process::id()
    }

    /// True when this client asks the current holder.
    pub fn is_served_by(&self, client: &Weak<Client>) -> bool {
        matches!(&*self.role.read(), Role::IsServed(now) if Weak::ptr_eq(&Arc::downgrade(now), client))
    }

    pub fn role(&self) -> Result<Role> {
        match &*self.role.read() {
            Role::Closed => Err(Error::closed()),
            role => Ok(role.clone()),
        }
    }

    /// Asks the folder's holder, again after each change of holder; a write is done once.
    pub fn ask<T: DeserializeOwned>(&self, request: Request, meanwhile: &mut Meanwhile<'_>) -> Result<T> {
        self.ask_and(request, meanwhile, &mut |client, connection| client.keep(connection))
    }

    /// The same, but hands the connection that carried the answer to `answered` instead of keeping it for the next
    /// call.
    pub fn ask_and<T: DeserializeOwned>(
        &self,
        request: Request,
        meanwhile: &mut Meanwhile<'_>,
        answered: &mut dyn FnMut(&Arc<Client>, Connection),
    ) -> Result<T> {
        let answer = self.ask_encoded(request, meanwhile, answered)?;
        frame::value(&answer.0).map_err(|error| {
            Error::internal(format!(
                "an answer of the process that holds the folder \
            cannot be decoded: {error}"
            ))
        })
    }

    fn ask_encoded(
        &self,
        request: Request,
        meanwhile: &mut Meanwhile<'_>,
        answered: &mut dyn FnMut(&Arc<Client>, Connection),
    ) -> Result<Encoded> {
        let mut request = Some(request);
        // Session, number and frame, once it has been sent.
        let mut request_id: Option<(String, u64, Vec<u8>)> = None;
        let mut hang_ups = (0, String::new());
        loop {
            let client = match self.role()? {
                Role::IsServed(client) => client,
                Role::Holds(held) => return answer_here(held.db(), request, request_id, meanwhile),
                Role::Closed => return Err(Error::closed()),
            };
            let connection = match &request_id {
                None => client.take(),
                Some((session, number, _)) => client.resume(session, *number),
            };
            let outcome = connection.and_then(|mut connection| {
                if let Some(request) = request.take() {
                    let number = connection.next;
                    let frame = frame::encode(&ToHolder::Ask { number, request }).map_err(too_large)?;
                    request_id = Some((connection.session.clone(), number, frame));
                }
                let Some((session, number, frame)) = &request_id else { return Err(NoAnswer::Broken) };
                let answer = connection.exchange(frame, meanwhile, || client.cancel(session, *number))?;
                connection.next = number + 1;
                answered(&client, connection);
                Ok(answer)
            });
            match outcome {
                Ok(answer) => return answer,
                Err(NoAnswer::Failed(error)) => return Err(error),
                Err(NoAnswer::Broken) => {}
            }
            let holder = named(Some(&client.holder));
            hang_ups = (if hang_ups.1 == holder { hang_ups.0 + 1 } else { 1 }, holder);
            if hang_ups.0 > HANG_UPS_MAX {
                return Err(Error::new(
                    ErrorKind::Unavailable,
                    format!(
                        "{} is open in {}, which closed the connection {} times on the same call; check the output of \
                        that process, or close the folder there and try again",
                        self.root.display(),
                        hang_ups.1,
                        hang_ups.0
                    ),
                ));
            }
            meanwhile.check_wanted()?;
            self.recover(&client, meanwhile.waits)?;
            if let Some((.., frame)) = &mut request_id {
                renew(frame, meanwhile.waits)?;
            }
        }
    }

    /// Finds the next holder, or becomes it.
    fn recover(&self, gone: &Arc<Client>, waits: &Waits) -> Result<()> {
        let _changing = self.changing.lock();
        if !matches!(&*self.role.read(), Role::IsServed(client) if Arc::ptr_eq(client, gone)) {
            return Ok(());
        }
        let until = Instant::now() + HOLDER_WAIT_MAX;
        let role = self.establish(waits.deadline().map_or(until, |deadline| until.min(deadline)))?;
        if let Role::Holds(held) = &role {
            self.given.pass_on(held.db());
        }
        let mut now = self.role.write();
        if self.closing.load(Ordering::SeqCst) {
            *now = Role::Closed;
            drop(now);
            return close(role).and(Err(Error::closed()));
        }
        *now = role;
        Ok(())
    }

    /// Makes sure that the folder exists and is ours before writing into it.
    fn prepare(&self) -> Result<()> {
        if !self.root.exists() && !self.options.must_exist {
            std::fs::create_dir_all(&self.root).map_err(|error| Error::io(&self.root, &error))?;
        }
        // Two that create the folder at the same time take turns.
        let _guard = self.root.is_dir().then(|| Guard::take(&self.root)).transpose()?;
        Folder::open(&self.root, self.options.must_exist).map(drop)
    }

    /// Holds the folder, or connects to its holder; waits while another process is opening or closing it.
    fn establish(&self, until: Instant) -> Result<Role> {
        let opened_by = foreign_store();
        let may_hold = opened_by.is_none();
        let ended_by = Instant::now() + END_WAIT_MAX;
        let until = if may_hold { until } else { until.min(Instant::now() + ANOTHER_WAIT_MAX) };
        loop {
            let holder = match may_hold {
                true => match self.take_lock()? {
                    Taken::Ours(lock) => match self.hold(lock) {
                        // The holder before was killed, and the system is still closing its files.
                        Err(error) if error.kind == ErrorKind::Conflict && Instant::now() < ended_by => {
                            std::thread::sleep(LOOK_EVERY);
                            continue;
                        }
                        outcome => return outcome,
                    },
                    Taken::Theirs(holder) => holder,
                },
                false => FolderLock::holder_of(&self.root),
            };
            let shares = holder.as_ref().is_none_or(|holder| holder.unshared.is_none());
            if self.options.exclusive || !shares {
                return Err(refusal(&self.root, holder.as_ref()));
            }
            if let Some(holder) = holder.as_ref().filter(|holder| holder.socket.is_some()) {
                match Client::connect(self.root.clone(), holder.clone(), self.options.program.clone()) {
                    Ok(client) => return Ok(Role::IsServed(Arc::new(client))),
                    Err(NoAnswer::Failed(error)) => return Err(error),
                    Err(NoAnswer::Broken) => {}
                }
            }
            if self.closing.load(Ordering::SeqCst) {
                return Err(Error::closed());
            }
            if Instant::now() >= until {
                return Err(match opened_by {
                    None => self.still_waiting(holder.as_ref()),
                    Some(other) => cannot_hold(&self.root, other),
                });
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    fn take_lock(&self) -> Result<Taken> {
        let _guard = Guard::take(&self.root)?;
        FolderLock::try_take(&self.root, &self.options.program)
    }

    fn hold(&self, lock: FolderLock) -> Result<Role> {
        note_store()?;
        let db = LocalDatabase::open_locked(&self.root, self.options.clone(), lock)?;
        let (server, announced) = match self.options.exclusive {
            true => (None, Err("it was opened as exclusive".to_string())),
            false => match Server::start(&db, &self.root, self.keeper.clone()) {
                Ok(server) => (Some(server), Ok(SOCKET)),
                Err(error) => (None, Err(format!("it could not create a socket in the folder ({error})"))),
            },
        };
        db.announce(announced)?;
        Ok(Role::Holds(Arc::new(HeldFolder { db: Owned::new(db), server: Owned::new(Mutex::new(server)) })))
    }

    fn still_waiting(&self, holder: Option<&Holder>) -> Error {
        Error::new(
            ErrorKind::Unavailable,
            format!(
                "{} is still being opened or closed in {} after the time limit; try again, or check that process",
                self.root.display(),
                named(holder)
            ),
        )
    }

    /// The holder as others see it, this process included. `None` for a database without a lock file.
    pub fn holder(&self) -> Option<Holder> {
        match &*self.role.read() {
            Role::IsServed(client) => Some(client.holder.clone()),
            Role::Holds(_) => FolderLock::holder_of(&self.root),
            Role::Closed => None,
        }
    }

    pub fn close(&self) -> Result<()> {
        // Calls that wait for a holder end and release `changing`.
        self.closing.store(true, Ordering::SeqCst);
        let _changing = self.changing.lock();
        let role = std::mem::replace(&mut *self.role.write(), Role::Closed);
        let closed = close(role);
        self.keeper.forget_all(); // last: a request that is still answered must not miss its snapshot
        closed
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if self.is_ours() {
            // Nobody is left to tell; what was acknowledged is durable either way, and the next open says what is wrong.
            self.close().ok();
        }
    }
}

fn close(role: Role) -> Result<()> {
    match role {
        Role::Holds(held) => held.close(),
        Role::IsServed(_) | Role::Closed => Ok(()),
    }
}

/// Call it before opening a store in this process.
///
/// # Errors
/// `Unavailable` in a fork of a process that had one open: the threads that would flush and compact are not here.
pub(crate) fn note_store() -> Result<()> {
    foreign_store().map_or(Ok(()), |other| Err(cannot_hold(Path::new("a database"), other)))
}

/// The process that had a store open when this one was forked from it.
fn foreign_store() -> Option<u32> {
    nuthatch_store::opened_by().filter(|process| *process != std::process::id())
}

fn cannot_hold(folder: &Path, opened_by: u32) -> Error {
    Error::new(
        ErrorKind::Unavailable,
        format!(
            "no other process holds {}, and this one cannot: it was forked from process {opened_by}, which had a \
            database open, and a fork does not copy its threads; close every database before forking, keep the folder \
            open in a process that stays alive, or start new processes instead of forking (in Python multiprocessing: \
            the start method \"spawn\" or \"forkserver\")",
            folder.display()
        ),
    )
}

fn too_large(error: FrameError) -> NoAnswer {
    NoAnswer::Failed(match error {
        FrameError::TooLarge { bytes } => Error::new(
            ErrorKind::Exhausted,
            format!(
                "the call has {} MiB, and the limit between processes is {} MiB; split it into several calls",
                bytes >> 20,
                frame::FRAME_BYTES_MAX >> 20
            ),
        ),
        other => Error::internal(other.to_string()),
    })
}

/// Says in a request that is sent again how much longer its caller waits now.
fn renew(frame: &mut Vec<u8>, waits: &Waits) -> Result<()> {
    let Some(left) = waits.left() else { return Ok(()) };
    let Ok(ToHolder::Ask { number, mut request }) = frame::decode(frame) else {
        return Err(Error::internal("a sent request cannot be decoded"));
    };
    request.wait = Some(left);
    *frame = frame::encode(&ToHolder::Ask { number, request }).map_err(|error| Error::internal(error.to_string()))?;
    Ok(())
}

/// Answers a call of this very process, which has come to hold the folder while it was waiting.
fn answer_here(
    db: &LocalDatabase,
    request: Option<Request>,
    request_id: Option<(String, u64, Vec<u8>)>,
    meanwhile: &mut Meanwhile<'_>,
) -> Result<Encoded> {
    let request = match (request, &request_id) {
        (Some(request), _) => request,
        (None, Some((.., frame))) => match frame::decode(frame) {
            Ok(ToHolder::Ask { request, .. }) => request,
            _ => return Err(Error::internal("a sent request cannot be decoded")),
        },
        (None, None) => return Err(Error::internal("a request was lost before it was sent")),
    };
    let idempotency = match &request_id {
        Some((session, ..)) => db.last_write_of(session)?,
        None => None,
    };
    let mut answering = Answering {
        db,
        request_id: request_id.as_ref().map(|(session, number, _)| (session.as_str(), *number)),
        idempotency,
        brought: Brought::Here(meanwhile.embedder),
        waits: meanwhile.waits.clone(),
        known: &mut Default::default(),
        tethered: None,
        listener: meanwhile,
    };
    answering.answer(request)
}
