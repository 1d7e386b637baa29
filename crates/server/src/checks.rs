//! Whether a server can be started so: found out without opening the data folder or listening, by `serve` and by `config check` alike.
//!
//! **Not for** single values: [`Config::resolve`] reads these, and names who said them.
//!
//! **Invariant:** what passes here fails later only for what nobody can know before: a taken address, a folder that somebody else has.

use std::net::SocketAddr;
use std::path::Path;

use nuthatch_link::{Error, Result};

use crate::access::KeyFile;
use crate::config::{Auth, Config};
use crate::listener::Tls;

/// Checks the configuration, and returns its TLS setup, if it has one.
///
/// # Errors
/// `Invalid` for a configuration that would be unsafe or cannot work; those of reading the file of keys.
pub fn check(config: &Config) -> Result<Option<Tls>> {
    config.engine_options().check()?;
    check_addresses(config)?;
    check_safety(config, data_dir(config)?)?;
    config.tls.as_ref().map(Tls::of).transpose()
}

pub fn data_dir(config: &Config) -> Result<&Path> {
    config.data_dir.as_deref().ok_or_else(|| Error::invalid("no data folder; name one with --data-dir"))
}

/// No two listeners want the same place.
fn check_addresses(config: &Config) -> Result<()> {
    let meets = |one: SocketAddr, other: SocketAddr| {
        one.ip() == other.ip() || (one.is_ipv4() == other.is_ipv4() && one.ip().is_unspecified())
    };
    let places = [
        ("listen", Some(config.listen).filter(|_| config.api)),
        ("redis", config.redis),
        ("cache_listen", config.proxy.as_ref().map(|proxy| proxy.listen)),
    ];
    let places: Vec<_> = places.into_iter().filter_map(|(name, place)| Some((name, place?))).collect();
    for (at, (name, place)) in places.iter().enumerate() {
        for (other, taken) in &places[..at] {
            // Port 0 is another one each time.
            let is_same = place.port() != 0 && place.port() == taken.port();
            if is_same && (meets(*place, *taken) || meets(*taken, *place)) {
                let why =
                    format!("{name} is {place}, which {other} ({taken}) already uses; give one of them another port");
                return Err(Error::invalid(why));
            }
        }
    }
    Ok(())
}

/// Nobody but this machine can connect, or only holders of a key can ask, and nobody can listen in.
fn check_safety(config: &Config, folder: &Path) -> Result<()> {
    let keys = KeyFile::of(folder).read()?;
    let has_keys = keys.as_ref().is_some_and(|keys| !keys.is_empty());
    if config.auth == Auth::Keys && !has_keys {
        return Err(Error::invalid("auth is `keys`, but no key exists; create one with `nuthatch key create`"));
    }
    let Some(address) = config.open_address() else { return Ok(()) };
    if config.auth == Auth::None || !has_keys {
        return Err(Error::invalid(format!(
            "{address} can be reached from other machines, but no key exists: create one with `nuthatch key create`, \
             or listen on 127.0.0.1"
        )));
    }
    if config.tls.is_none() && !config.allow_plaintext {
        return Err(Error::invalid(format!(
            "{address} can be reached from other machines without TLS, which exposes keys and data: set tls_cert and \
            tls_key, or allow_plaintext if a proxy in front of the server does TLS"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_listeners_do_not_want_the_same_place() {
        let together = |listen: &str, redis: &str| {
            let (listen, redis) = (listen.parse().unwrap(), Some(redis.parse().unwrap()));
            check_addresses(&Config { listen, redis, ..Config::default() })
        };
        for (listen, redis) in [("127.0.0.1:1", "127.0.0.1:1"), ("0.0.0.0:1", "127.0.0.1:1"), ("[::1]:1", "[::]:1")] {
            assert!(together(listen, redis).unwrap_err().message.contains("another port"), "{listen} {redis}");
        }
        for (listen, redis) in
            [("127.0.0.1:0", "127.0.0.1:0"), ("127.0.0.1:1", "127.0.0.1:2"), ("127.0.0.1:1", "127.0.0.2:1")]
        {
            together(listen, redis).unwrap();
        }
    }
}
