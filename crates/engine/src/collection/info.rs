//! The description of a collection in listings, whether it is open or not.
//!
//! **Useful for** listings, statistics and metrics, which clients poll every few seconds: a closed collection stays
//! closed, and an open one keeps its memory. **Not for** finding damage in a closed collection's index files: opening
//! it does that, or `doctor`.
//!
//! **Invariant:** telling of a closed collection reads the store and its manifest, and leaves nothing open.

use std::collections::BTreeSet;

use nuthatch_filter::Schema;
use nuthatch_store::{Reader, Shard, Table};
use parking_lot::RwLock;

use crate::collection::descriptor::Descriptor;
use crate::collection::{BuildProgress, Building, Collection, CollectionInfo, Core, ReadSource, VectorFieldInfo};
use crate::descriptor::field::Field;
use crate::descriptor::meta::{self, COUNTERS, Counters, Meta, meta_key};
use crate::folder::Folder;
use crate::index::{Reach, SEGMENTS, is_damage};
use crate::state::State;
use crate::state::change::{each_change, oldest_change};
use crate::state::manifest::Manifest;
use crate::state::segment::Segment;
use crate::{Error, Result};

impl Collection {
    /// Describes the collection and its contents as they are now.
    pub fn info(&self) -> CollectionInfo {
        self.core.info()
    }
}

impl Core {
    pub(crate) fn info(&self) -> CollectionInfo {
        let (descriptor, counters) = {
            let writer = self.writer.lock();
            (self.descriptor(), writer.counters.clone())
        };
        Indexes::of_open(self, &self.state).described(&descriptor, &counters)
    }

    /// The same as of a snapshot. Its indexes are those that answer for the snapshot; what is being built is of now.
    pub(crate) fn info_at(&self, place: ReadSource<'_>) -> Result<CollectionInfo> {
        let meta: Option<Meta> = meta::read(place.reader, &meta_key(self.shard.tenant, &self.name))?;
        let meta = meta.ok_or_else(|| Error::internal(format!("a snapshot lost the options of {:?}", self.name)))?;
        let (schema, counters) = stored(place.reader, self.shard)?;
        Ok(Indexes::of_open(self, place.state).described(&Descriptor::of(meta, schema)?, &counters))
    }
}

/// The payload fields and the counters of a collection.
fn stored(reader: &dyn Reader, shard: Shard) -> Result<(Schema, Counters)> {
    let counters = meta::read(reader, &shard.key(COUNTERS))?.unwrap_or_default();
    let schema = match reader.get(Table::Catalog, &shard.key(meta::SCHEMA))? {
        Some(bytes) => Schema::from_bytes(&bytes)?,
        None => Schema::default(),
    };
    Ok((schema, counters))
}

impl CollectionInfo {
    /// The listing of a collection that no one has open.
    pub(crate) fn of_closed(reader: &dyn Reader, folder: &Folder, shard: Shard, meta: Meta) -> Result<Self> {
        let (schema, counters) = stored(reader, shard)?;
        let segments = folder.index(shard.tenant, shard.collection).join(SEGMENTS.folder);
        let indexes = match Manifest::read(&segments) {
            Ok(manifest) => Indexes::of_closed(reader, &segments, shard, &manifest.unwrap_or_default(), &counters)?,
            Err(error) if is_damage(&error) => Indexes::broken(error.to_string()),
            Err(error) => return Err(error),
        };
        Ok(indexes.described(&Descriptor::of(meta, schema)?, &counters))
    }
}

/// The indexes of a collection, as a listing describes them.
struct Indexes {
    fresh_rows: u64,
    segments: usize,
    vector_graphs: usize,
    building: Option<BuildProgress>,
    degraded: Vec<String>,
}

impl Indexes {
    fn of_open(core: &Core, state: &RwLock<State>) -> Self {
        let state = state.read();
        Self {
            fresh_rows: state.fresh_rows() as u64,
            segments: state.segments.len(),
            vector_graphs: state.segments.iter().filter(|view| view.segment.has_graph()).count(),
            building: core.index_work.building.lock().as_ref().map(Building::progress),
            degraded: state.degraded(),
        }
    }

    /// From the manifest, and from the writes that the log has since.
    fn of_closed(
        reader: &dyn Reader,
        segments: &std::path::Path,
        shard: Shard,
        manifest: &Manifest,
        counters: &Counters,
    ) -> Result<Self> {
        let reach = Reach { oldest: oldest_change(reader, shard, counters)?, newest: counters.sequence };
        if let Some(why) = reach.misses(manifest.applied) {
            return Ok(Self::broken(why));
        }
        let mut fresh = BTreeSet::new();
        each_change(reader, shard, manifest.applied, &mut |_, change| {
            for row in change.removed {
                fresh.remove(&row);
            }
            fresh.extend(change.added);
        })?;
        let has_graph = |segment: &u64| Segment::has_graph_in(&segments.join(segment.to_string()));
        Ok(Self {
            fresh_rows: fresh.len() as u64,
            segments: manifest.segments.len(),
            vector_graphs: manifest.segments.iter().map(|segment| segment.id).filter(has_graph).count(),
            building: None,
            degraded: Vec::new(),
        })
    }

    fn broken(why: String) -> Self {
        let mut state = State::default();
        state.pass_by(SEGMENTS, why);
        Self { fresh_rows: 0, segments: 0, vector_graphs: 0, building: None, degraded: state.degraded() }
    }

    fn described(self, descriptor: &Descriptor, counters: &Counters) -> CollectionInfo {
        let Descriptor { meta, fields, schema } = descriptor;
        let kinds = schema
            .fields()
            .map(|(field, kinds)| (field.to_string(), kinds.iter().map(|kind| kind.name().to_string()).collect()));
        let unnamed = fields.unnamed();
        let of_field = |field: &Field| VectorFieldInfo {
            name: field.name.clone(),
            kind: field.kind().as_str().into(),
            dim: field.dim.unwrap_or(0),
            metric: field.metric,
            element: field.element,
            vectors: counters.of_field(field.id),
        };
        CollectionInfo {
            name: meta.name.clone(),
            dim: meta.dim,
            metric: unnamed.metric,
            element: unnamed.element,
            language: meta.language.clone(),
            embedder: meta.embedder.as_ref().map(|embedder| embedder.name.clone()),
            rows: counters.rows,
            vectors: counters.vectors,
            pending: counters.pending,
            vector_fields: fields.iter_named().map(of_field).collect(),
            fresh_rows: self.fresh_rows,
            segments: self.segments,
            vector_graphs: self.vector_graphs,
            building: self.building,
            degraded: self.degraded,
            fields: kinds.collect(),
        }
    }
}
