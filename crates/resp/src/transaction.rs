//! Commands that stand alone, and those between MULTI and EXEC: on the engine's serialisable transactions.

use std::cell::RefCell;
use std::sync::Arc;

use nuthatch_link::Transaction;

use crate::call::Call;
use crate::commands::{Run, Spec, TABLE, named};
use crate::context::{CommandContext, Finish};
use crate::failure::{Failure, Outcome};
use crate::prepared::Prepared;
use crate::protocol::{Command, Reply};
use crate::purge::purge_if_due;
use crate::queued::{Queue, Watch};
use crate::session::Session;
use crate::tenant::{Space, Tenant};

/// Times that a transaction is tried next to other writers; then it blocks the tenant's other writes.
const OPTIMISTIC_TRIES: u32 = 4;
/// Times in all. Only writers through other faces get in the way after the optimistic ones.
const TRIES_MAX: u32 = 1000;

impl Session {
    /// Runs a command by itself.
    pub fn run(&mut self, spec: &'static Spec, arguments: &[Vec<u8>]) -> Outcome<Reply> {
        match spec.run {
            Run::Session(run) => run(self, arguments),
            Run::Queue => self.exec(),
            Run::Data(run) => {
                let outcome = self.run_alone(spec, run, arguments);
                if spec.empties_database() {
                    self.account("redis.flushdb", &self.database.to_string(), outcome.as_ref().err());
                }
                outcome
            }
            Run::Named(operation) => self.run_alone(spec, |call| named::ask(operation, call), arguments),
        }
    }

    /// The same of one that reads or writes data.
    fn run_alone(
        &mut self,
        spec: &'static Spec,
        run: impl Fn(&mut Call<'_, '_>) -> Outcome<Reply>,
        arguments: &[Vec<u8>],
    ) -> Outcome<Reply> {
        let (tenant, space) = (self.tenant()?, self.space()?);
        let durability = self.write_durability();
        purge_if_due(&space, &tenant, durability, self.now_ms())?;
        for _ in 0..TRIES_MAX {
            let now_ms = self.now_ms();
            let (outcome, post_commit) = {
                let _turn = spec.scope.writes().then(|| tenant.turn.read());
                let _sets = spec.writes_elements.then(|| tenant.sets.read());
                let mut context = CommandContext::live(&tenant, &space, durability, now_ms);
                let mut call = Call { context: &mut context, arguments, protocol: self.protocol };
                let outcome = run(&mut call).and_then(|reply| Ok((reply, context.finish()?)));
                let outcome = match context.needs_transaction() {
                    true => Ok((Reply::Null, Finish::NeedsTransaction)),
                    false => outcome,
                };
                if !matches!(&outcome, Ok((_, Finish::Done { .. }))) {
                    context.undo()?;
                }
                (outcome, context.take_post_commit())
            };
            match outcome {
                Ok((reply, Finish::Done { wrote })) => {
                    if wrote || !post_commit.is_empty() {
                        self.note_write();
                    }
                    if wrote && spec.may_grow() {
                        tenant.growth.tell();
                    }
                    post_commit
                        .into_iter()
                        .try_for_each(|post_commit| post_commit.run(&tenant, &space, durability, now_ms))?;
                    return Ok(reply);
                }
                Ok((_, Finish::Changed)) => {}
                Ok((_, Finish::NeedsTransaction)) => {
                    let _turn = match (spec.scope.writes(), arguments.first()) {
                        (true, Some(key)) => Some(tenant.lock_rows(space.number, key)),
                        _ => None,
                    };
                    let replies = self.run_together(&[(spec, arguments.to_vec())], &[])?;
                    let reply = replies.and_then(|mut replies| replies.pop()).ok_or_else(Failure::conflict)?;
                    return reply;
                }
                Err(failure) if failure.is_conflict() => {}
                Err(failure) => {
                    if failure.is_not_found() && space.is_gone() {
                        // Another face has dropped it; the next command finds a new one.
                        tenant.forget_space(space.number);
                        self.select(self.database);
                    }
                    return Err(failure);
                }
            }
        }
        Err(Failure::conflict())
    }

    /// Runs several writes of a pipeline as one, in their order, each with its own outcome.
    pub fn run_in_turn(&mut self, commands: &[(&'static Spec, Command)]) -> Outcome<Option<Vec<Outcome<Reply>>>> {
        let (tenant, space) = (self.tenant()?, self.space()?);
        purge_if_due(&space, &tenant, self.write_durability(), self.now_ms())?;
        let keys = commands.iter().filter_map(|(_, arguments)| arguments.first());
        let _rows = tenant.lock_rows_of(space.number, keys.map(Vec::as_slice));
        self.run_together(commands, &[])
    }

    /// EXEC: the replies, or none when a watched key has changed.
    fn exec(&mut self) -> Outcome<Reply> {
        let Some(queue) = self.queue.take() else {
            return Err(Failure::error("EXEC without MULTI"));
        };
        let watched = std::mem::take(&mut self.watched);
        // Only the user who queued the commands may run them, whatever changes the grant in between.
        let is_another_s = !self.has_queued(&queue);
        let Queue { commands, broken, .. } = queue;
        if broken || is_another_s {
            return Err(Failure::new("EXECABORT", "Transaction discarded because of previous errors."));
        }
        let commands: Vec<(&Spec, Command)> =
            commands.into_iter().map(|(number, arguments)| (&TABLE[number], arguments)).collect();
        let Some(outcomes) = self.run_together(&commands, &watched)? else { return Ok(Reply::NullArray) };
        let replies =
            outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(|failure| Reply::Error(failure.line())));
        Ok(Reply::Array(replies.collect()))
    }

    /// Runs several commands as one; none when a watched key is not as it was.
    fn run_together(
        &mut self,
        commands: &[(&'static Spec, Command)],
        watched: &[Watch],
    ) -> Outcome<Option<Vec<Outcome<Reply>>>> {
        let tenant = self.tenant()?;
        let prepared = RefCell::new(Prepared::default());
        let database = self.database;
        let mut outcome = Err(Failure::conflict());
        for tried in 0..TRIES_MAX {
            prepared.borrow_mut().rewind();
            self.select(database);
            outcome = {
                let (_shared, _alone);
                match tried < OPTIMISTIC_TRIES {
                    true => _shared = tenant.turn.read(),
                    false => _alone = tenant.turn.write(),
                }
                let _sets = commands.iter().any(|(spec, _)| spec.writes_elements).then(|| tenant.sets.read());
                self.try_together(&tenant, commands, watched, &prepared)
            };
            match &outcome {
                Err(failure) if failure.is_conflict() => {}
                _ => break,
            }
        }
        let committed = matches!(&outcome, Ok(Some(_)));
        prepared.into_inner().left(committed).iter().try_for_each(|name| tenant.drop_collection(name))?;
        let durability = self.write_durability();
        match outcome? {
            None => Ok(None),
            Some(Together { replies, post_commits, emptied }) => {
                if commands.iter().any(|(spec, _)| spec.scope.writes()) {
                    self.note_write();
                }
                if commands.iter().any(|(spec, _)| spec.may_grow()) {
                    tenant.growth.tell();
                }
                for number in emptied {
                    self.account("redis.flushdb", &number.to_string(), None);
                }
                for (space, post_commit) in post_commits {
                    post_commit.run(&tenant, &space, durability, self.now_ms())?;
                }
                Ok(Some(replies))
            }
        }
    }

    fn try_together(
        &mut self,
        tenant: &Arc<Tenant>,
        commands: &[(&'static Spec, Command)],
        watched: &[Watch],
        prepared: &RefCell<Prepared>,
    ) -> Outcome<Option<Together>> {
        let transaction = tenant.database.transaction()?;
        for watch in watched {
            let space = tenant.space(watch.database)?;
            let entry = transaction.kv(space.keyspace.name())?.entry(&watch.key)?;
            if !watch.is_unchanged(entry.as_ref()) {
                return Ok(None);
            }
        }
        let (mut replies, mut post_commits) = (Vec::with_capacity(commands.len()), Vec::new());
        let mut emptied = Vec::new();
        for (spec, arguments) in commands {
            let outcome = match spec.run {
                Run::Session(run) => {
                    self.within = true;
                    let outcome = run(self, arguments);
                    self.within = false;
                    outcome
                }
                Run::Queue => self.exec(),
                Run::Data(run) => self.run_within(tenant, run, arguments, &transaction, prepared, &mut post_commits),
                Run::Named(operation) => {
                    let run = |call: &mut Call<'_, '_>| named::ask(operation, call);
                    self.run_within(tenant, run, arguments, &transaction, prepared, &mut post_commits)
                }
            };
            match outcome {
                Err(failure) if failure.is_conflict() => return Err(failure),
                outcome => {
                    if spec.empties_database() && outcome.is_ok() {
                        emptied.push(self.database);
                    }
                    replies.push(outcome);
                }
            }
        }
        transaction.commit(self.write_durability())?;
        Ok(Some(Together { replies, post_commits, emptied }))
    }

    fn run_within(
        &mut self,
        tenant: &Arc<Tenant>,
        run: impl Fn(&mut Call<'_, '_>) -> Outcome<Reply>,
        arguments: &[Vec<u8>],
        transaction: &Transaction,
        prepared: &RefCell<Prepared>,
        post_commits: &mut Vec<(Arc<Space>, crate::post_commit::PostCommit)>,
    ) -> Outcome<Reply> {
        let space = self.space()?;
        let mut context = CommandContext::within(tenant, &space, transaction, prepared, self.now_ms());
        let reply = run(&mut Call { context: &mut context, arguments, protocol: self.protocol })?;
        context.stage()?;
        post_commits.extend(context.take_post_commit().into_iter().map(|post_commit| (space.clone(), post_commit)));
        Ok(reply)
    }
}

/// The replies of a transaction's commands, and the work that follows its commit.
struct Together {
    replies: Vec<Outcome<Reply>>,
    post_commits: Vec<(Arc<Space>, crate::post_commit::PostCommit)>,
    /// The numbers of the databases that FLUSHDB has emptied.
    emptied: Vec<usize>,
}
