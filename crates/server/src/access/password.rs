//! Passwords of Redis' users: hashed by argon2id, and checked so that guessing them cannot exhaust the server's memory
//! or time.
//!
//! **Invariant:** one check at a time, with 19 MiB; an address with repeated failures waits; a password that was right
//! once is accepted again without a check, so that failed attempts cannot keep its user out.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv6Addr};
use std::ops::RangeInclusive;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use argon2::{Argon2, PasswordHasher, PasswordVerifier};
use nuthatch_link::{Error, Result};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

/// How long a password is. A short one can be tried out over the network.
pub const PASSWORD_BYTES: RangeInclusive<usize> = 12..=1024;
/// Wrong ones from an address at once.
const ATTEMPTS: f64 = 10.0;
/// In this time it has one more.
const PER_ATTEMPT: Duration = Duration::from_secs(10);
/// Addresses that are known apart; more share one budget until some have theirs back.
const ADDRESSES_MAX: usize = 4096;
/// Checks that wait for the one under way.
const WAITING_MAX: usize = 16;
/// Passwords that were right.
const RIGHT_MAX: usize = 4096;

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Right,
    Wrong,
    /// Not looked at: too many from there, or from everywhere.
    TooMany,
}

/// A running server's memory of password checks.
#[derive(Default)]
pub struct Passwords {
    turn: Mutex<()>,
    waiting: AtomicUsize,
    right: Mutex<HashSet<[u8; 32]>>,
    attempts: Mutex<HashMap<IpAddr, Attempts>>,
}

struct Attempts {
    left: f64,
    since: Instant,
}

/// The argon2id hash of a password, with its salt and its parameters.
///
/// # Errors
/// `Invalid` for one that is too short or too long.
pub fn hash(password: &[u8]) -> Result<String> {
    if !PASSWORD_BYTES.contains(&password.len()) {
        let (least, most) = (PASSWORD_BYTES.start(), PASSWORD_BYTES.end());
        return Err(Error::invalid(format!("the password has {} bytes; use {least} to {most}", password.len())));
    }
    let hash = Argon2::default().hash_password(password);
    hash.map(|hash| hash.to_string()).map_err(|error| Error::internal(format!("hashing a password: {error}")))
}

impl Passwords {
    /// Whether the password is the one of this hash. Without a hash it is wrong, and that takes as long. Blocks.
    pub fn check(&self, hash: Option<&str>, password: &[u8], address: IpAddr, now: Instant) -> Verdict {
        let seen = hash.map(|hash| seen(hash, password));
        if seen.is_some_and(|seen| self.right.lock().contains(&seen)) {
            return Verdict::Right;
        }
        let address = network(address);
        if !self.may_try(address, now) {
            return Verdict::TooMany;
        }
        let is_right = {
            let _waiting = Waiting::new(&self.waiting);
            if self.waiting.load(Ordering::Relaxed) > WAITING_MAX {
                self.give_back(address);
                return Verdict::TooMany;
            }
            let _turn = self.turn.lock();
            let tried = match hash {
                Some(hash) => hash,
                None => nobody_s(),
            };
            let is_right = Argon2::default().verify_password(password, tried).is_ok();
            is_right && hash.is_some()
        };
        match seen {
            Some(seen) if is_right => {
                self.give_back(address);
                let mut right = self.right.lock();
                if right.len() >= RIGHT_MAX {
                    right.clear();
                }
                right.insert(seen);
                Verdict::Right
            }
            _ => Verdict::Wrong,
        }
    }

    fn may_try(&self, address: IpAddr, now: Instant) -> bool {
        let mut attempts = self.attempts.lock();
        if attempts.len() >= ADDRESSES_MAX && !attempts.contains_key(&address) {
            attempts.retain(|_, attempts| attempts.left_at(now) < ATTEMPTS);
        }
        let place = match attempts.len() < ADDRESSES_MAX || attempts.contains_key(&address) {
            true => address,
            false => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let of = attempts.entry(place).or_insert(Attempts { left: ATTEMPTS, since: now });
        (of.left, of.since) = (of.left_at(now), now);
        let may = of.left >= 1.0;
        of.left -= f64::from(u8::from(may));
        may
    }

    fn give_back(&self, address: IpAddr) {
        if let Some(attempts) = self.attempts.lock().get_mut(&address) {
            attempts.left = (attempts.left + 1.0).min(ATTEMPTS);
        }
    }
}

impl Attempts {
    fn left_at(&self, now: Instant) -> f64 {
        let more = now.saturating_duration_since(self.since).as_secs_f64() / PER_ATTEMPT.as_secs_f64();
        (self.left + more).min(ATTEMPTS)
    }
}

struct Waiting<'w>(&'w AtomicUsize);

impl<'w> Waiting<'w> {
    fn new(count: &'w AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A hash of no password, for users that there are not.
fn nobody_s() -> &'static str {
    static HASH: OnceLock<String> = OnceLock::new();
    HASH.get_or_init(|| hash(&[0; 32]).unwrap_or_default())
}

/// By what a password that was right is known again; of use in this process alone.
fn seen(hash: &str, password: &[u8]) -> [u8; 32] {
    static SECRET: OnceLock<[u8; 32]> = OnceLock::new();
    let secret = SECRET.get_or_init(|| {
        let mut secret = [0; 32];
        // Without random bytes it is a fast hash with the salt of the slow one, in this process's memory.
        let _ = getrandom::fill(&mut secret);
        secret
    });
    Sha256::new().chain_update(secret).chain_update(hash).chain_update([0]).chain_update(password).finalize().into()
}

/// The owner of one IPv6 address has its whole network.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(ip) => match ip.to_ipv4_mapped() {
            Some(ip) => IpAddr::V4(ip),
            None => IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() & !u128::from(u64::MAX))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWORD: &[u8] = b"a heron in the reeds";

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    #[test]
    fn a_password_is_known_by_its_hash_alone() {
        let stored = hash(PASSWORD).unwrap();
        assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{stored}");
        assert_ne!(stored, hash(PASSWORD).unwrap(), "each has its own salt");
        let passwords = Passwords::default();
        let check = |hash, password| passwords.check(hash, password, address(1), Instant::now());
        assert_eq!(check(Some(&stored), PASSWORD), Verdict::Right);
        assert_eq!(check(Some(&stored), b"a heron in the weeds"), Verdict::Wrong);
        assert_eq!(check(None, PASSWORD), Verdict::Wrong);
        assert_eq!(check(None, &[0; 32]), Verdict::Wrong, "nobody's password opens nothing");
        assert!(hash(b"short").is_err() && hash(&[b'a'; 2000]).is_err());
    }

    #[test]
    fn who_keeps_being_wrong_waits_and_keeps_nobody_out() {
        let stored = hash(PASSWORD).unwrap();
        let (passwords, now) = (Passwords::default(), Instant::now());
        assert_eq!(passwords.check(Some(&stored), PASSWORD, address(1), now), Verdict::Right);
        let wrong = || passwords.check(Some(&stored), b"wrong, wrong, wrong", address(2), now);
        let verdicts: Vec<Verdict> = (0..12).map(|_| wrong()).collect();
        assert_eq!(verdicts.iter().filter(|verdict| **verdict == Verdict::Wrong).count(), 10);
        assert_eq!(verdicts[11], Verdict::TooMany);
        // Not even from the same address.
        assert_eq!(passwords.check(Some(&stored), PASSWORD, address(2), now), Verdict::Right);
        assert_eq!(passwords.check(Some(&stored), b"another wrong one", address(3), now), Verdict::Wrong);
        let later = now + PER_ATTEMPT;
        assert_eq!(passwords.check(Some(&stored), b"wrong, wrong", address(2), later), Verdict::Wrong);
    }

    #[test]
    fn addresses_of_one_network_are_one_and_any_number_takes_a_bounded_place() {
        let (one, other) = ("2001:db8::1".parse().unwrap(), "2001:db8::ffff:2".parse().unwrap());
        assert_eq!(network(one), network(other));
        assert_eq!(network("::ffff:10.0.0.1".parse().unwrap()), address(1));
        let (passwords, now) = (Passwords::default(), Instant::now());
        let tried = (0..20_000_u32).filter(|bits| passwords.may_try(IpAddr::from(bits.to_be_bytes()), now)).count();
        assert!(passwords.attempts.lock().len() <= ADDRESSES_MAX + 1 && tried <= ADDRESSES_MAX + 10, "{tried}");
    }
}
