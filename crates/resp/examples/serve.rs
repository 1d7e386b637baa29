//! Serves a data folder over the Redis protocol, for suites and measurements that come from outside:
//! `serve FOLDER|:memory: [commit|interval|os] [PASSWORD]`. Prints the address, and ends when its input does.

use std::io::Read;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use nuthatch_link::{Database, Durability, Options};
use nuthatch_resp::{Gate, Grant, Open, Refused, Scopes, Server, Settings, Tenant};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("serve FOLDER|:memory: [commit|interval|os] [PASSWORD]")?;
    let durability = arguments.next().map_or(Ok(Durability::Commit), |name| name.parse())?;
    let password = arguments.next();
    let db = match folder.as_str() {
        ":memory:" => Database::in_memory(Options::default())?,
        folder => Database::open(folder, Options::default())?,
    };
    let tenant = Tenant::new(db.clone());
    let gate: Arc<dyn Gate> = match password {
        None => Arc::new(Open(tenant)),
        Some(password) => Arc::new(Password { tenant, password }),
    };
    // Suites skip what is newer than the release that they are told; of the newer commands there are some.
    let settings = Settings { durability, connections_max: 10_000, redis_version: "8.4.0", ..Settings::default() };
    let server = Server::start(TcpListener::bind("127.0.0.1:0")?, gate, settings)?;
    println!("{}", server.address());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    server.stop(Duration::from_secs(5));
    db.close()?;
    Ok(())
}

/// One password for everybody.
struct Password {
    tenant: Arc<Tenant>,
    password: String,
}

impl Gate for Password {
    fn stranger(&self, _: SocketAddr) -> Option<Grant> {
        None
    }

    fn authenticate(&self, _: SocketAddr, user: &str, password: &[u8]) -> Result<Grant, Refused> {
        match user == "default" && password == self.password.as_bytes() {
            true => Ok(Grant { user: user.into(), tenant: self.tenant.clone(), scopes: Scopes::ALL, pass: None }),
            false => Err(Refused::Wrong),
        }
    }
}
