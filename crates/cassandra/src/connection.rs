//! A session with the database, for code that waits for its answers.

use std::sync::Arc;
use std::time::Duration;

use nuthatch_cluster::{ClusterError, Result};
use scylla::client::execution_profile::ExecutionProfile;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::policies::speculative_execution::SimpleSpeculativeExecutionPolicy;
use scylla::statement::{Consistency, SerialConsistency, Statement};
use scylla::value::Row;
use tokio::runtime::{Builder, Runtime};

use crate::address::{Address, Settings};
use crate::tunnel::Tunnels;

/// A request that takes longer is given up: what came of it is unknown.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// All nodes have to agree on a new schema.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(60);
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A coordinator that has not answered by then is helped by another one. All statements may be repeated.
const HELPED_AFTER: Duration = Duration::from_millis(150);
const HELPERS_MAX: usize = 2;
/// A connection that says nothing is asked, and given up.
const KEPT_ALIVE: Duration = Duration::from_secs(5);

/// Connections to the nodes. Its calls block; none may be made on a thread of an asynchronous runtime.
pub(crate) struct Connection {
    pub session: Session,
    pub runtime: Arc<Runtime>,
    /// How it is named to people.
    pub address: String,
}

impl Connection {
    /// # Errors
    /// `Unreachable`; `Io` and `Invalid` for certificates.
    pub fn open(address: &Address, settings: &Settings) -> Result<Self> {
        let runtime =
            Builder::new_multi_thread().worker_threads(2).thread_name("nuthatch-cassandra").enable_all().build();
        let runtime = runtime.map_err(|error| ClusterError::Invalid(format!("starting threads: {error}")))?;
        let profile = ExecutionProfile::builder()
            .consistency(Consistency::Quorum)
            // The driver's default is one data centre's agreement, of which another one knows nothing.
            .serial_consistency(Some(SerialConsistency::Serial))
            .request_timeout(Some(REQUEST_TIMEOUT))
            .speculative_execution_policy(Some(Arc::new(SimpleSpeculativeExecutionPolicy {
                max_retry_count: HELPERS_MAX,
                retry_interval: HELPED_AFTER,
            })))
            .build();
        let mut builder = SessionBuilder::new()
            .default_execution_profile_handle(profile.into_handle())
            .connection_timeout(CONNECT_TIMEOUT)
            .keepalive_interval(KEPT_ALIVE)
            .keepalive_timeout(KEPT_ALIVE)
            .tcp_nodelay(true)
            .fetch_schema_metadata(true)
            .keyspaces_to_fetch([&address.keyspace]);
        let named = address.to_string();
        let tunnels = Tunnels::of(settings, runtime.handle().clone())?;
        for (host, port) in &address.hosts {
            builder = match &tunnels {
                None if host.contains(':') => builder.known_node(format!("[{host}]:{port}")),
                None => builder.known_node(format!("{host}:{port}")),
                Some(tunnels) => match runtime.block_on(tunnels.to_host(host, *port)) {
                    Ok(ways) => builder.known_nodes_addr(ways),
                    Err(error) if address.hosts.len() == 1 => return Err(unreachable(&named, host, &error)),
                    Err(_) => builder, // the other hosts may be known
                },
            };
        }
        if let Some(tunnels) = tunnels {
            builder = builder.address_translator(Arc::new(tunnels));
        }
        if let Some(credentials) = &settings.credentials {
            builder = builder.user(&credentials.user, &credentials.password);
        }
        let session = runtime.block_on(builder.build());
        let session = session.map_err(|error| unreachable(&named, "a connection", &error))?;
        Ok(Self { session, runtime: Arc::new(runtime), address: named })
    }

    pub fn unreachable(&self, object: &str, error: &dyn std::error::Error) -> ClusterError {
        unreachable(&self.address, object, error)
    }

    /// Asks once, unprepared, for what may be repeated.
    ///
    /// # Errors
    /// `Unreachable`.
    pub fn ask(&self, object: &str, statement: impl Into<Statement>) -> Result<Vec<Row>> {
        let mut statement: Statement = statement.into();
        statement.set_is_idempotent(true);
        self.run(object, statement)
    }

    /// Changes the schema, through one node: two that make the same table at the same time may make two.
    ///
    /// # Errors
    /// `Unreachable`.
    pub fn change(&self, object: &str, statement: String) -> Result<()> {
        let mut statement = Statement::new(statement);
        statement.set_is_idempotent(false);
        statement.set_request_timeout(Some(CHANGE_TIMEOUT));
        self.run(object, statement).map(drop)
    }

    fn run(&self, object: &str, statement: Statement) -> Result<Vec<Row>> {
        let answered = self.runtime.block_on(self.session.query_unpaged(statement, ()));
        rows(answered.map_err(|error| self.unreachable(object, &error))?, |error| self.unreachable(object, error))
    }
}

/// The rows of an answer that has some.
pub(crate) fn rows(
    answer: scylla::response::query_result::QueryResult,
    failed: impl Fn(&dyn std::error::Error) -> ClusterError,
) -> Result<Vec<Row>> {
    if !answer.is_rows() {
        return Ok(Vec::new());
    }
    let answer = answer.into_rows_result().map_err(|error| failed(&error))?;
    let rows = answer.rows::<Row>().map_err(|error| failed(&error))?;
    rows.collect::<std::result::Result<_, _>>().map_err(|error| failed(&error))
}

fn unreachable(address: &str, object: &str, error: &dyn std::error::Error) -> ClusterError {
    // The whole chain: the outermost error says only that there was one.
    let mut what = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let said = cause.to_string();
        if !what.contains(&said) {
            what = format!("{what}: {said}");
        }
        source = cause.source();
    }
    ClusterError::Unreachable { place: address.into(), object: object.into(), what }
}
