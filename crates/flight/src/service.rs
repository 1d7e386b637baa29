//! The Flight service: each call is handed to what answers it.

use std::marker::PhantomData;
use std::pin::Pin;

use arrow_flight::flight_service_server::{FlightService, FlightServiceServer};
use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightData, FlightDescriptor, FlightInfo, HandshakeRequest, HandshakeResponse,
    PollInfo, PutResult, Result as ActionResult, SchemaResult, Ticket,
};
use axum::Router;
use axum::middleware::map_response;
use tokio_stream::Stream;
use tonic::service::Routes;
use tonic::{Request, Response, Status, Streaming};

use crate::caller::{Caller, Scope, allowed, identified};
use crate::health::Health;
use crate::outgoing::Answer;
use crate::{action, exchange, get, info, outgoing, put, reflection, ticket};

/// Arrow Flight, for callers that the server has admitted.
struct Service<C> {
    caller: PhantomData<fn() -> C>,
}

/// Flight, for the callers that are in its requests' extensions; no message of theirs is larger than that.
pub fn routes<C: Caller>(message_bytes_max: usize) -> Router {
    let server = FlightServiceServer::new(Service::<C>::default()).max_decoding_message_size(message_bytes_max);
    Routes::from(Router::new()).add_service(server).into_axum_router().layer(map_response(outgoing::send))
}

/// Health and reflection, for everybody.
pub fn open_routes(health: &Health) -> Router {
    let described = "the descriptions are checked by a test";
    Routes::from(Router::new())
        .add_service(health.server())
        .add_service(reflection::builder().build_v1().expect(described))
        .add_service(reflection::builder().build_v1alpha().expect(described))
        .into_axum_router()
}

type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

impl<C> Default for Service<C> {
    fn default() -> Self {
        Self { caller: PhantomData }
    }
}

#[tonic::async_trait]
impl<C: Caller> FlightService for Service<C> {
    type HandshakeStream = Answers<HandshakeResponse>;
    type ListFlightsStream = Answers<FlightInfo>;
    type DoGetStream = Answers<FlightData>;
    type DoPutStream = Answers<PutResult>;
    type DoExchangeStream = Answers<FlightData>;
    type DoActionStream = Answers<ActionResult>;
    type ListActionsStream = Answers<ActionType>;

    async fn handshake(
        &self,
        _: Request<Streaming<HandshakeRequest>>,
    ) -> Result<Response<Self::HandshakeStream>, Status> {
        Err(Status::unimplemented("the server needs no handshake; send `authorization: Bearer KEY` with each call"))
    }

    async fn list_flights(&self, request: Request<Criteria>) -> Result<Response<Self::ListFlightsStream>, Status> {
        let caller: C = allowed(&request, Scope::Read)?;
        let infos = info::list(caller, &request.into_inner().expression).await?;
        Ok(all(infos))
    }

    async fn get_flight_info(&self, request: Request<FlightDescriptor>) -> Result<Response<FlightInfo>, Status> {
        let caller: C = allowed(&request, Scope::Read)?;
        info::info(caller, request.into_inner()).await.map(Response::new)
    }

    async fn poll_flight_info(&self, _: Request<FlightDescriptor>) -> Result<Response<PollInfo>, Status> {
        Err(Status::unimplemented("polling is not supported; use GetFlightInfo"))
    }

    async fn get_schema(&self, request: Request<FlightDescriptor>) -> Result<Response<SchemaResult>, Status> {
        let caller: C = allowed(&request, Scope::Read)?;
        info::schema(caller, request.into_inner()).await.map(Response::new)
    }

    async fn do_get(&self, request: Request<Ticket>) -> Result<Response<Self::DoGetStream>, Status> {
        let caller: C = allowed(&request, Scope::Read)?;
        let ticket = ticket::parse(&request.into_inner().ticket, "a ticket")?;
        get::get(caller, ticket).await.map(beside)
    }

    async fn do_put(&self, request: Request<Streaming<FlightData>>) -> Result<Response<Self::DoPutStream>, Status> {
        let caller: C = allowed(&request, Scope::Write)?;
        Ok(Response::new(Box::pin(put::put(caller, request.into_inner()).await?)))
    }

    async fn do_exchange(
        &self,
        request: Request<Streaming<FlightData>>,
    ) -> Result<Response<Self::DoExchangeStream>, Status> {
        let caller: C = allowed(&request, Scope::Read)?;
        exchange::exchange(caller, request.into_inner()).await.map(beside)
    }

    async fn do_action(&self, request: Request<Action>) -> Result<Response<Self::DoActionStream>, Status> {
        // Which scope it takes is said by the action.
        let caller: C = identified(&request)?;
        let done = action::act(caller, request.into_inner()).await?;
        Ok(all(vec![ActionResult { body: done.to_string().into() }]))
    }

    async fn list_actions(&self, request: Request<Empty>) -> Result<Response<Self::ListActionsStream>, Status> {
        identified::<C, _>(&request)?;
        Ok(all(action::list()))
    }
}

fn all<T: Send + 'static>(items: Vec<T>) -> Response<Answers<T>> {
    Response::new(Box::pin(tokio_stream::iter(items.into_iter().map(Ok))))
}

/// A response whose messages bypass the library, which would copy them.
fn beside(answer: Answer) -> Response<Answers<FlightData>> {
    let mut response = all(Vec::new());
    response.extensions_mut().insert(answer);
    response
}

#[cfg(test)]
mod tests {
    use tokio_stream::StreamExt;
    use tonic_health::pb::HealthCheckRequest;
    use tonic_health::pb::health_client::HealthClient;
    use tonic_reflection::pb::v1::ServerReflectionRequest;
    use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
    use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
    use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

    use super::*;

    const NOT_SERVING: i32 = 2;
    const SERVING: i32 = 1;

    #[tokio::test]
    async fn health_says_whether_requests_are_answered() {
        let mut health = Health::starting().await;
        let mut client = HealthClient::new(open_routes(&health));
        let of = |service: &str| HealthCheckRequest { service: service.into() };
        let flight = "arrow.flight.protocol.FlightService";
        for service in ["", flight] {
            assert_eq!(client.check(of(service)).await.unwrap().into_inner().status, NOT_SERVING);
        }
        health.ready().await;
        for service in ["", flight] {
            assert_eq!(client.check(of(service)).await.unwrap().into_inner().status, SERVING);
        }
        assert_eq!(client.check(of("other")).await.unwrap_err().code(), tonic::Code::NotFound);
        let mut watched = client.watch(of("")).await.unwrap().into_inner();
        assert_eq!(watched.next().await.unwrap().unwrap().status, SERVING);
        health.stopping().await;
        assert_eq!(watched.next().await.unwrap().unwrap().status, NOT_SERVING);
        assert!(watched.next().await.is_none(), "the watcher is released");
        assert_eq!(client.check(of("")).await.unwrap().into_inner().status, NOT_SERVING);
    }

    #[tokio::test]
    async fn reflection_lists_every_service_and_describes_flight() {
        let health = Health::starting().await;
        let mut client = ServerReflectionClient::new(open_routes(&health));
        let ask = |message_request| ServerReflectionRequest {
            message_request: Some(message_request),
            ..ServerReflectionRequest::default()
        };
        let questions = [
            ask(MessageRequest::ListServices(String::new())),
            ask(MessageRequest::FileContainingSymbol("arrow.flight.protocol.FlightService".into())),
        ];
        let mut answers = client.server_reflection_info(tokio_stream::iter(questions)).await.unwrap().into_inner();
        let first = answers.next().await.unwrap().unwrap().message_response;
        let Some(MessageResponse::ListServicesResponse(listed)) = first else { panic!("{first:?}") };
        let names: Vec<&str> = listed.service.iter().map(|service| service.name.as_str()).collect();
        for name in ["arrow.flight.protocol.FlightService", "grpc.health.v1.Health"] {
            assert!(names.contains(&name), "{names:?}");
        }
        let second = answers.next().await.unwrap().unwrap().message_response;
        let Some(MessageResponse::FileDescriptorResponse(files)) = second else { panic!("{second:?}") };
        assert!(files.file_descriptor_proto.iter().any(|file| file.windows(10).any(|some| some == b"DoExchange")));
    }
}
