//! Whom the rows of a shard meet in the shards around it, and what they keep of that.

use std::collections::{BTreeMap, HashSet};

use super::plan::{GUESTS, Plan};
use super::shards::{Shards, push_by};
use super::{Part, Settings, Steps};
use crate::Result;
use crate::graph::build::{Guest, MET_MAX, Met, meet};

/// The number of nearest rows met by a row that are told of it.
const TOLD: usize = MET_MAX / 2;
/// A shard that fewer rows in a thousand want to search is not read for them.
const WANTED_PER_MILLE: usize = 5;

/// Searches for all rows in the shards around their own, and notes who met whom. Memory: two shards.
pub(super) fn hold(shards: &Shards<'_>, plan: &Plan, settings: &Settings<'_>, progress: &mut Steps<'_>) -> Result<()> {
    let mut writers = shards.begin_meetings(plan.shards())?;
    for home in 0..plan.shards() {
        let mut part = Part::new(shards);
        part.add(shards, home)?;
        let nearest = nearest_shards(plan, home, &part);
        let mut wanted = vec![0usize; plan.shards()];
        nearest.iter().flatten().filter(|guest| **guest != u32::MAX).for_each(|guest| wanted[*guest as usize] += 1);
        let mut met = vec![Met::new(); part.slots.len()];
        let least = met.len() * WANTED_PER_MILLE / 1000;
        for guest in (0..plan.shards()).filter(|guest| wanted[*guest] > least) {
            let mut other = Part::new(shards);
            other.add(shards, guest)?;
            let edges = shards.read_edges(guest)?;
            let wants = |row: u32| nearest[row as usize].contains(&(guest as u32));
            let guest = Guest { codes: &other.codes, edges: &edges, first: plan.first_of(guest) };
            meet(&part.codes, &guest, &wants, &mut met, settings.threads);
        }
        for (row, met) in (plan.first_of(home)..).zip(&met) {
            for (distance, other) in met.iter().take(TOLD) {
                let (shard, at) = plan.place_of(other);
                push_by(&mut writers[shard], at, distance, row)?;
            }
        }
        shards.write_met(home, &met)?;
        progress.step(plan.rows_of(home))?;
    }
    for writer in writers {
        writer.finish(&[])?;
    }
    Ok(())
}

/// Returns for each row the nearest shards other than its own; `u32::MAX` where there are fewer.
fn nearest_shards(plan: &Plan, home: usize, part: &Part) -> Vec<[u32; GUESTS]> {
    let mut order = Vec::new();
    let of_row = |row: u32| {
        plan.nearest(&part.codes.row(row), &mut order);
        let others = order.iter().filter(|(_, shard)| *shard as usize != home && plan.rows_of(*shard as usize) > 0);
        let mut nearest = [u32::MAX; GUESTS];
        nearest.iter_mut().zip(others).for_each(|(place, (_, shard))| *place = *shard);
        nearest
    };
    (0..part.slots.len() as u32).map(of_row).collect()
}

/// The rows of other shards that the rows of one may choose, by their numbers among the rows of all shards.
pub(super) struct Others {
    of_row: Vec<Vec<u32>>,
}

impl Others {
    /// Whom each row met, and the nearest who met it.
    pub(super) fn read(shards: &Shards<'_>, plan: &Plan, shard: usize) -> Result<Self> {
        let mut met_by = vec![Met::new(); plan.rows_of(shard)];
        shards.read_by(shard, &mut |row, distance, number| {
            if let Some(met_by) = met_by.get_mut(row as usize) {
                met_by.offer(distance, number);
            }
        })?;
        let mut of_row: Vec<Vec<u32>> =
            met_by.iter().map(|met_by| met_by.iter().map(|(_, number)| number).collect()).collect();
        drop(met_by);
        shards.read_met(shard, &mut |row, number| {
            if let Some(others) = of_row.get_mut(row as usize).filter(|others| !others.contains(&number)) {
                others.push(number);
            }
        })?;
        Ok(Self { of_row })
    }

    pub(super) fn of_row(&self, row: u32) -> &[u32] {
        &self.of_row[row as usize]
    }
}

/// A run of a shard's rows, and the rows of other shards that they name, as many as there is memory for.
pub(super) struct Block {
    pub(super) rows: std::ops::Range<u32>,
    /// By their numbers among the rows of all shards, ascending.
    others: Vec<u32>,
}

impl Block {
    /// The block that begins at a row; `names` are the rows of other shards that a row names.
    pub(super) fn new<'n>(
        first: u32,
        rows: u32,
        others_max: usize,
        names: impl Fn(u32) -> Box<dyn Iterator<Item = u32> + 'n>,
    ) -> Self {
        let mut others = HashSet::new();
        let mut end = first;
        while end < rows && (end == first || others.len() < others_max) {
            others.extend(names(end));
            end += 1;
        }
        let mut others: Vec<u32> = others.into_iter().collect();
        others.sort_unstable();
        Self { rows: first..end, others }
    }

    /// Reads the others behind the rows of the shard, of which there are `home`, and forgets those of another block.
    pub(super) fn add_to(&self, shards: &Shards<'_>, plan: &Plan, home: u32, part: &mut Part) -> Result<()> {
        part.truncate(home);
        let mut of_shards: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        for number in &self.others {
            let (shard, at) = plan.place_of(*number);
            of_shards.entry(shard).or_default().push(at);
        }
        of_shards
            .into_iter()
            .try_for_each(|(shard, rows)| shards.read_some(shard, &rows, &mut part.codes, &mut part.slots))
    }

    /// The place of a row of another shard behind the rows of this one.
    pub(super) fn place_of(&self, number: u32) -> u32 {
        self.others.partition_point(|other| *other < number) as u32
    }

    /// The number of the row at such a place.
    pub(super) fn number_at(&self, place: u32) -> u32 {
        self.others[place as usize]
    }
}
