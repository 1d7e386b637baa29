//! gRPC's standard health service: whether the server answers requests, for load balancers and supervisors.

use arrow_flight::flight_service_server::FlightServiceServer;
use tonic::server::NamedService;
use tonic_health::ServingStatus;
use tonic_health::pb::health_server::HealthServer;
use tonic_health::server::{HealthReporter, HealthService};

/// The server as a whole, and the Flight service.
const SERVICES: [&str; 2] = ["", <FlightServiceServer<()> as NamedService>::NAME];

/// The status that the health service reports.
#[derive(Clone)]
pub struct Health(HealthReporter);

impl Health {
    /// Nothing is served yet.
    pub async fn starting() -> Self {
        let health = Self(HealthReporter::new());
        health.say(ServingStatus::NotServing).await;
        health
    }

    /// Requests are answered from now on; those who watch are told.
    pub async fn ready(&self) {
        self.say(ServingStatus::Serving).await;
    }

    /// Says so to those who watch, and lets them go: the server does not wait for them.
    pub async fn stopping(&mut self) {
        self.say(ServingStatus::NotServing).await;
        for service in SERVICES {
            self.0.clear_service_status(service).await;
        }
        self.say(ServingStatus::NotServing).await;
    }

    pub(crate) fn server(&self) -> HealthServer<HealthService> {
        HealthServer::new(HealthService::from_health_reporter(self.0.clone()))
    }

    async fn say(&self, status: ServingStatus) {
        for service in SERVICES {
            self.0.set_service_status(service, status).await;
        }
    }
}
