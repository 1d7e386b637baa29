//! A small world for the protocol: nodes, one log, the requests that are on their way, and a client that remembers what it was told.

#![allow(dead_code, reason = "each test uses a part")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use nuthatch_cluster::{
    Answered, Boot, Bug, Call, End, Entry, Event, Group, Known, Leave, Mark, Reach, Slot, Timing, Watch,
};

/// A batch of the world is one byte: its number.
pub type Token = u8;

/// A mistake to be found: one of the protocol, or one of the code around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Planted {
    Protocol(Bug),
    /// The lease is counted on a clock that somebody may set.
    WallClock,
    /// Trimming takes fences, too.
    TrimsFences,
    /// The head of a log in rows is set without being compared.
    SetsBlindly,
    /// A reader takes whatever rows it finds for a slot, whether the head has reached them or not.
    ReadsUncommitted,
}

/// A log in rows: entries lie next to it until the head moves to them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rows {
    parts: BTreeMap<(Slot, u128), Entry>,
    slot: Slot,
    epoch: u64,
    place: u64,
    trimmed: Slot,
    /// The owner of the group from each slot on.
    tenures: BTreeMap<Slot, u128>,
}

impl Rows {
    fn writer(&self, slot: Slot) -> Option<u128> {
        self.tenures.range(..=slot).next_back().map(|(_, writer)| *writer)
    }

    /// Answers a read from the entries that the head has reached.
    fn committed(&self, slot: Slot) -> Answered {
        match self.writer(slot).and_then(|writer| self.parts.get(&(slot, writer))) {
            _ if slot > self.slot => Answered::Read(None),
            _ if slot <= self.trimmed => Answered::Trimmed,
            found => Answered::Read(Some(found.expect("a committed entry has its rows").clone())),
        }
    }

    /// One conditional change of the head, and what it is settled as.
    fn advance(&mut self, slot: Slot, entry: &Entry, compares: bool) -> Result<Answered, String> {
        let is_owners = match entry.is_kept() {
            true => self.epoch + 1 == entry.epoch,
            false => self.writer(self.slot) == Some(entry.writer),
        };
        if !compares || (self.slot + 1 == slot && self.place == entry.before && is_owners) {
            (self.slot, self.epoch, self.place) = (slot, entry.epoch, entry.through());
            if entry.is_kept() {
                self.tenures.insert(slot, entry.writer);
            }
            return Ok(Answered::Stored);
        }
        if self.slot < slot {
            return Err(format!("the head contradicts the log of a node: {self:?}, {slot}, {entry:?}"));
        }
        if self.writer(slot) == Some(entry.writer) {
            return Ok(Answered::Stored);
        }
        Ok(match self.committed(slot) {
            Answered::Read(Some(found)) => Answered::Occupied(found),
            other => other,
        })
    }
}

/// The key kept by the process that accompanies a node's run.
fn key(start: u64) -> [u8; 32] {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&start.to_le_bytes());
    key
}

/// Limits on the events in a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bounds {
    /// Questions are answered at once, which leaves fewer states to explore: only requests that change the log are under way.
    pub answers_at_once: bool,
    pub time: u64,
    pub writes: u8,
    pub losses: u8,
    pub checkpoints: u8,
    pub restarts: u8,
    /// A process that saw an owner's process end reports it to the others.
    pub deaths: bool,
}

/// The direction, if any, in which traffic between a node and the log is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Cut {
    #[default]
    Nothing,
    /// Requests from the node do not arrive.
    ToLog,
    /// Answers from the log do not arrive.
    FromLog,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    pub group: Group,
    /// Which start of all it was.
    start: u64,
    pub cut: Cut,
    /// The contents of its copy, in order.
    pub copy: Vec<Token>,
    /// Its call that is not answered: `Some(true)` while the request is on its way.
    pub waits: Option<Call>,
    /// Its boot clock runs at this many hundredths of true time, from this.
    pub rate: u64,
    pub offset: u64,
    /// The offset that somebody has added to its wall clock.
    pub wall: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Checkpoint {
    known: Known,
    copy: Vec<Token>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    pub time: u64,
    pub nodes: Vec<Node>,
    timing: Timing,
    planted: Option<Planted>,
    /// The entries of the log that are not trimmed.
    pub log: BTreeMap<Slot, Entry>,
    /// Of a log in rows; else each slot is created by itself.
    rows: Option<Rows>,
    /// Requests that may be done at any time, and more than once if they were sent more than once.
    pub wire: Vec<(usize, Slot, Entry)>,
    checkpoint: Option<Checkpoint>,
    /// The writes that the client was told are written, those it has seen in an answer, and those it was told are not
    /// written.
    acknowledged: BTreeSet<Token>,
    seen: BTreeSet<Token>,
    disowned: BTreeSet<Token>,
    pub left: Bounds,
    starts: u64,
    tokens: Token,
}

/// A possible next event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Time passes.
    Pass(u64),
    /// A node that waits for nothing does what its protocol says.
    Step(usize),
    /// The log answers a node's question.
    Answer(usize),
    /// A request on its way is done, and answered if its sender waits for it.
    Land(usize),
    /// It is done, and the answer is lost.
    LandUnheard(usize),
    /// It is lost.
    Lose(usize),
    /// A node stops waiting.
    TimeOut(usize),
    /// A client writes through a node.
    Write(usize),
    /// A client reads through a node.
    Read(usize),
    /// A node publishes a checkpoint, and trims the log.
    Checkpoint(usize),
    Trim(usize),
    /// A node dies and restarts.
    Restart(usize),
    /// Somebody sets a node's wall clock.
    SetClock(usize, i64),
    /// A node gives up its group, to another one or to any.
    Release(usize, Option<usize>),
    /// A node is told that the owner it knows is dead.
    Died(usize),
}

impl World {
    pub fn new(nodes: usize, timing: Timing, left: Bounds, planted: Option<Planted>) -> Self {
        let mut world = Self {
            time: 0,
            nodes: Vec::new(),
            timing,
            planted,
            log: BTreeMap::new(),
            rows: None,
            wire: Vec::new(),
            checkpoint: None,
            acknowledged: BTreeSet::new(),
            seen: BTreeSet::new(),
            disowned: BTreeSet::new(),
            left,
            starts: 0,
            tokens: 0,
        };
        for _ in 0..nodes {
            let node = world.started(100, 0);
            world.nodes.push(node);
        }
        world
    }

    /// The same with its log in rows.
    pub fn in_rows(self) -> Self {
        Self { rows: Some(Rows::default()), ..self }
    }

    /// A node that begins at the newest checkpoint.
    fn started(&mut self, rate: u64, offset: u64) -> Node {
        self.starts += 1;
        let (known, copy) = match &self.checkpoint {
            Some(checkpoint) => (checkpoint.known.clone(), checkpoint.copy.clone()),
            None => (Known::default(), Vec::new()),
        };
        let now = Boot(offset + self.time * rate / 100);
        let watch = Watch { address: String::new(), seal: Watch::seal(&key(self.starts)) };
        let group = Group::new(u128::from(self.starts), &format!("n{}", self.starts), self.timing, known, now);
        let watch = Some(watch).filter(|_| self.left.deaths);
        let group = group.reached(Reach { watch, ..Reach::default() });
        let start = self.starts;
        let bug = match self.planted {
            Some(Planted::Protocol(bug)) => Some(bug),
            _ => None,
        };
        Node { group: group.with_bug(bug), start, copy, waits: None, rate, offset, wall: 0, cut: Cut::default() }
    }

    pub fn now(&self, node: usize) -> Boot {
        let Node { rate, offset, wall, .. } = self.nodes[node];
        let boot = offset + self.time * rate / 100;
        match self.planted {
            Some(Planted::WallClock) => Boot(boot.saturating_add_signed(wall)),
            _ => Boot(boot),
        }
    }

    /// Everything that may happen next, but for clocks that are set.
    pub fn actions(&self) -> Vec<Action> {
        let mut actions = Vec::new();
        if self.time < self.left.time {
            actions.push(Action::Pass(1));
        }
        for (at, node) in self.nodes.iter().enumerate() {
            match &node.waits {
                None => {
                    if node.group.clone().next(self.now(at)).is_some() {
                        actions.push(Action::Step(at));
                    }
                }
                Some(_) if node.cut != Cut::Nothing => actions.push(Action::TimeOut(at)),
                Some(Call::Append(..)) => {
                    if self.left.losses > 0 {
                        actions.push(Action::TimeOut(at));
                    }
                }
                Some(_) => actions.push(Action::Answer(at)),
            }
            let answers = node.group.answer(node.group.written().unwrap_or(0), self.now(at));
            if node.group.written().is_some() {
                if self.left.writes > 0 {
                    actions.push(Action::Write(at));
                }
                if answers == Leave::Yes {
                    actions.push(Action::Read(at));
                }
                let known = node.group.known();
                let newest = self.checkpoint.as_ref().map_or(0, |it| it.known.slot);
                let is_committed = node.group.written() == Some(known.place);
                if self.left.checkpoints > 0 && is_committed && known.slot > newest {
                    actions.push(Action::Checkpoint(at));
                }
                if self.log.first_key_value().is_some_and(|(slot, _)| *slot <= newest) {
                    actions.push(Action::Trim(at));
                }
            }
            if self.left.restarts > 0 {
                actions.push(Action::Restart(at));
            }
            if self.left.deaths && node.group.written().is_none() && self.death(at).is_some() {
                actions.push(Action::Died(at));
            }
        }
        for at in 0..self.wire.len() {
            actions.push(Action::Land(at));
            // To those who ask it is as a request that is done after its sender stopped waiting.
            if self.left.losses > 0 && !self.left.answers_at_once {
                actions.push(Action::LandUnheard(at));
            }
        }
        actions
    }

    /// # Errors
    /// The promise that is broken.
    pub fn apply(&mut self, action: Action) -> Result<(), String> {
        self.perform(action)?;
        self.check_what_is_left()
    }

    /// Checks what a node that starts now would find.
    fn check_what_is_left(&self) -> Result<(), String> {
        let (from, mut left) = match &self.checkpoint {
            Some(checkpoint) => (checkpoint.known.slot, checkpoint.copy.clone()),
            None => (0, Vec::new()),
        };
        let entries = self.log.range(from + 1..).map(|(_, entry)| entry);
        left.extend(entries.flat_map(|entry| entry.batches().iter().map(|batch| batch[0])));
        let once: BTreeSet<Token> = left.iter().copied().collect();
        if once.len() < left.len() {
            return Err(format!("a write is there twice: {left:?}"));
        }
        if let Some(token) = self.acknowledged.difference(&once).next() {
            return Err(format!("the acknowledged write {token} is lost"));
        }
        match self.disowned.intersection(&once).next() {
            Some(token) => Err(format!("write {token} is there, and was said not to be")),
            None => Ok(()),
        }
    }

    fn perform(&mut self, action: Action) -> Result<(), String> {
        match action {
            Action::Pass(time) => self.time += time,
            Action::Step(at) => {
                let now = self.now(at);
                if let Some(call) = self.nodes[at].group.next(now) {
                    if let Call::Append(slot, entry) = &call
                        && self.nodes[at].cut != Cut::ToLog
                    {
                        if let Some(rows) = &mut self.rows {
                            rows.parts.insert((*slot, entry.writer), entry.clone());
                        }
                        self.wire.push((at, *slot, entry.clone()));
                    }
                    let is_question = !matches!(call, Call::Append(..));
                    self.nodes[at].waits = Some(call);
                    if is_question && self.left.answers_at_once && self.nodes[at].cut == Cut::Nothing {
                        return self.perform(Action::Answer(at));
                    }
                }
            }
            Action::Answer(at) => {
                let answered = match self.nodes[at].waits {
                    Some(Call::Read(slot)) => self.look(slot),
                    // It says itself what was trimmed.
                    _ if self.rows.is_some() => Answered::Guarded,
                    _ => Answered::Newest(self.checkpoint.as_ref().map_or_else(Mark::default, |it| it.known.mark())),
                };
                return self.hear(at, answered);
            }
            Action::Land(request) | Action::LandUnheard(request) => {
                let (at, slot, entry) = self.wire.remove(request);
                let answered = self.land(slot, &entry)?;
                if matches!(action, Action::LandUnheard(_)) {
                    self.left.losses -= 1;
                } else if self.nodes[at].waits == Some(Call::Append(slot, entry)) && self.nodes[at].cut != Cut::FromLog
                {
                    return self.hear(at, answered);
                }
            }
            Action::Lose(request) => drop(self.wire.remove(request)),
            Action::TimeOut(at) => {
                if self.nodes[at].cut == Cut::Nothing {
                    self.left.losses -= 1;
                }
                return self.hear(at, Answered::Unknown);
            }
            Action::Write(at) => {
                self.left.writes -= 1;
                let token = self.tokens;
                self.tokens += 1;
                let node = &mut self.nodes[at];
                if node.group.write(Arc::from([token])).is_some() {
                    node.copy.push(token);
                }
            }
            Action::Read(at) => return self.read(at),
            Action::Checkpoint(at) => {
                self.left.checkpoints -= 1;
                let node = &self.nodes[at];
                self.checkpoint = Some(Checkpoint { known: node.group.known().clone(), copy: node.copy.clone() });
            }
            Action::Trim(_) => {
                let below = self.checkpoint.as_ref().map_or(0, |it| it.known.slot);
                let takes_all = self.planted == Some(Planted::TrimsFences) || self.rows.is_some();
                if let Some(rows) = &mut self.rows {
                    rows.trimmed = below;
                    rows.parts.retain(|(slot, _), _| *slot > below);
                }
                self.log.retain(|slot, entry| *slot > below || (entry.is_kept() && !takes_all));
            }
            Action::Restart(at) => {
                self.left.restarts -= 1;
                self.restart(at);
            }
            Action::SetClock(at, by) => self.nodes[at].wall += by,
            Action::Release(at, to) => {
                let heir = to.map(|to| format!("n{}", self.nodes[to].start)).unwrap_or_default();
                let events = self.nodes[at].group.release(&heir);
                return self.act(at, events);
            }
            Action::Died(at) => {
                let key = self.death(at).unwrap_or_default();
                self.nodes[at].group.died(&key);
            }
        }
        Ok(())
    }

    /// The key of the owner that a node knows, if that has ended. With the mistake planted, any owner may be said to have.
    fn death(&self, at: usize) -> Option<[u8; 32]> {
        let watch = self.nodes[at].group.known().reach.watch.as_ref()?;
        let is_alive = |start: u64| self.nodes.iter().any(|node| node.start == start);
        let owner = (1..=self.starts).find(|start| watch.opens(&key(*start)))?;
        let is_said = !is_alive(owner) || self.planted == Some(Planted::Protocol(Bug::BelievesDeath));
        is_said.then(|| key(owner))
    }

    /// Returns the log's answer to a read of a slot.
    fn look(&self, slot: Slot) -> Answered {
        match &self.rows {
            Some(rows) if self.planted == Some(Planted::ReadsUncommitted) => {
                let found = rows.parts.range((slot, 0)..=(slot, u128::MAX)).next();
                Answered::Read(found.map(|(_, entry)| entry.clone()))
            }
            Some(rows) => rows.committed(slot),
            None => Answered::Read(self.log.get(&slot).cloned()),
        }
    }

    /// An append is done, or finds that it cannot be.
    fn land(&mut self, slot: Slot, entry: &Entry) -> Result<Answered, String> {
        if let Some(rows) = &mut self.rows {
            let before = rows.slot;
            let answered = rows.advance(slot, entry, self.planted != Some(Planted::SetsBlindly))?;
            if answered == Answered::Stored && (rows.slot > before || self.planted == Some(Planted::SetsBlindly)) {
                self.log.insert(slot, entry.clone());
            }
            return Ok(answered);
        }
        if let Some(found) = self.log.get(&slot) {
            return Ok(Answered::Occupied(found.clone()));
        }
        self.log.insert(slot, entry.clone());
        Ok(Answered::Stored)
    }

    fn restart(&mut self, at: usize) {
        let Node { rate, offset, wall, cut, .. } = self.nodes[at];
        self.nodes[at] = Node { wall, cut, ..self.started(rate, offset) };
    }

    fn hear(&mut self, at: usize, answered: Answered) -> Result<(), String> {
        let now = self.now(at);
        self.nodes[at].waits = None;
        let events = self.nodes[at].group.heard(answered, now);
        self.act(at, events)
    }

    fn act(&mut self, at: usize, events: Vec<Event>) -> Result<(), String> {
        for event in events {
            match event {
                Event::Apply(entry) => self.nodes[at].copy.extend(entry.batches().iter().map(|batch| batch[0])),
                // One whose lease is over already learns soon that another one owns the group; until then it answers nobody.
                Event::Owned(epoch) => {
                    if self.nodes[at].group.answer(0, self.now(at)) == Leave::Yes {
                        self.has(at, &self.acknowledged, &format!("owner {epoch} lacks an acknowledged write"))?;
                        self.has(at, &self.seen, &format!("owner {epoch} lacks what a reader has seen"))?;
                    }
                }
                Event::Committed(place) => self.acknowledged.extend(&self.nodes[at].copy[..place as usize]),
                Event::Disowned(place) => {
                    let from = self.nodes[at].group.known().place as usize;
                    self.disowned.extend(self.nodes[at].copy.drain(from..place as usize));
                }
                Event::Ended(End::Disordered(slot)) => {
                    return Err(format!("slot {slot} contradicts the log before it"));
                }
                Event::Ended(_) => {
                    self.restart(at);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// A client asks a node for everything.
    fn read(&mut self, at: usize) -> Result<(), String> {
        self.has(at, &self.acknowledged, "a reader does not see an acknowledged write")?;
        self.has(at, &self.seen, "a reader does not see what an earlier reader saw")?;
        self.seen.extend(&self.nodes[at].copy);
        Ok(())
    }

    fn has(&self, at: usize, wanted: &BTreeSet<Token>, what: &str) -> Result<(), String> {
        let copy: BTreeSet<Token> = self.nodes[at].copy.iter().copied().collect();
        match wanted.is_subset(&copy) {
            true => Ok(()),
            false => Err(format!("{what}: wanted {wanted:?}, has {copy:?}")),
        }
    }

    /// How many writes the client was told to be done.
    pub fn acknowledged(&self) -> usize {
        self.acknowledged.len()
    }

    /// The ownership of the newest entry.
    pub fn epoch(&self) -> u64 {
        self.log.last_key_value().map_or(0, |(_, entry)| entry.epoch)
    }
}
