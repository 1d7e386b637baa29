//! A node's report on its cluster.

use serde::Serialize;
use utoipa::ToSchema;

/// The report of the owner of a cluster's data on the cluster.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ClusterState {
    /// The address of the owner, which answers this.
    pub owner: String,
    /// The number of its ownership.
    pub epoch: u64,
    /// The newest entry of the log.
    pub slot: u64,
    /// Batches that are committed.
    pub batches: u64,
    /// Addresses of the nodes that follow and hold a connection to the owner.
    pub standbys: Vec<String>,
    /// Milliseconds from learning that nobody owned the data to answering.
    pub took_over_ms: u64,
}
