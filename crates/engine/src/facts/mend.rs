//! Facts after the store has lost a part: the facts that are left get their other rows again.

use std::ops::ControlFlow;

use nuthatch_store::{Batch, Direction, Reader, Shard, Table};

use crate::Result;
use crate::durability::Durability;
use crate::facts::draft::Draft;
use crate::facts::fact::Fact;
use crate::facts::key;
use crate::facts::value::{Rule, State, decode};
use crate::kv::{Live, Space, inline_value};
use crate::runtime::Runtime;

/// Facts of one batch.
const MENDED_AT_ONCE: usize = 500;

/// Whether rows without a name are those of facts.
pub(crate) fn looks_like_facts(reader: &dyn Reader, shard: Shard) -> Result<bool> {
    let stored = reader.get(Table::Kv, &shard.key(key::STATE))?;
    if stored.as_deref().and_then(inline_value).is_some_and(|state| decode::<State>(state).is_ok()) {
        return Ok(true);
    }
    let (mut facts, mut all) = (0, true);
    let prefix = shard.key(&key::all_facts());
    reader.scan(Table::Kv, &prefix, &nuthatch_store::after_prefix(&prefix), Direction::Forward, &mut |_, stored| {
        facts += 1;
        all &= inline_value(stored).is_some_and(|stored| decode::<Fact>(stored).is_ok());
        if all && facts < 16 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(all && facts > 0)
}

/// Rebuilds indexes, counts and numbers from the existing facts. Removes facts that cannot be read, and returns how
/// many.
pub(crate) fn mend_facts(shared: &std::sync::Arc<Runtime>, space: &Space) -> Result<u64> {
    let shard = space.shard;
    let store = shared.store()?;
    let before: State = store
        .get(Table::Kv, &shard.key(key::STATE))?
        .as_deref()
        .and_then(inline_value)
        .and_then(|state| decode(state).ok())
        .unwrap_or_default();
    let (mut lost, mut foreign, mut facts, mut rules) = (0, Vec::new(), Vec::new(), Vec::new());
    let mut batch = Batch::new();
    store.scan(Table::Kv, &shard.prefix(), &shard.end(), Direction::Forward, &mut |full, stored| {
        let row = Shard::suffix(full);
        match (row.first(), inline_value(stored)) {
            (Some(1), Some(value)) => match decode::<Fact>(value) {
                Ok(fact) => facts.push(fact.number),
                Err(_) => {
                    lost += 1;
                    foreign.push(full.to_vec());
                }
            },
            (Some(8), Some(value)) => match (key::predicate_of(row), decode::<Rule>(value)) {
                (Some(name), Ok(rule)) if rule.functional => rules.push(name),
                _ => foreign.push(full.to_vec()),
            },
            // Rows of aliases and of what extractors saw: without the latter, extractors are asked again.
            (Some(9..=13), _) if key::is_one(row) => {}
            _ => foreign.push(full.to_vec()),
        }
        ControlFlow::Continue(())
    })?;
    for name in &rules {
        foreign.push(shard.key(&key::rule(name)));
    }
    foreign.into_iter().for_each(|full| batch.delete(Table::Kv, full));
    shared.write(batch)?;
    // Counted from nothing: each fact is written as if it were new, under its number.
    let mut last = 0;
    for some in std::iter::once(&[][..]).chain(facts.chunks(MENDED_AT_ONCE)) {
        let rows = Live { space, reader: &*shared.store()? };
        let mut draft = Draft::of(&rows)?;
        if some.is_empty() {
            for name in &rules {
                draft.put(key::rule(name), &Rule { functional: true, facts: 0 })?;
            }
        }
        for number in some {
            if let Some(fact) = draft.fact(*number)? {
                draft.state.next = number - 1;
                draft.insert(fact)?;
                last = *number;
            }
        }
        draft.state.next = before.next.max(last);
        let mut batch = Batch::new();
        space.stage(&mut batch, draft.into_ops()?)?;
        shared.write(batch)?;
    }
    let position = shared.write(Batch::new())?;
    shared.make_durable(position, Durability::Commit)?;
    Ok(lost)
}
