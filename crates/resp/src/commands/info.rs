//! INFO: a description of the server and its statistics.
//!
//! **Invariant:** of counts everybody is told the tenant's own; how many keys there are, who may read; what the whole process takes,
//! who administers the default tenant. Others read 0 there, for clients look for the lines.

use nuthatch_heap::ProcessUsage;

use crate::commands::Scope;
use crate::failure::Outcome;
use crate::protocol::Reply;
use crate::session::Session;
use crate::tenant::keyspace_name;

type Section = (&'static str, Vec<String>);

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

fn sections(session: &mut Session) -> Outcome<Vec<Section>> {
    Ok(vec![
        ("Server", server(session)),
        ("Clients", clients(session)),
        ("Memory", memory(session)?),
        ("Persistence", persistence()),
        ("Stats", stats(session)?),
        ("Replication", vec!["role:master".into(), "connected_slaves:0".into()]),
        ("CPU", cpu(session)?),
        ("Modules", vec!["module:name=vectorset,ver=1,api=1,filters=0,usedby=[],using=[],options=[]".into()]),
        ("Cluster", vec!["cluster_enabled:0".into()]),
        ("Keyspace", keyspace(session)?),
    ])
}

fn server(session: &Session) -> Vec<String> {
    let shared = &session.shared;
    let uptime = shared.started.elapsed().as_secs();
    vec![
        format!("redis_version:{}", shared.settings.redis_version),
        "server_name:nuthatch".into(),
        format!("nuthatch_version:{}", env!("CARGO_PKG_VERSION")),
        "redis_mode:standalone".into(),
        format!("os:{}", std::env::consts::OS),
        format!("arch_bits:{}", usize::BITS),
        format!("process_id:{}", std::process::id()),
        format!("tcp_port:{}", shared.address.port()),
        format!("uptime_in_seconds:{uptime}"),
        format!("uptime_in_days:{}", uptime / 86_400),
    ]
}

fn clients(session: &Session) -> Vec<String> {
    let shared = &session.shared;
    vec![
        format!("connected_clients:{}", shared.clients.of_tenant(&session.client).len()),
        format!("maxclients:{}", shared.settings.connections_max),
        // No command waits for what another client does.
        "blocked_clients:0".into(),
    ]
}

/// In use is what the allocator has handed out; where that is not known, what is resident.
fn memory(session: &Session) -> Outcome<Vec<String>> {
    let process = process(session)?;
    let used = process.and_then(|_| nuthatch_heap::usage()).map(|heap| heap.in_use_bytes);
    let process = process.unwrap_or_default();
    let used = used.unwrap_or(process.resident_bytes);
    let (resident, most) = (process.resident_bytes, process.resident_bytes_max.max(process.resident_bytes));
    let ratio = if used > 0 { resident as f64 / used as f64 } else { 0.0 };
    let lines = [("used_memory", used), ("used_memory_rss", resident), ("used_memory_peak", most)];
    let lines = lines.map(|(name, bytes)| [format!("{name}:{bytes}"), format!("{name}_human:{}", human(bytes))]);
    let mut lines = lines.concat();
    lines.extend([format!("mem_fragmentation_ratio:{ratio:.2}"), "maxmemory:0".into(), "maxmemory_human:0B".into()]);
    lines.push("maxmemory_policy:noeviction".into());
    Ok(lines)
}

fn persistence() -> Vec<String> {
    let never = ["loading", "rdb_bgsave_in_progress", "aof_rewrite_in_progress"];
    never.iter().map(|name| format!("{name}:0")).chain(["aof_enabled:1".into()]).collect()
}

fn stats(session: &Session) -> Outcome<Vec<String>> {
    let tenant = session.tenant()?;
    Ok(vec![
        format!("total_connections_received:{}", tenant.connections()),
        format!("total_commands_processed:{}", tenant.commands()),
    ])
}

fn cpu(session: &Session) -> Outcome<Vec<String>> {
    let ProcessUsage { user_time, system_time, .. } = process(session)?.unwrap_or_default();
    let lines = [
        ("used_cpu_sys", system_time.as_secs_f64()),
        ("used_cpu_user", user_time.as_secs_f64()),
        // There are none.
        ("used_cpu_sys_children", 0.0),
        ("used_cpu_user_children", 0.0),
    ];
    Ok(lines.map(|(name, seconds)| format!("{name}:{seconds:.6}")).to_vec())
}

fn keyspace(session: &Session) -> Outcome<Vec<String>> {
    let mut lines = Vec::new();
    // As with DBSIZE.
    if !session.grant.as_ref().is_some_and(|grant| Scope::Read.allows(grant.scopes)) {
        return Ok(lines);
    }
    let tenant = session.tenant()?;
    let there = tenant.database.keyspace_names()?;
    for number in (0..session.shared.settings.databases).filter(|number| there.contains(&keyspace_name(*number))) {
        let count = tenant.space(number)?.keyspace.count_estimate("")?;
        if count > 0 {
            // 0 is what Redis says of a mean that it has not taken.
            lines.push(format!("db{number}:keys={count},avg_ttl=0"));
        }
    }
    Ok(lines)
}

/// Returns the resource usage of the process; `None` for callers whom it does not concern, and where the system does
/// not report it.
fn process(session: &Session) -> Outcome<Option<ProcessUsage>> {
    let administers = session.grant.as_ref().is_some_and(|grant| Scope::Admin.allows(grant.scopes));
    let is_everybodys = session.tenant()?.database.is_of_the_default_tenant();
    Ok((administers && is_everybodys).then(nuthatch_heap::process).flatten())
}

/// As Redis writes bytes for people: `1.50M`.
fn human(bytes: u64) -> String {
    let units = ["K", "M", "G", "T", "P", "E"];
    if bytes < 1024 {
        return format!("{bytes}B");
    }
    let power = (bytes.ilog2() / 10) as usize;
    format!("{:.2}{}", bytes as f64 / (1_u64 << (10 * power)) as f64, units[power - 1])
}

#[cfg(test)]
mod tests {
    use super::human;

    #[test]
    fn bytes_for_people_are_written_as_redis_writes_them() {
        let written = [0, 1023, 1024, 1_572_864, 3 << 30, u64::MAX].map(human);
        assert_eq!(written, ["0B", "1023B", "1.00K", "1.50M", "3.00G", "16.00E"]);
    }
}
