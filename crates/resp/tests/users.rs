//! Users with different scopes, in different tenants.

mod support;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use nuthatch_link::{Database, Options};
use nuthatch_resp::{Gate, Grant, Refused, Scopes, Server, Settings, Tenant};
use support::{Client, Said, bulk, ok};

const WRITE: Scopes = Scopes { read: false, write: true, admin: false };
const BOTH: Scopes = Scopes { read: true, write: true, admin: false };

/// The password of a user is their name: a tenant and what they may do there, `amber-read`.
struct Users {
    amber: Arc<Tenant>,
    bolt: Arc<Tenant>,
}

impl Gate for Users {
    fn stranger(&self, _: SocketAddr) -> Option<Grant> {
        None
    }

    fn authenticate(&self, _: SocketAddr, _: &str, password: &[u8]) -> Result<Grant, Refused> {
        let user = String::from_utf8_lossy(password).into_owned();
        let (tenant, scopes) = user.split_once('-').ok_or(Refused::Wrong)?;
        let tenant = if tenant == "amber" { self.amber.clone() } else { self.bolt.clone() };
        let scopes = match scopes {
            "read" => Scopes::READ,
            "write" => WRITE,
            "both" => BOTH,
            _ => Scopes::ALL,
        };
        Ok(Grant { user, tenant, scopes, pass: None })
    }
}

fn served() -> Server {
    let db = Database::in_memory(Options::default()).unwrap();
    let tenant = |name: &str| Tenant::new(db.create_tenant(name).unwrap());
    let gate = Arc::new(Users { amber: tenant("amber"), bolt: tenant("bolt") });
    Server::start(TcpListener::bind("127.0.0.1:0").unwrap(), gate, Settings::default()).unwrap()
}

fn user(server: &Server, name: &str) -> Client {
    let mut client = Client::connect(server);
    assert_eq!(client.ask(&format!("AUTH {name}")), ok());
    client
}

fn is_error(said: &Said, code: &str) -> bool {
    matches!(said, Said::Error(line) if line.starts_with(code))
}

#[test]
fn nobody_runs_what_another_has_queued() {
    let server = served();
    let mut owner = user(&server, "bolt-admin");
    owner.ask("SET precious 1");
    for change in ["AUTH bolt-read", "AUTH default bolt-read", "HELLO 3 AUTH default bolt-read", "HELLO 2"] {
        for write in ["DEL precious", "SET precious 2", "VADD v VALUES 2 1 0 a"] {
            let mut client = user(&server, "amber-write");
            assert_eq!(client.ask("MULTI"), ok());
            assert_eq!(client.ask(write), Said::Simple("QUEUED".into()));
            assert!(is_error(&client.ask(change), "ERR Command not allowed inside a transaction"), "{change}");
            assert!(is_error(&client.ask("EXEC"), "EXECABORT"), "{change}");
            assert_eq!(client.ask("SET mine 1"), ok(), "it is who it was");
        }
    }
    assert_eq!(owner.ask("GET precious"), bulk("1"));
    assert_eq!(owner.ask("EXISTS v mine"), Said::Int(0));
    assert_eq!(
        user(&server, "amber-read").ask("EXISTS precious v"),
        Said::Int(0),
        "nor was it run by who had queued it"
    );
    let mut client = user(&server, "amber-write");
    client.ask("MULTI");
    client.ask("DEL precious");
    assert_eq!(client.ask("RESET"), Said::Simple("RESET".into()));
    client.ask("AUTH bolt-read");
    assert!(is_error(&client.ask("EXEC"), "ERR EXEC without MULTI"));
    assert_eq!(owner.ask("GET precious"), bulk("1"));
}

#[test]
fn what_was_watched_or_scanned_as_one_user_is_nothing_to_the_next() {
    let server = served();
    let (mut amber, mut bolt) = (user(&server, "amber-admin"), user(&server, "bolt-admin"));
    (0..30).for_each(|n| drop(amber.ask(&format!("SET a{n} 1"))));
    amber.ask("SELECT 3");
    amber.ask("WATCH a");
    let Said::Array(page) = user(&server, "amber-read").ask("SCAN 0 COUNT 10") else { panic!() };
    let Said::Bulk(cursor) = &page[0] else { panic!() };
    assert_eq!(amber.ask("AUTH bolt-admin"), ok());
    bolt.ask("SELECT 3");
    bolt.ask("SET a 1");
    amber.ask("MULTI");
    amber.ask("SET b 1");
    assert_eq!(amber.ask("EXEC"), Said::Array(vec![ok()]), "the other tenant's key was watched");
    assert_eq!(bolt.ask("GET b"), bulk("1"), "the number of the database stays");
    assert!(is_error(&bolt.ask(&format!("SCAN {}", String::from_utf8_lossy(cursor))), "ERR"));
    // Writes of a pipeline that wait for each other are those of who has sent them.
    let mut client = user(&server, "amber-write");
    client.send(b"SET p 1\r\nSET q 2\r\nAUTH bolt-both\r\nSET r 3\r\nEXISTS p q r\r\n");
    let said: Vec<Said> = (0..5).map(|_| client.read()).collect();
    assert_eq!(said, [ok(), ok(), ok(), ok(), Said::Int(1)]);
    assert_eq!(user(&server, "amber-read").ask("EXISTS p q r"), Said::Int(2));
}

#[test]
fn who_may_write_and_not_read_is_told_nothing_that_is_stored() {
    let server = served();
    let mut owner = user(&server, "amber-admin");
    owner.ask("SET s secret");
    owner.ask("SET n 41");
    owner.ask("HSET h n 41");
    let telling = [
        "SET s x GET",
        "SET s x NX GET",
        "set s x EX 100 get",
        "SET s secret IFEQ secret",
        "SET s secret IFNE other",
        "GETSET s x",
        "GETDEL s",
        "GETEX s EX 100",
        "GETEX s",
        "INCR n",
        "INCRBY n 0",
        "DECR n",
        "DECRBY n 0",
        "INCRBYFLOAT n 0",
        "HINCRBY h n 0",
        "HINCRBYFLOAT h n 0",
        "RENAME s t",
        "RENAMENX s t",
        "COPY s t",
    ];
    for command in telling {
        for name in ["amber-write", "amber-read"] {
            let mut client = user(&server, name);
            assert!(is_error(&client.ask(command), "NOPERM"), "{command} as {name}");
            client.ask("MULTI");
            assert!(is_error(&client.ask(command), "NOPERM"), "{command} as {name}, queued");
            assert!(is_error(&client.ask("EXEC"), "EXECABORT"));
        }
        assert_eq!((owner.ask("GET s"), owner.ask("PTTL s")), (bulk("secret"), Said::Int(-1)), "{command}");
        assert_eq!((owner.ask("GET n"), owner.ask("HGET h n")), (bulk("41"), bulk("41")), "{command}");
    }
    let mut writer = user(&server, "amber-write");
    for (command, said) in [
        ("SET s GET", ok()),
        ("SET s x EX 100", ok()),
        ("APPEND s y", Said::Int(2)),
        ("SETRANGE s 0 z", Said::Int(2)),
        ("HSET h n 1", Said::Int(0)),
        ("EXPIRE s 100", Said::Int(1)),
        ("VADD v VALUES 2 1 0 a", Said::Int(1)),
        ("VREM v a", Said::Int(1)),
        ("DEL s n", Said::Int(2)),
    ] {
        assert_eq!(writer.ask(command), said, "{command}");
    }
    assert!(!said_by(&mut writer, "INFO keyspace").contains("db0"));
    assert!(said_by(&mut owner, "INFO keyspace").contains("db0:keys=1"));
    let mut both = user(&server, "amber-both");
    assert_eq!((both.ask("SET s 1 GET"), both.ask("INCR s")), (Said::Null, Said::Int(2)));
}

fn said_by(client: &mut Client, command: &str) -> String {
    let Said::Bulk(text) = client.ask(command) else { panic!("{command}") };
    String::from_utf8(text).unwrap()
}

/// The number after `name:` in INFO, or after `name=` in a line of CLIENT LIST.
fn figure(text: &str, name: &str) -> u64 {
    let after = text.split_once(name).unwrap_or_else(|| panic!("{name} in {text}")).1;
    after.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

#[test]
fn what_others_do_shows_in_no_figure_and_no_number() {
    let server = served();
    let mut bolt = user(&server, "bolt-admin");
    let figures = |bolt: &mut Client| {
        let said = said_by(bolt, "INFO");
        ["connected_clients:", "total_connections_received:", "total_commands_processed:"]
            .map(|name| figure(&said, name))
    };
    assert_eq!(figures(&mut bolt), [1, 1, 1]);
    let said = said_by(&mut bolt, "INFO memory cpu");
    for name in ["used_memory:", "used_memory_rss:", "used_memory_peak:", "used_cpu_user:", "used_cpu_sys:"] {
        assert_eq!(figure(&said, name), 0, "what the process takes tells of all tenants");
    }
    for _ in 0..10 {
        let mut amber = user(&server, "amber-admin");
        (0..10).for_each(|_| drop(amber.ask("GET a")));
    }
    assert_eq!(figures(&mut bolt), [1, 1, 3]);
    let mut second = user(&server, "bolt-admin");
    assert_eq!((bolt.ask("CLIENT ID"), second.ask("CLIENT ID")), (Said::Int(1), Said::Int(2)));
    assert_eq!(second.ask("AUTH bolt-read"), ok());
    assert_eq!(second.ask("CLIENT ID"), Said::Int(2), "it is the same connection");
    let Said::Map(hello) = second.ask("HELLO 3") else { panic!() };
    assert!(hello.contains(&(bulk("id"), Said::Int(2))));
    assert_eq!(figure(&said_by(&mut bolt, "CLIENT LIST ID 2"), "id="), 2);
    assert_eq!(bolt.ask("CLIENT KILL ID 2"), Said::Int(1));
    assert!(second.is_closed());
    assert_eq!(bolt.ask("CLIENT KILL ID 2"), Said::Int(0), "nor was it another tenant's");
    assert_eq!(user(&server, "amber-admin").ask("CLIENT ID"), Said::Int(11));
    // A connection that becomes another tenant's has a number there.
    assert_eq!(bolt.ask("AUTH amber-admin"), ok());
    assert_eq!(bolt.ask("CLIENT ID"), Said::Int(12));
}
