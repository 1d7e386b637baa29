//! The protocol of one group, without I/O: who owns it, what is committed, who may answer.
//!
//! **What it is.** A state machine. The code around it asks what to do ([`Group::next`]), does it, and reports what came of it
//! ([`Group::heard`]). It never reads a clock: every call says what time it is on the node's boot clock.
//! **Not for** bytes: entries are opaque here, and checkpoints are a slot.
//!
//! **Invariants.** A slot of the log is filled once. An entry that is in the log is in the log of every later owner. An answer that
//! [`Group::answer`] lets go shows nothing that a later owner may lack, and lacks nothing that an earlier owner acknowledged.
//!
//! `tests/protocol_model.rs` explores all interleavings of small runs, `tests/protocol_simulator.rs` samples large ones.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Entry, Epoch, Kind, Mark, Place, Reach, Slot};

/// Milliseconds on the boot clock of one node. Those of two nodes are never compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Boot(pub u64);

/// How long things may take, the same on every node of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timing {
    /// An owner without writes says this often that it is alive.
    pub beat_ms: u64,
    /// A follower that saw nothing new for so long takes over.
    pub lease_ms: u64,
    /// A follower looks this often for something new.
    pub poll_ms: u64,
}

impl Timing {
    /// Everything in proportion to the lease.
    pub fn of_lease(lease_ms: u64) -> Self {
        Self { beat_ms: lease_ms / 5, lease_ms, poll_ms: lease_ms / 20 }
    }

    /// How long after it sent an entry an owner may answer: clocks whose rates differ by up to a tenth keep this shorter than a
    /// follower's `lease_ms`.
    fn holds_ms(&self) -> u64 {
        self.lease_ms * 4 / 5
    }
}

/// A request to the log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// The entry in this slot.
    Read(Slot),
    /// This entry into this slot, if that is empty.
    Append(Slot, Entry),
    /// The mark of the newest checkpoint.
    Newest,
}

/// An answer of the log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Answered {
    /// To [`Call::Read`].
    Read(Option<Entry>),
    /// To [`Call::Append`]: it is there now.
    Stored,
    /// To [`Call::Append`]: this is there, and was before. It may be the very same entry.
    Occupied(Entry),
    /// To [`Call::Newest`]: the default when there is none.
    Newest(Mark),
    /// To [`Call::Newest`]: a reader or writer that reaches a trimmed part of the log is told so.
    Guarded,
    /// To [`Call::Read`] and [`Call::Append`]: the log had an entry there, which is behind a checkpoint now.
    Trimmed,
    /// Nothing came back. An append may have been done, and may still be.
    Unknown,
}

/// An event for the surrounding code to act on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Another node's entry, to be applied to this node's copy before the next event.
    Apply(Entry),
    /// This node's fence is in the log, and its copy has everything before that. Whether it still owns the group,
    /// [`Group::answer`] says.
    Owned(Epoch),
    /// Everything up to this place is committed.
    Committed(Place),
    /// A planted bug: what was told to callers as not written.
    #[doc(hidden)]
    Disowned(Place),
    /// It is over; the copy is to be thrown away unless all of it was committed.
    Ended(End),
}

/// Why a node starts over from the newest checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// Another node took over with this epoch.
    Fenced(Epoch),
    /// The log that it follows was trimmed behind a checkpoint that it does not have.
    Behind,
    /// It has released the group.
    Released,
    /// The log contradicts itself at this slot.
    Disordered(Slot),
}

/// Whether an answer may leave the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// Now.
    Yes,
    /// Not before something more is committed, or the lease is renewed.
    NotYet,
    /// Never: another node may own the group.
    Never,
}

/// Mistakes that the checker and the simulator must find.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bug {
    /// An owner whose slot is occupied by another epoch goes on to the next slot.
    IgnoresEpoch,
    /// An owner that hears nothing takes its entry for not written, and says so.
    FailsOnTimeout,
    /// Answers leave before what they saw is committed.
    HoldsNothing,
    /// A fence counts without a look at the newest checkpoint.
    TrustsFence,
    /// A lease begins when the answer comes, not when the request was sent.
    CountsFromAnswer,
    /// A fence counts where no checkpoint reaches its slot, whatever the log before it was.
    ComparesSlotsAlone,
    /// An owner is taken for dead without proof.
    BelievesDeath,
    /// An owner answers without looking at its lease.
    IgnoresLease,
    /// An owner that hands over goes on answering until the next one shows.
    AnswersAfterRelease,
}

/// One node's part in one group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Group {
    writer: u128,
    address: String,
    reach: Reach,
    timing: Timing,
    known: Known,
    /// The ownership whose owner is dead.
    bereft: Option<Epoch>,
    /// It never takes over.
    abstains: bool,
    /// The mark that it found at each slot since the newest checkpoint that it compared itself with, until it is the
    /// owner.
    passed: VecDeque<Mark>,
    /// It compares itself again when it has passed more slots than this.
    compares_at: usize,
    role: Role,
    /// The entry that was sent to the log and is not settled.
    sending: Option<Sending>,
    /// The call under way, and when it was begun.
    asked: Option<(Asked, Boot)>,
    bug: Option<Bug>,
}

/// The state of the log up to a slot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Known {
    /// The slot.
    pub slot: Slot,
    /// The ownership there.
    pub epoch: Epoch,
    /// Batches up to there.
    pub place: Place,
    /// Where the owner answers; empty when nobody owns the group.
    pub address: String,
    /// How else the owner is reached.
    #[serde(default)]
    pub reach: Reach,
    /// Whom the owner that released the group named.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub heir: String,
}

impl Known {
    /// The same, without the owner.
    pub fn mark(&self) -> Mark {
        let Self { slot, epoch, place, .. } = *self;
        Mark { slot, epoch, place }
    }

    /// Advances to the entry of a later slot. No entry in between may be a fence or a release.
    pub(crate) fn follow(&mut self, slot: Slot, entry: &Entry) {
        self.slot = slot;
        self.epoch = entry.epoch;
        self.place = entry.through();
        match &entry.kind {
            Kind::Fence { address, reach } => {
                self.address.clone_from(address);
                self.reach.clone_from(reach);
                self.heir.clear();
            }
            Kind::Release { heir } => {
                self.address.clear();
                self.reach = Reach::default();
                self.heir.clone_from(heir);
            }
            Kind::Batches(_) => {}
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Role {
    /// `moved`: when it saw the log grow last, or began to look.
    Follower {
        moved: Boot,
        polled: Option<Boot>,
    },
    /// Its fence is being sent.
    Candidate,
    /// Its fence, sent at this time, is in the log. But this node may have read where the log was trimmed.
    Unconfirmed(Boot),
    /// This slot contradicts those before it: either the log is damaged, or this node reads where it was trimmed.
    Doubtful(Slot),
    Owner(Ownership),
    Ended(End),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Ownership {
    /// When the newest entry that is in the log was sent first.
    renewed: Boot,
    /// Written here, and in no entry yet.
    queue: VecDeque<Arc<[u8]>>,
    /// Batches up to and with the queue.
    written: Place,
    /// It gives the group up, to this node.
    releasing: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Sending {
    entry: Entry,
    /// When it was sent for the first time.
    sent: Option<Boot>,
    /// It may be in the log: read before it is sent again.
    is_unclear: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Asked {
    Read,
    Append,
    Newest,
}

/// Slots that a follower remembers before it compares itself with the newest checkpoint.
const PASSED_MAX: usize = 4096;
/// How often a follower looks that waits for somebody else to own the group.
const UNOWNED_POLL_MS: u64 = 50;
/// Bytes of batches in one entry, unless its first batch alone has more.
const ENTRY_BYTES_MAX: usize = 8 << 20;

impl Group {
    /// A follower whose copy has everything up to `known`. `writer`: random, new with every call.
    pub fn new(writer: u128, address: &str, timing: Timing, known: Known, now: Boot) -> Self {
        let role = Role::Follower { moved: now, polled: None };
        let passed = VecDeque::from([known.mark()]);
        Self {
            writer,
            address: address.into(),
            reach: Reach::default(),
            timing,
            known,
            bereft: None,
            abstains: false,
            passed,
            compares_at: PASSED_MAX,
            role,
            sending: None,
            asked: None,
            bug: None,
        }
    }

    /// The same, that others reach in more ways. Without effect where the addresses are too long together.
    #[must_use]
    pub fn reached(self, reach: Reach) -> Self {
        let reach = reach.beside(&self.address);
        Self { reach, ..self }
    }

    /// The same, that follows and never takes over.
    #[must_use]
    pub fn abstaining(self, abstains: bool) -> Self {
        Self { abstains, ..self }
    }

    /// The same with a mistake in it.
    #[doc(hidden)]
    pub fn with_bug(self, bug: Option<Bug>) -> Self {
        Self { bug, ..self }
    }

    /// Returns the next request to the log. One call at a time: `None` until the last one was answered, or while there
    /// is nothing to do.
    pub fn next(&mut self, now: Boot) -> Option<Call> {
        if self.asked.is_some() {
            return None;
        }
        if let Role::Owner(owned) = &mut self.role
            && self.sending.is_none()
        {
            let is_due = now.0 >= owned.renewed.0 + self.timing.beat_ms;
            if owned.queue.is_empty() && owned.releasing.is_none() && !is_due {
                return None;
            }
            let kind = match owned.releasing.clone().filter(|_| owned.queue.is_empty()) {
                Some(heir) => Kind::Release { heir },
                None => Kind::Batches(take_some(&mut owned.queue)),
            };
            self.sending = Some(Sending { entry: self.entry(self.known.epoch, kind), sent: None, is_unclear: false });
        }
        let (slot, looks_after_ms) = (self.known.slot + 1, self.looks_after_ms());
        let (call, asked) = match &mut self.role {
            Role::Ended(_) => return None,
            Role::Follower { .. } if self.passed.len() > self.compares_at => (Call::Newest, Asked::Newest),
            Role::Follower { polled, .. } => {
                if polled.is_some_and(|at| now.0 < at.0 + looks_after_ms) {
                    return None;
                }
                (Call::Read(slot), Asked::Read)
            }
            Role::Unconfirmed(_) | Role::Doubtful(_) => (Call::Newest, Asked::Newest),
            Role::Candidate | Role::Owner(_) => {
                let sending = self.sending.as_mut()?;
                match sending.is_unclear {
                    true => (Call::Read(slot), Asked::Read),
                    false => {
                        sending.sent.get_or_insert(now);
                        (Call::Append(slot, sending.entry.clone()), Asked::Append)
                    }
                }
            }
        };
        self.asked = Some((asked, now));
        Some(call)
    }

    /// The polling interval. It is shorter while the group has no owner, since the next owner appears soon.
    fn looks_after_ms(&self) -> u64 {
        match self.known.address.is_empty() {
            true => self.timing.poll_ms.min(UNOWNED_POLL_MS),
            false => self.timing.poll_ms,
        }
    }

    /// When [`next`](Self::next) may have something to do although nothing happens until then.
    pub fn wakes(&self) -> Option<Boot> {
        match &self.role {
            Role::Follower { polled, .. } => Some(Boot(polled.map_or(0, |at| at.0 + self.looks_after_ms()))),
            Role::Owner(owned) if self.sending.is_none() => Some(Boot(owned.renewed.0 + self.timing.beat_ms)),
            Role::Ended(_) => None,
            _ => Some(Boot(0)),
        }
    }

    /// The answer to the call that [`next`](Self::next) gave out last.
    ///
    /// # Panics
    /// When no call is under way.
    pub fn heard(&mut self, answered: Answered, now: Boot) -> Vec<Event> {
        let (asked, began) = self.asked.take().expect("an answer belongs to a call");
        match (asked, answered) {
            (Asked::Read, Answered::Read(found)) => self.found(found, began, now),
            (Asked::Append, Answered::Stored) => self.stored(now),
            (Asked::Append, Answered::Occupied(entry)) => self.occupied(entry, now),
            (Asked::Append, Answered::Unknown) => self.unknown(),
            (Asked::Newest, Answered::Newest(checkpoint)) => self.confirmed(checkpoint),
            (Asked::Newest, Answered::Guarded) => {
                self.passed.clear();
                self.confirmed(Mark::default())
            }
            // Of an owner, too: the log goes on without it.
            (Asked::Read | Asked::Append, Answered::Trimmed) => self.end(End::Behind),
            // Asked again.
            _ => Vec::new(),
        }
    }

    fn found(&mut self, found: Option<Entry>, began: Boot, now: Boot) -> Vec<Event> {
        match (&mut self.role, found) {
            (Role::Follower { polled, .. }, Some(entry)) => {
                *polled = None;
                self.apply(entry, now)
            }
            (Role::Follower { moved, polled }, None) => {
                *polled = Some(began).filter(|_| self.timing.poll_ms > 0);
                // When the request was sent, the lease of the last entry's writer was over, and the request saw nothing
                // newer.
                let is_over = began.0 >= moved.0 + self.timing.lease_ms;
                let is_heir = self.known.heir.is_empty() || self.known.heir == self.address;
                let is_free = self.known.address.is_empty() && is_heir;
                let is_bereft = self.bereft == Some(self.known.epoch);
                if (is_over || is_free || is_bereft) && !self.abstains {
                    let (address, reach) = (self.address.clone(), self.reach.clone());
                    let entry = self.entry(self.known.epoch + 1, Kind::Fence { address, reach });
                    self.sending = Some(Sending { entry, sent: None, is_unclear: false });
                    self.role = Role::Candidate;
                }
                Vec::new()
            }
            (_, Some(entry)) => self.occupied(entry, now),
            (_, None) => {
                if let Some(sending) = &mut self.sending {
                    sending.is_unclear = false; // the same entry again
                }
                Vec::new()
            }
        }
    }

    /// Somebody's entry is where this node's was to be.
    fn occupied(&mut self, entry: Entry, now: Boot) -> Vec<Event> {
        if self.sending.as_ref().is_some_and(|sending| sending.entry == entry) {
            return self.stored(now);
        }
        match self.role {
            Role::Candidate => {
                self.sending = None;
                self.apply(entry, now)
            }
            _ if self.bug == Some(Bug::IgnoresEpoch) => self.skip(),
            _ if !entry.is_kept() => self.doubt(),
            _ if self.follows(&entry) => self.end(End::Fenced(entry.epoch)),
            // Into the next slot: the request for this one can do nothing any more.
            _ => self.skip(),
        }
    }

    /// Whether an entry may stand behind what this node knows.
    fn follows(&self, entry: &Entry) -> bool {
        let raised = u64::from(entry.is_kept());
        entry.before == self.known.place && entry.epoch == self.known.epoch + raised
    }

    /// A fence of a node that did not know the log before it: void, for everybody who does.
    fn skip(&mut self) -> Vec<Event> {
        self.known.slot += 1;
        if let Some(sending) = &mut self.sending {
            sending.is_unclear = false;
        }
        self.pass();
        Vec::new()
    }

    fn doubt(&mut self) -> Vec<Event> {
        self.sending = None;
        self.role = Role::Doubtful(self.known.slot + 1);
        Vec::new()
    }

    fn pass(&mut self) {
        if !matches!(self.role, Role::Owner(_)) {
            self.passed.push_back(self.known.mark());
        }
    }

    fn stored(&mut self, now: Boot) -> Vec<Event> {
        let Some(Sending { entry, sent, .. }) = self.sending.take() else { return Vec::new() };
        let sent = match self.bug {
            Some(Bug::CountsFromAnswer) => now,
            _ => sent.unwrap_or_default(),
        };
        let before = self.known.place;
        self.known.follow(self.known.slot + 1, &entry);
        match &mut self.role {
            Role::Owner(_) if matches!(entry.kind, Kind::Release { .. }) => self.end(End::Released),
            Role::Owner(owned) => {
                owned.renewed = sent;
                match self.known.place > before {
                    true => vec![Event::Committed(self.known.place)],
                    false => Vec::new(),
                }
            }
            _ if self.bug == Some(Bug::TrustsFence) => {
                self.role = Role::Unconfirmed(sent);
                self.confirmed(Mark::default())
            }
            _ => {
                self.role = Role::Unconfirmed(sent);
                Vec::new()
            }
        }
    }

    /// Nobody knows whether the entry is in the log. It is never taken back: it is sent until somebody else's is found there.
    fn unknown(&mut self) -> Vec<Event> {
        if self.bug == Some(Bug::FailsOnTimeout)
            && let Role::Owner(owned) = &mut self.role
            && let Some(Sending { entry, .. }) = self.sending.take()
        {
            let place = entry.through();
            owned.written -= entry.batches().len() as Place;
            return vec![Event::Disowned(place)];
        }
        if let Some(sending) = &mut self.sending {
            sending.is_unclear = true;
        }
        Vec::new()
    }

    /// The log may have been trimmed up to a checkpoint, and a late fence may lie there. A node that passed the
    /// checkpoint's slot with exactly the checkpoint's mark, and reads on from there, has the log.
    fn confirmed(&mut self, checkpoint: Mark) -> Vec<Event> {
        let found = self.passed.iter().find(|mark| mark.slot == checkpoint.slot);
        let differs = found.is_some_and(|mark| *mark != checkpoint) && self.bug != Some(Bug::ComparesSlotsAlone);
        let renewed = match self.role {
            _ if differs => return self.end(End::Behind),
            Role::Unconfirmed(_) if checkpoint.slot >= self.known.slot => return self.end(End::Behind),
            Role::Unconfirmed(renewed) => renewed,
            Role::Doubtful(_) if checkpoint.slot > self.known.slot => return self.end(End::Behind),
            Role::Doubtful(slot) => return self.end(End::Disordered(slot)),
            _ => {
                self.passed.retain(|mark| mark.slot > checkpoint.slot);
                self.compares_at = self.passed.len() + PASSED_MAX;
                return Vec::new();
            }
        };
        self.passed.clear();
        let written = self.known.place;
        self.role = Role::Owner(Ownership { renewed, queue: VecDeque::new(), written, releasing: None });
        vec![Event::Owned(self.known.epoch)]
    }

    fn apply(&mut self, entry: Entry, now: Boot) -> Vec<Event> {
        let follows = self.follows(&entry);
        match (follows, entry.is_kept()) {
            (true, _) => self.known.follow(self.known.slot + 1, &entry),
            (false, true) => self.known.slot += 1, // void
            (false, false) => return self.doubt(),
        }
        self.role = Role::Follower { moved: now, polled: None };
        self.pass();
        if follows { vec![Event::Apply(entry)] } else { Vec::new() }
    }

    fn end(&mut self, end: End) -> Vec<Event> {
        (self.role, self.sending) = (Role::Ended(end.clone()), None);
        vec![Event::Ended(end)]
    }

    fn entry(&self, epoch: Epoch, kind: Kind) -> Entry {
        Entry { epoch, writer: self.writer, before: self.known.place, kind }
    }

    /// Queues a batch that this node's copy has. The place that it will have in the log; `None` when this node does not own the
    /// group, or is about to release it.
    pub fn write(&mut self, batch: Arc<[u8]>) -> Option<Place> {
        let Role::Owner(owned) = &mut self.role else { return None };
        if owned.releasing.is_some() {
            return None;
        }
        owned.queue.push_back(batch);
        owned.written += 1;
        Some(owned.written)
    }

    /// Whether an answer may leave that saw everything written here up to `seen`.
    pub fn answer(&self, seen: Place, now: Boot) -> Leave {
        let Role::Owner(owned) = &self.role else { return Leave::Never };
        if owned.releasing.is_some() && self.bug != Some(Bug::AnswersAfterRelease) {
            return Leave::Never;
        }
        let is_committed = seen <= self.known.place || self.bug == Some(Bug::HoldsNothing);
        let holds = now.0 < owned.renewed.0 + self.timing.holds_ms() || self.bug == Some(Bug::IgnoresLease);
        match is_committed && holds {
            true => Leave::Yes,
            false => Leave::NotYet,
        }
    }

    /// Commits what was written, and gives the group up: to the node that answers at `heir`, or to any if that is empty. No answer
    /// leaves any more.
    pub fn release(&mut self, heir: &str) -> Vec<Event> {
        match &mut self.role {
            Role::Owner(owned) => {
                owned.releasing.get_or_insert_with(|| heir.into());
                Vec::new()
            }
            Role::Ended(_) => Vec::new(),
            _ => self.end(End::Released),
        }
    }

    /// Somebody says that the owner's process has ended, and proves it with the key that the owner's [`Watch`](crate::Watch) kept. Such an owner
    /// answers nothing any more, so its lease is over; what it has sent may still come, as ever. Whether this was the owner.
    pub fn died(&mut self, key: &[u8; 32]) -> bool {
        let is_proof = self.known.reach.watch.as_ref().is_some_and(|watch| watch.opens(key));
        if is_proof || self.bug == Some(Bug::BelievesDeath) {
            self.bereft = Some(self.known.epoch);
            self.look();
        }
        is_proof
    }

    /// The log may have grown: a follower does not wait until it would look.
    pub fn look(&mut self) {
        if let Role::Follower { polled, .. } = &mut self.role {
            *polled = None;
        }
    }

    /// Returns its knowledge of the log; for an owner, the committed state.
    pub fn known(&self) -> &Known {
        &self.known
    }

    /// Batches that an owner was given.
    pub fn written(&self) -> Option<Place> {
        match &self.role {
            Role::Owner(owned) => Some(owned.written),
            _ => None,
        }
    }

    /// Why it is over.
    pub fn ended(&self) -> Option<&End> {
        match &self.role {
            Role::Ended(end) => Some(end),
            _ => None,
        }
    }
}

fn take_some(queue: &mut VecDeque<Arc<[u8]>>) -> Vec<Arc<[u8]>> {
    let mut bytes = 0;
    let mut fits = |batch: &Arc<[u8]>| {
        bytes += batch.len();
        bytes <= ENTRY_BYTES_MAX
    };
    let count = queue.iter().take_while(|batch| fits(batch)).count().max(1).min(queue.len());
    queue.drain(..count).collect()
}
