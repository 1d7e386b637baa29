//! What the server is and how it is set: INFO, CONFIG, TIME.

use nuthatch_engine::Durability;

use crate::commands::{REDIS_VERSION, Scope};
use crate::failure::{Failure, Outcome};
use crate::pattern;
use crate::protocol::Reply;
use crate::session::Session;
use crate::tenant::keyspace_name;
use crate::words::Words;

/// INFO [section …]: of the server what everybody may know, and of counts the tenant's own.
pub(crate) fn info(session: &mut Session, arguments: &[Vec<u8>]) -> Outcome<Reply> {
    let wanted: Vec<String> = arguments.iter().map(|word| String::from_utf8_lossy(word).to_lowercase()).collect();
    let everything =
        wanted.is_empty() || wanted.iter().any(|name| matches!(name.as_str(), "all" | "default" | "everything"));
    let mut text = String::new();
    for (name, lines) in sections(session)? {
        if everything || wanted.contains(&name.to_lowercase()) {
            if !text.is_empty() {
                text.push_str("\r\n");
            }
            text.push_str(&format!("# {name}\r\n"));
            lines.iter().for_each(|line| text.push_str(&format!("{line}\r\n")));
        }
    }
    Ok(Reply::Text(text))
}

/// TIME: seconds, and microseconds of the second.
pub(crate) fn time(session: &mut Session, _: &[Vec<u8>]) -> Outcome<Reply> {
    let now = session.now_ms();
    Ok(Reply::bulks([(now / 1000).to_string(), (now % 1000 * 1000).to_string()]))
}

/// CONFIG GET pattern …
pub(crate) fn config(session: &mut Session, arguments: &[Vec<u8>]) -> Outcome<Reply> {
    let mut words = Words::new(arguments);
    match (words.option()?.as_str(), words.rest()) {
        ("GET", wanted @ [_, ..]) => {
            let fits =
                |name: &str| wanted.iter().any(|wanted| pattern::fits(&wanted.to_ascii_lowercase(), name.as_bytes()));
            let found = settings(session).into_iter().filter(|(name, _)| fits(name));
            Ok(Reply::Map(found.map(|(name, value)| (Reply::bulk(name), Reply::bulk(value))).collect()))
        }
        ("GET", []) => Err(Failure::arity("config|get")),
        (other, _) => {
            Err(Failure::error(format!("CONFIG {other} is not for clients; the server's own settings say how it runs")))
        }
    }
}

fn settings(session: &Session) -> Vec<(&'static str, String)> {
    let settings = &session.shared.settings;
    let fsync = match settings.durability {
        Durability::Commit => "always",
        Durability::Interval => "everysec",
        Durability::Os => "no",
    };
    vec![
        ("appendfsync", fsync.into()),
        ("appendonly", "yes".into()),
        ("bind", session.shared.address.ip().to_string()),
        ("databases", settings.databases.to_string()),
        ("maxclients", settings.connections_max.to_string()),
        ("maxmemory", "0".into()),
        ("maxmemory-policy", "noeviction".into()),
        ("port", session.shared.address.port().to_string()),
        ("proto-max-bulk-len", settings.limits.argument_bytes_max.to_string()),
        ("save", String::new()),
        ("timeout", settings.idle_after.map_or(0, |after| after.as_secs()).to_string()),
    ]
}

type Section = (&'static str, Vec<String>);

fn sections(session: &mut Session) -> Outcome<Vec<Section>> {
    let shared = session.shared.clone();
    let uptime = shared.started.elapsed().as_secs();
    let tenant = session.tenant()?;
    let there = tenant.database.keyspace_names()?;
    // How many keys there are is for those who may read, as with DBSIZE.
    let may_read = session.grant.as_ref().is_some_and(|grant| Scope::Read.allows(grant.scopes));
    let mut keys = Vec::new();
    for number in (0..shared.settings.databases).filter(|number| may_read && there.contains(&keyspace_name(*number))) {
        let count = tenant.space(number)?.keyspace.count_estimate("")?;
        if count > 0 {
            keys.push(format!("db{number}:keys={count}"));
        }
    }
    Ok(vec![
        (
            "Server",
            vec![
                format!("redis_version:{REDIS_VERSION}"),
                "server_name:nuthatch".into(),
                format!("nuthatch_version:{}", env!("CARGO_PKG_VERSION")),
                "redis_mode:standalone".into(),
                format!("os:{}", std::env::consts::OS),
                format!("arch_bits:{}", usize::BITS),
                format!("process_id:{}", std::process::id()),
                format!("tcp_port:{}", shared.address.port()),
                format!("uptime_in_seconds:{uptime}"),
                format!("uptime_in_days:{}", uptime / 86_400),
            ],
        ),
        (
            "Clients",
            vec![
                format!("connected_clients:{}", shared.clients.of_tenant(&session.client).len()),
                format!("maxclients:{}", shared.settings.connections_max),
            ],
        ),
        ("Persistence", vec!["loading:0".into(), "aof_enabled:1".into()]),
        (
            "Stats",
            vec![
                format!("total_connections_received:{}", tenant.connections()),
                format!("total_commands_processed:{}", tenant.commands()),
            ],
        ),
        ("Replication", vec!["role:master".into(), "connected_slaves:0".into()]),
        ("Modules", vec!["module:name=vectorset,ver=1,api=1,filters=0,usedby=[],using=[],options=[]".into()]),
        ("Cluster", vec!["cluster_enabled:0".into()]),
        ("Keyspace", keys),
    ])
}
