//! RANDOMKEY: a key by chance, each about as likely as the others.
//!
//! Among few keys one is drawn. Among many, the range of all keys is halved, and each half again, until few keys are left in it. Of
//! the halves of one step some are kept, by chance, and each stands for as many as were left out: so every step costs the same (R.
//! Y. Rubinstein, "Stochastic enumeration method for counting NP-hard problems", 2013). Of the ranges that this ends with, one is
//! drawn by how many keys it stands for.

use std::ops::Bound;

use nuthatch_link::KeyScan;

use crate::call::Call;
use crate::failure::Outcome;
use crate::protocol::Reply;

/// Up to this many keys, each has exactly the same chance.
const DRAWN_FROM: usize = 1000;
/// A range of up to this many keys is read instead of halved.
const RANGE_KEYS: usize = 64;
/// Ranges that are kept at each step.
const RANGES_KEPT: usize = 16;
/// Keys that are made for it can be as deep as they are long: no range is halved more often.
const STEPS_MAX: usize = 256;

type Key = Vec<u8>;

pub(crate) fn randomkey(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let mut keys = |scan: &KeyScan| {
        let page = call.context.scan(scan)?;
        Ok((page.entries.into_iter().map(|(key, _)| key).collect(), page.cursor.is_some()))
    };
    Ok(Reply::optional(drawn(&mut keys, &mut fastrand::Rng::new())?))
}

/// A key by chance; `keys` lists those of a scan, and says whether there are more.
fn drawn(
    keys: &mut impl FnMut(&KeyScan) -> Outcome<(Vec<Key>, bool)>,
    dice: &mut fastrand::Rng,
) -> Outcome<Option<Key>> {
    let (all, more) = keys(&KeyScan { limit: DRAWN_FROM, keys_only: true, ..KeyScan::default() })?;
    if !more {
        return Ok(dice.choice(all));
    }
    let mut ranges = vec![KeyScan { limit: RANGE_KEYS, keys_only: true, ..KeyScan::default() }];
    let mut drawn = Drawn::default();
    // How many ranges one of them stands for, as a logarithm: the number itself can be beyond what doubles hold.
    let mut scale_log2 = 0.0;
    for step in 0.. {
        let mut halves = Vec::new();
        for range in ranges {
            let (first, more) = keys(&range)?;
            match more && step < STEPS_MAX {
                true => halves.extend(halved(range, &first, keys)?),
                false => drawn.offer(first, scale_log2, dice),
            }
        }
        if halves.len() > RANGES_KEPT {
            scale_log2 += (halves.len() as f64 / RANGES_KEPT as f64).log2();
            dice.shuffle(&mut halves);
            halves.truncate(RANGES_KEPT);
        }
        ranges = halves;
        if ranges.is_empty() {
            break;
        }
    }
    Ok(drawn.key)
}

/// Both halves of a range of keys, of which `first` are the first ones; the range itself where the others have gone
/// since.
fn halved(
    range: KeyScan,
    first: &[Key],
    keys: &mut impl FnMut(&KeyScan) -> Outcome<(Vec<Key>, bool)>,
) -> Outcome<Vec<KeyScan>> {
    let (last, _) = keys(&KeyScan { reverse: true, limit: 1, ..range.clone() })?;
    match (first.first(), last.first()) {
        // Both are keys of the range, so neither half is without one.
        (Some(lowest), Some(highest)) if lowest < highest => {
            let middle = between(lowest, highest);
            let lower = KeyScan { to: Bound::Excluded(middle.clone()), ..range.clone() };
            Ok(vec![lower, KeyScan { from: Bound::Included(middle), ..range }])
        }
        _ => Ok(vec![range]),
    }
}

/// One key of all that were offered, by their weights.
#[derive(Default)]
struct Drawn {
    key: Option<Key>,
    /// The logarithm of the sum of all weights; `None` before the first.
    total_log2: Option<f64>,
}

impl Drawn {
    /// Takes one of these keys in place of the one before, as likely as they weigh: each as much as the keys that it stands for.
    fn offer(&mut self, keys: Vec<Key>, scale_log2: f64, dice: &mut fastrand::Rng) {
        let weight = scale_log2 + (keys.len() as f64).log2();
        let Some(key) = dice.choice(keys) else { return };
        let total = self.total_log2.map_or(weight, |total| {
            let greater = total.max(weight);
            greater + ((total - greater).exp2() + (weight - greater).exp2()).log2()
        });
        if dice.f64() < (weight - total).exp2() {
            self.key = Some(key);
        }
        self.total_log2 = Some(total);
    }
}

/// A place above the lowest key and not above the highest: behind what they have in common, the middle of the next eight bytes.
fn between(lowest: &[u8], highest: &[u8]) -> Key {
    let common = lowest.iter().zip(highest).take_while(|(one, other)| one == other).count();
    let number = |key: &[u8]| {
        let mut bytes = [0; 8];
        let rest = &key[common..];
        let taken = rest.len().min(8);
        bytes[..taken].copy_from_slice(&rest[..taken]);
        u64::from_be_bytes(bytes)
    };
    let middle = number(lowest).midpoint(number(highest));
    let place = [&lowest[..common], &middle.to_be_bytes()].concat();
    match place.as_slice() > lowest && place.as_slice() <= highest {
        true => place,
        // The two differ in too little for that: the shortest beginning of the highest that is above the lowest.
        false => highest[..=common].to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashMap};

    use super::*;

    /// Returns how often each key comes up in `times` draws.
    fn draws(keys: &BTreeSet<Key>, times: usize, seed: u64) -> HashMap<Key, usize> {
        let mut listed = |scan: &KeyScan| {
            let range = keys.range((scan.from.clone(), scan.to.clone()));
            let mut found: Vec<Key> = match scan.reverse {
                true => range.rev().take(scan.limit + 1).cloned().collect(),
                false => range.take(scan.limit + 1).cloned().collect(),
            };
            let more = found.len() > scan.limit;
            found.truncate(scan.limit);
            Ok((found, more))
        };
        let mut dice = fastrand::Rng::with_seed(seed);
        let mut counts = HashMap::new();
        for _ in 0..times {
            *counts.entry(drawn(&mut listed, &mut dice).unwrap().unwrap()).or_default() += 1;
        }
        counts
    }

    #[test]
    fn few_keys_come_equally_often_however_they_lie() {
        let keys: BTreeSet<Key> = (0..19).map(|n| format!("user:{n}").into_bytes()).chain([b"a".to_vec()]).collect();
        let counts = draws(&keys, 20_000, 1);
        assert!(keys.iter().all(|key| (800..1200).contains(&counts[key])), "{counts:?}");
        assert!(drawn(&mut |_| Ok((Vec::new(), false)), &mut fastrand::Rng::with_seed(1)).unwrap().is_none());
    }

    #[test]
    fn of_many_keys_each_part_comes_as_often_as_it_is_large() {
        let mut keys: BTreeSet<Key> = (0..9000).map(|n| format!("user:{n}").into_bytes()).collect();
        keys.extend((0..900).map(|n| format!("session:{:016x}", n * 0x9e37_79b9_7f4a_7c15_u64 as u128).into_bytes()));
        keys.extend((0..100).map(|n| vec![b'a'; n + 1]));
        let counts = draws(&keys, 1000, 2);
        let part = |begin: &str| {
            counts.iter().filter(|(key, _)| key.starts_with(begin.as_bytes())).map(|(_, count)| count).sum::<usize>()
        };
        let parts = [part("user:"), part("session:"), part("a")];
        println!("{parts:?}, {} keys", counts.len());
        assert!((870..930).contains(&parts[0]) && (65..120).contains(&parts[1]), "{parts:?}");
        assert!((3..20).contains(&parts[2]), "{parts:?}");
        assert!(counts.len() > 900, "hardly one comes twice: {}", counts.len());
    }

    #[test]
    fn a_range_is_always_cut_between_two_keys() {
        let mut dice = fastrand::Rng::with_seed(3);
        for _ in 0..100_000 {
            let mut key = || (0..dice.usize(1..12)).map(|_| b"\0a\xff"[dice.usize(..3)]).collect::<Key>();
            let (one, other) = (key(), key());
            let (lowest, highest) = if one < other { (one, other) } else { (other, one) };
            if lowest < highest {
                let middle = between(&lowest, &highest);
                assert!(lowest < middle && middle <= highest, "{lowest:?} {middle:?} {highest:?}");
            }
        }
    }
}
