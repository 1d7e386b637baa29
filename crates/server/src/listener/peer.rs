//! The address of a connection, on each of its requests.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::task::{Context, Poll};

use axum::Router;
use axum::http::Request;
use axum::response::Response;
use tower_service::Service;

use crate::audit::Peer;

/// The routes, for requests from one address.
#[derive(Clone)]
pub struct FromPeer {
    routes: Router,
    peer: Peer,
}

impl FromPeer {
    pub fn new(routes: Router, peer: SocketAddr) -> Self {
        Self { routes, peer: Peer(peer) }
    }
}

impl<B> Service<Request<B>> for FromPeer
where
    Router: Service<Request<B>, Response = Response, Error = Infallible>,
{
    type Response = Response;
    type Error = Infallible;
    type Future = <Router as Service<Request<B>>>::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.routes.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        request.extensions_mut().insert(self.peer);
        self.routes.call(request)
    }
}
