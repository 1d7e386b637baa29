//! Opening a collection: load what the indexes hold, replay what they do not.

use std::collections::BTreeMap;
use std::sync::Arc;

use nuthatch_filter::Schema;
use nuthatch_store::Table;
use parking_lot::{Mutex, RwLock};

use crate::Result;
use crate::collection::descriptor::Descriptor;
use crate::collection::pending::{self, Pending};
use crate::collection::{Core, LateVectors, Upkeep, Writer};
use crate::descriptor::meta::{self, COUNTERS, Counters, Meta, SCHEMA};
use crate::embedder::EmbedderChoice;
use crate::index::{DerivedIndex, IndexWork, Indexed, Reach, Replayed, is_damage};
use crate::record::Row;
use crate::runtime::{RowLength, Runtime};
use crate::state::State;
use crate::state::batch_sizing::BatchSizing;
use crate::state::change::oldest_change;
use crate::tenant::Tenant;

impl Core {
    pub(crate) fn open(
        shared: Arc<Runtime>,
        tenant: Arc<Tenant>,
        meta: Meta,
        embedder: EmbedderChoice,
        indexes: Vec<Arc<dyn DerivedIndex>>,
    ) -> Result<Arc<Self>> {
        let shard = tenant.shard(meta.id);
        let store = shared.store()?;
        let store = &*store;
        let mut counters: Counters = meta::read(store, &shard.key(COUNTERS))?.unwrap_or_default();
        let pending = pending::todo_rows(store, shard)?;
        // A program that knows nothing of them has not counted them.
        counters.pending = pending.len();
        let schema = match store.get(Table::Catalog, &shard.key(SCHEMA))? {
            Some(bytes) => Schema::from_bytes(&bytes)?,
            None => Schema::default(),
        };
        let copy_folder = shared.folder.index(shard.tenant, shard.collection);
        match Meta::read_copy(&copy_folder) {
            Ok(Some(copy)) if meta::encode(&copy) == meta::encode(&meta) => {}
            Ok(_) => meta.write_copy(&copy_folder)?,
            Err(_) => {} // doctor names it, repair rewrites it; the catalog counts
        }
        let core = Self {
            shared: shared.clone(),
            cache: shared.memory.cache_of(tenant.number),
            tenant,
            shard,
            name: meta.name.clone(),
            language: meta.language.clone(),
            writer: Mutex::new(Writer { counters: counters.clone(), pending }),
            descriptor: RwLock::new(Arc::new(Descriptor::of(meta, schema)?)),
            state: RwLock::new(State::default()),
            indexes,
            index_work: IndexWork::default(),
            embedder: RwLock::new(embedder),
            upkeep: Upkeep::default(),
            late: LateVectors::default(),
            dropped: false.into(),
            row_length: RowLength::default(),
        };
        let mut state = core.load(&counters)?;
        core.replay(&mut state, &counters)?;
        *core.state.write() = state;
        Ok(Arc::new(core))
    }

    /// The indexes as they are on disk. Damage is noted, not fatal.
    fn load(&self, counters: &Counters) -> Result<State> {
        let reach =
            Reach { oldest: oldest_change(&*self.shared.store()?, self.shard, counters)?, newest: counters.sequence };
        let mut state = State::before_replay(counters.sequence);
        state.vectors = Pending::of(counters);
        for index in &self.indexes {
            let misses = match index.open(self, &reach, &mut state) {
                Err(error) if is_damage(&error) => Some(error.to_string()),
                opened => opened?,
            };
            if let Some(why) = misses {
                state.pass_by(index.id(), why);
            }
        }
        Ok(state)
    }

    /// Brings the state up to the store: rows that an index lacks go to the fresh side, removed ones die.
    fn replay(&self, state: &mut State, counters: &Counters) -> Result<()> {
        // A broken index takes nothing: a rebuild reads the store.
        let applied =
            |index: &Arc<dyn DerivedIndex>| (index.clone(), index.applied(state).unwrap_or(counters.sequence));
        let indexes: Vec<(Arc<dyn DerivedIndex>, u64)> = self.indexes.iter().map(applied).collect();
        let oldest = indexes.iter().map(|(_, applied)| *applied).min().unwrap_or(counters.sequence);
        let mut added: BTreeMap<u64, u64> = BTreeMap::new();
        self.each_change(oldest, &mut |sequence, change| {
            for row in change.removed {
                added.remove(&row);
                state.remove(row);
            }
            added.extend(change.added.into_iter().map(|row| (row, sequence)));
        })?;
        let added: Vec<(u64, u64)> = added.into_iter().collect();
        let fields = self.fields();
        let (mut batch_sizing, mut rest) = (BatchSizing::default(), &added[..]);
        while !rest.is_empty() {
            let (chunk, after) = rest.split_at(batch_sizing.rows().min(rest.len()));
            rest = after;
            let row_ids: Vec<u64> = chunk.iter().map(|(row, _)| *row).collect();
            let keys: Vec<Vec<u8>> = row_ids.iter().map(|row| self.shard.number_key(*row)).collect();
            let rows = self.shared.store()?.multi_get(Table::Records, &keys)?;
            let vectors = fields.vectors_of(&*self.shared.store()?, self.shard, &row_ids)?;
            let vector_bytes: usize = vectors.iter().flatten().map(|(_, value)| value.bytes()).sum();
            batch_sizing.learn(rows.iter().flatten().map(Vec::len).sum::<usize>() + vector_bytes);
            for (((row, sequence), stored), vectors) in chunk.iter().zip(rows).zip(vectors) {
                let Some(stored) = stored else { continue };
                let stored = Row::decode(&stored)?;
                let replayed = Replayed { row: *row, stored: &stored, vectors: &vectors, fields: &fields };
                for (index, _) in indexes.iter().filter(|(_, applied)| sequence > applied) {
                    index.replay(state, &replayed)?;
                }
            }
        }
        Ok(())
    }
}
