//! The package's client of a server: requests over kept connections, which Ctrl-C and a cancel flag end while they wait.
//!
//! ureq does HTTP, TLS and the pool. This module adds one layer around the socket: whenever a read has waited for a
//! while, it checks the request's deadline, the cancel flag and Python's signals. A request that is given up closes its
//! connection, so that the server ends its work, too.

use std::cell::RefCell;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use ureq::config::Config;
use ureq::http::{Request, Response, Uri};
use ureq::tls::{Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, parse_pem};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::time::Duration as Left;
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, NextTimeout, RustlsConnector, TcpConnector, Transport,
};
use ureq::{Agent, Body, Error};

use crate::adding::{CancelFlag, SIGNALS_EVERY};

/// For the resolution of a name, and as long again for the connection.
const CONNECT_MAX: Duration = Duration::from_secs(10);
const SECOND: Duration = Duration::from_secs(1);
/// A connection that nobody used for so long is closed.
const IDLE_MAX: Duration = Duration::from_secs(60);

create_exception!(
    nuthatch._core,
    HttpFault,
    PyException,
    "A request without an answer: a kind (`tls`, `connect`, `connect_timeout`, `timeout`, `broken`, `cancelled`) and what happened."
);

/// How far a request has come.
#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Connecting,
    Greeting,
    Connected,
    Sent,
}

/// Why a request was given up.
enum Ended {
    Cancelled,
    Raised(PyErr),
}

/// The request of a thread.
struct Asking {
    phase: Phase,
    deadline: Option<Instant>,
    cancel: Option<Arc<AtomicBool>>,
    ended: Option<Ended>,
}

thread_local! {
    static ASKING: RefCell<Asking> =
        const { RefCell::new(Asking { phase: Phase::Connected, deadline: None, cancel: None, ended: None }) };
}

fn enter(phase: Phase) {
    ASKING.with_borrow_mut(|asking| asking.phase = phase);
}

/// `given`, or less where the request's own time, or `until`, is up earlier.
fn limited(given: NextTimeout, until: Option<Instant>) -> Result<NextTimeout, Error> {
    let deadline = ASKING.with_borrow(|asking| asking.deadline);
    let Some(first) = deadline.into_iter().chain(until).min() else { return Ok(given) };
    match first.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(Error::Timeout(given.reason)),
        left => Ok(NextTimeout { after: given.after.min(left.into()), ..given }),
    }
}

/// Gives a request up whose caller has.
fn look() -> Result<(), Error> {
    let is_cancelled = |asking: &Asking| asking.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::SeqCst));
    let ended = match ASKING.with_borrow(is_cancelled) {
        true => Some(Ended::Cancelled),
        // While the interpreter ends, there are no signals to hear of.
        false => Python::try_attach(|py| py.check_signals().err()).flatten().map(Ended::Raised),
    };
    match ended {
        None => Ok(()),
        ended => {
            ASKING.with_borrow_mut(|asking| asking.ended = ended);
            Err(Error::Io(ErrorKind::ConnectionAborted.into()))
        }
    }
}

/// A socket whose waiting ends with the request's time, or when its caller gives it up.
#[derive(Debug)]
struct Watched<T> {
    socket: T,
    /// Whether something was read since the pool last asked.
    has_read: bool,
    /// The head of a request, held back so that it travels with what follows: the server wakes once.
    head: Vec<u8>,
}

impl<T: Transport> Watched<T> {
    /// Sends what the output buffer begins with, after the head that was held back.
    fn send(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        let timeout = limited(timeout, None)?;
        // Whole seconds, so that ureq need not tell the system another time at each request.
        let timeout = match timeout.after {
            Left::Exact(time) if time > SECOND => NextTimeout { after: Left::from_secs(time.as_secs() + 1), ..timeout },
            _ => timeout,
        };
        let held = std::mem::take(&mut self.head);
        let output = self.socket.buffers().output();
        if held.is_empty() {
            return self.socket.transmit_output(amount, timeout);
        }
        if held.len() + amount <= output.len() {
            output.copy_within(..amount, held.len());
            output[..held.len()].copy_from_slice(&held);
            return self.socket.transmit_output(held.len() + amount, timeout);
        }
        let rest = output[..amount].to_vec();
        for part in [held, rest] {
            self.socket.buffers().output()[..part.len()].copy_from_slice(&part);
            self.socket.transmit_output(part.len(), timeout)?;
        }
        Ok(())
    }
}

impl<T: Transport> Transport for Watched<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.socket.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        if ASKING.with_borrow(|asking| asking.phase) == Phase::Connected {
            enter(Phase::Sent);
            self.head = self.socket.buffers().output()[..amount].to_vec();
            return Ok(());
        }
        self.send(amount, timeout)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let until = match timeout.after {
            Left::Exact(after) => Some(Instant::now() + after),
            Left::NotHappening => None,
        };
        self.has_read = true;
        if !self.head.is_empty() {
            self.send(0, timeout)?;
        }
        loop {
            let left = limited(timeout, until)?;
            let slice = NextTimeout { after: left.after.min(SIGNALS_EVERY.into()), ..left };
            match self.socket.await_input(slice) {
                Err(Error::Timeout(_)) => look()?,
                done => return done,
            }
        }
    }

    fn is_open(&mut self) -> bool {
        // The pool asks when a connection returns to it and when it leaves; the second time is the one that counts.
        std::mem::take(&mut self.has_read) || self.socket.is_open()
    }
}

/// Leaves names to the connector: ureq resolves before it looks for a kept connection, in a thread that it starts for that.
#[derive(Debug)]
struct ResolvedLater;

impl Resolver for ResolvedLater {
    fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        Ok(self.empty())
    }
}

/// Opens sockets that are watched, with TLS for `https`.
#[derive(Debug, Default)]
struct WatchingConnector {
    tcp: TcpConnector,
    tls: RustlsConnector,
}

type Tcp = <TcpConnector as Connector>::Out;
type Secured = <RustlsConnector as Connector<Watched<Tcp>>>::Out;

impl Connector for WatchingConnector {
    type Out = Secured;

    fn connect(&self, details: &ConnectionDetails<'_>, _: Option<()>) -> Result<Option<Secured>, Error> {
        enter(Phase::Connecting);
        let timeout = limited(details.timeout, None)?;
        let details = ConnectionDetails {
            uri: details.uri,
            addrs: DefaultResolver::default().resolve(details.uri, details.config, timeout)?,
            config: details.config,
            request_level: details.request_level,
            resolver: details.resolver,
            now: details.now,
            timeout: limited(details.timeout, None)?,
            current_time: details.current_time.clone(),
            run_connector: details.run_connector.clone(),
            register_shutdown: details.register_shutdown.clone(),
        };
        let Some(socket) = self.tcp.connect(&details, None)? else { return Ok(None) };
        enter(Phase::Greeting);
        let secured = self.tls.connect(&details, Some(Watched { socket, has_read: false, head: Vec::new() }))?;
        enter(Phase::Connected);
        Ok(secured)
    }
}

/// Connections to servers. They are shared by threads, and not by a process and its fork.
#[pyclass(frozen, module = "nuthatch._core")]
pub struct HttpClient {
    /// None once it is closed.
    agent: Mutex<Option<Agent>>,
}

/// Status, media type, `Retry-After`, body.
type AnswerParts<B> = (u16, Option<String>, Option<String>, B);

#[pymethods]
impl HttpClient {
    /// `connections` are kept at most. With `tls`, servers show certificates of the authorities in the file `ca`, or of those that this
    /// system trusts; `client_cert` names the files of the client's own certificate and key, which may be one.
    #[new]
    fn new(
        connections: usize,
        tls: bool,
        ca: Option<PathBuf>,
        client_cert: Option<(PathBuf, Option<PathBuf>)>,
    ) -> PyResult<Self> {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .proxy(None)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .max_idle_connections(connections)
            .max_idle_connections_per_host(connections)
            .max_idle_age(IDLE_MAX)
            .timeout_connect(Some(CONNECT_MAX))
            .user_agent("nuthatch-python");
        let config = match tls {
            true => config.tls_config(tls_config(ca.as_deref(), client_cert)?),
            false => config,
        };
        let agent = Agent::with_parts(config.build(), WatchingConnector::default(), ResolvedLater);
        Ok(Self { agent: Mutex::new(Some(agent)) })
    }

    /// One request, whose answer may have any status.
    ///
    /// Raises `HttpFault` when there is no answer, and what a signal's handler raises.
    #[expect(clippy::too_many_arguments, reason = "the parts of a request")]
    fn ask<'py>(
        &self,
        py: Python<'py>,
        method: &str,
        url: &str,
        headers: Vec<(String, String)>,
        body: Option<PyBackedBytes>,
        timeout_seconds: Option<f64>,
        cancel: Option<Bound<'py, CancelFlag>>,
    ) -> PyResult<AnswerParts<Bound<'py, PyBytes>>> {
        let Some(agent) = self.agent() else {
            return Err(HttpFault::new_err(("connect", "the connections are closed")));
        };
        let mut request = Request::builder().method(method).uri(url);
        for (name, value) in &headers {
            request = request.header(name, value);
        }
        let time = timeout_seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let asking = Asking {
            phase: Phase::Connected,
            deadline: time.and_then(|time| Instant::now().checked_add(time)),
            cancel: cancel.map(|cancel| cancel.get().shared()),
            ended: None,
        };
        // A signal's handler may ask, too, while this request waits.
        let outer = ASKING.replace(asking);
        let done = py.detach(|| {
            let answer = match &body {
                Some(body) => agent.run(request.body(&body[..])?)?,
                None => agent.run(request.body(())?)?,
            };
            whole(answer)
        });
        let asked = ASKING.replace(outer);
        match done {
            Ok((status, media_type, retry_after, body)) => {
                Ok((status, media_type, retry_after, PyBytes::new(py, &body)))
            }
            Err(error) => Err(fault(asked, &error)),
        }
    }

    /// Requests that wait are still answered; the connections end with the last of them.
    fn close(&self) {
        self.agent.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl HttpClient {
    fn agent(&self) -> Option<Agent> {
        self.agent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn whole(mut answer: Response<Body>) -> Result<AnswerParts<Vec<u8>>, Error> {
    let header = |name: &str| Some(String::from_utf8_lossy(answer.headers().get(name)?.as_bytes()).into_owned());
    let (media_type, retry_after) = (header("content-type"), header("retry-after"));
    let body = answer.body_mut().with_config().limit(u64::MAX).read_to_vec()?;
    Ok((answer.status().as_u16(), media_type, retry_after, body))
}

fn fault(asked: Asking, error: &Error) -> PyErr {
    let kind = match (asked.ended, asked.phase, error) {
        (Some(Ended::Raised(raised)), _, _) => return raised,
        (Some(Ended::Cancelled), _, _) => "cancelled",
        (None, Phase::Sent, Error::Timeout(_)) => "timeout",
        (None, Phase::Sent, _) => "broken",
        (None, _, Error::Timeout(_)) => "connect_timeout",
        (None, Phase::Greeting, _) => "tls",
        (None, Phase::Connecting | Phase::Connected, _) => "connect",
    };
    let what = match error {
        Error::Io(error) => error.to_string(),
        Error::HostNotFound => "the name of its host leads nowhere".to_owned(),
        error => error.to_string(),
    };
    HttpFault::new_err((kind, what))
}

fn tls_config(ca: Option<&Path>, client_cert: Option<(PathBuf, Option<PathBuf>)>) -> PyResult<TlsConfig> {
    let roots = match ca {
        Some(ca) => certificates(ca)?,
        None => trusted_by_the_system(),
    };
    let own = match client_cert {
        None => None,
        Some((chain, key)) => {
            let (chain, key) = (certificates(&chain)?, key.unwrap_or(chain));
            let key = PrivateKey::from_pem(&read(&key)?).map_err(|error| unreadable(&key, &error))?;
            Some(ClientCert::new_with_certs(&chain, key))
        }
    };
    // Without any of the system's, ureq's own list.
    let roots = if roots.is_empty() { RootCerts::WebPki } else { RootCerts::new_with_certs(&roots) };
    Ok(TlsConfig::builder().root_certs(roots).client_cert(own).build())
}

fn trusted_by_the_system() -> Vec<Certificate<'static>> {
    let found = rustls_native_certs::load_native_certs();
    found.certs.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect()
}

/// Those of a PEM file, one at least.
fn certificates(path: &Path) -> PyResult<Vec<Certificate<'static>>> {
    let mut found = Vec::new();
    for item in parse_pem(&read(path)?) {
        if let PemItem::Certificate(certificate) = item.map_err(|error| unreadable(path, &error))? {
            found.push(certificate);
        }
    }
    match found.is_empty() {
        true => Err(PyValueError::new_err(format!("{} holds no certificate in PEM", path.display()))),
        false => Ok(found),
    }
}

#[expect(clippy::disallowed_methods, reason = "a file that another program made, and whose form is checked")]
fn read(path: &Path) -> PyResult<Vec<u8>> {
    fs::read(path).map_err(|error: io::Error| PyOSError::new_err(format!("{}: {error}", path.display())))
}

fn unreadable(path: &Path, error: &Error) -> PyErr {
    PyValueError::new_err(format!("{}: {error}", path.display()))
}
