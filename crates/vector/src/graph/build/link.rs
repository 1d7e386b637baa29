//! Linking the graph of one part of the rows with the rows of other parts.
//!
//! Each row is searched for in the graphs of other parts ([`meet`]). Then it chooses its neighbours again ([`choose`])
//! among those that it has, those that it met, and those that met it: without these edges back, only half as many of a
//! row's nearest link to it, and a search needs a pool three times as large.

use super::adjacency::Adjacency;
use super::beam::Beam;
use super::candidate::Candidate;
use super::codes::BuildCodes;
use super::connect::connect;
use super::edges::Edges;
use super::prune::Pruner;
use super::{BuildParameters, DEGREE, parallel};

/// Rows that a thread takes at a time.
const TASK_ROWS: usize = 64;
/// The number of nodes of a graph at which searches in it begin.
const ENTRIES: usize = 8;
/// Nodes that such a search keeps. A row meets others in several graphs, so that each may miss some.
const BEAM: usize = 16;
/// The most that is kept of whom a row met.
pub(crate) const MET_MAX: usize = 24;

/// The nearest rows of other parts that one row has met.
#[derive(Clone, Copy)]
pub(crate) struct Met {
    nearest: [Candidate; MET_MAX],
    len: u8,
}

impl Met {
    pub(crate) fn new() -> Self {
        Self { nearest: [Candidate::new(0.0, 0); MET_MAX], len: 0 }
    }

    /// Distances and numbers, the nearest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (f32, u32)> {
        self.nearest[..usize::from(self.len)].iter().map(|other| (other.distance(), other.node()))
    }

    /// Keeps it if it is near enough. Nobody is offered twice.
    pub(crate) fn offer(&mut self, distance: f32, number: u32) {
        let (candidate, len) = (Candidate::new(distance, number), usize::from(self.len));
        let place = self.nearest[..len].partition_point(|other| *other < candidate);
        if place < MET_MAX {
            let len = (len + 1).min(MET_MAX);
            self.nearest.copy_within(place..len - 1, place + 1);
            self.nearest[place] = candidate;
            self.len = len as u8;
        }
    }
}

/// The graph of another part.
pub(crate) struct Guest<'a> {
    pub(crate) codes: &'a BuildCodes,
    pub(crate) edges: &'a Edges,
    /// The number of its first row among the rows of all parts, fewer than 2^31.
    pub(crate) first: u32,
}

/// Searches for the rows that `wants` names in the graph of a guest; `met` has a place for each row at home. The same for any
/// number of threads.
pub(crate) fn meet(
    home: &BuildCodes,
    guest: &Guest<'_>,
    wants: &(dyn Fn(u32) -> bool + Sync),
    met: &mut [Met],
    threads: usize,
) {
    let mut beams: Vec<Beam> = (0..threads.max(1)).map(|_| Beam::new(BEAM)).collect();
    let entries = &guest.edges.entries()[..guest.edges.entries().len().min(ENTRIES)];
    let tasks = met.chunks_mut(TASK_ROWS).zip((0u32..).step_by(TASK_ROWS)).collect();
    parallel::for_each(&mut beams, tasks, |beam, (met, first): (&mut [Met], u32)| {
        for (row, met) in (first..).zip(met).filter(|(row, _)| wants(*row)) {
            beam.search(guest.codes, guest.edges, entries, &home.row(row));
            beam.expanded.iter().for_each(|other| met.offer(other.distance(), guest.first + other.node()));
        }
    });
}

/// Some rows of a part, with those rows of others that they may choose as neighbours.
pub(crate) struct Choice<'a> {
    /// The rows of the part, then the others.
    pub(crate) codes: &'a BuildCodes,
    /// The graph of the part.
    pub(crate) edges: &'a Edges,
    /// The first of the rows that choose.
    pub(crate) first: u32,
    /// For each row that chooses where its others begin in `others`, and the end of the last.
    pub(crate) starts: &'a [u32],
    pub(crate) others: &'a [u32],
}

/// Neighbours of one row.
#[derive(Clone, Copy)]
pub(crate) struct List {
    neighbours: [u32; DEGREE],
    degree: u8,
}

impl List {
    fn new(neighbours: impl Iterator<Item = u32>) -> Self {
        let mut list = Self { neighbours: [0; DEGREE], degree: 0 };
        for (place, neighbour) in list.neighbours.iter_mut().zip(neighbours) {
            *place = neighbour;
            list.degree += 1;
        }
        list
    }

    pub(crate) fn neighbours(&self) -> &[u32] {
        &self.neighbours[..usize::from(self.degree)]
    }

    /// Calls every neighbour by another number.
    pub(crate) fn renumber(&mut self, number_of: impl Fn(u32) -> u32) {
        self.neighbours[..usize::from(self.degree)].iter_mut().for_each(|place| *place = number_of(*place));
    }
}

/// New neighbours for each row that chooses, the same for any number of threads.
pub(crate) fn choose(choice: &Choice<'_>, parameters: &BuildParameters, threads: usize) -> Vec<List> {
    let mut pruners: Vec<Pruner> = (0..threads.max(1)).map(|_| Pruner::default()).collect();
    let mut lists = vec![List::new(std::iter::empty()); choice.starts.len().saturating_sub(1)];
    let tasks = lists.chunks_mut(TASK_ROWS).zip((0..).step_by(TASK_ROWS)).collect();
    parallel::for_each(&mut pruners, tasks, |pruner, (lists, first): (&mut [List], usize)| {
        for (at, list) in (first..).zip(lists) {
            *list = List::new(choice.of_row(at, parameters.alpha, pruner).iter().copied());
        }
    });
    lists
}

impl Choice<'_> {
    fn of_row<'p>(&self, at: usize, alpha: f32, pruner: &'p mut Pruner) -> &'p [u32] {
        let node = self.first + at as u32;
        let row = self.codes.row(node);
        let others = &self.others[self.starts[at] as usize..self.starts[at + 1] as usize];
        pruner.candidates.clear();
        for near in [self.edges.neighbours(node), others] {
            self.codes.touch(near);
            let candidate = |other: &u32| Candidate::new(row.distance(&self.codes.row(*other)), *other);
            pruner.candidates.extend(near.iter().map(candidate));
        }
        pruner.prune(self.codes, node, alpha).neighbours
    }
}

/// Sees to it that `entry` reaches every row of a part by rows of the part: a row may have given up the only edge to another.
/// `lists` are those of all its rows, whose numbers begin at `first`; `codes` are theirs. Memory: 194 bytes a row.
pub(crate) fn keep_connected(
    codes: &BuildCodes,
    entry: u32,
    first: u32,
    lists: &mut [List],
    parameters: &BuildParameters,
) {
    let nodes = lists.len() as u32;
    let place_of = |number: u32| number.checked_sub(first).filter(|place| *place < nodes);
    let mut at_home = Adjacency::new(lists.len());
    let mut kept = Vec::with_capacity(DEGREE);
    for (node, list) in (0u32..).zip(&*lists) {
        kept.clear();
        kept.extend(list.neighbours().iter().filter_map(|number| place_of(*number)));
        at_home.all().set(node, &kept);
    }
    connect(codes, &mut at_home, entry, &mut Beam::new(parameters.beam));
    for (node, list) in (0u32..).zip(lists) {
        let connected = at_home.neighbours(node);
        if !connected.iter().copied().eq(list.neighbours().iter().filter_map(|number| place_of(*number))) {
            let before = *list;
            let others = before.neighbours().iter().copied().filter(|number| place_of(*number).is_none());
            *list = List::new(connected.iter().map(|place| first + place).chain(others));
        }
    }
}
