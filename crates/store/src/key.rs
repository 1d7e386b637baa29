//! Tables and the prefix that every key begins with. Isolation is in the key, not in a filter.

/// Tables of the store: column families in RocksDB, tables in CQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// Collections, their options, schemas and counters.
    Catalog,
    /// External id -> row id.
    Ids,
    /// Row id -> record (id, text, payload).
    Records,
    /// Row id -> f32 components, little endian.
    Vectors,
    /// Change sequence -> rows added and removed.
    Log,
    /// Path -> file that was added.
    Files,
    /// Key of a keyspace -> value, or where it is.
    Kv,
    /// Number -> a value too large to lie next to its key.
    Blobs,
    /// When a key expires, and the key.
    Expiry,
}

impl Table {
    /// Every table, in the order of the enum.
    pub const ALL: [Table; 9] = [
        Table::Catalog,
        Table::Ids,
        Table::Records,
        Table::Vectors,
        Table::Log,
        Table::Files,
        Table::Kv,
        Table::Blobs,
        Table::Expiry,
    ];

    /// The lower-case name of its column family.
    pub fn name(self) -> &'static str {
        match self {
            Table::Catalog => "catalog",
            Table::Ids => "ids",
            Table::Records => "records",
            Table::Vectors => "vectors",
            Table::Log => "log",
            Table::Files => "files",
            Table::Kv => "kv",
            Table::Blobs => "blobs",
            Table::Expiry => "expiry",
        }
    }
}

/// A part of the store: ranges of keys that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All keys of all tables.
    Everything,
    /// The keys of one tenant, by its number.
    Tenant(u32),
    /// The keys of one collection or keyspace of a tenant.
    Shard(Shard),
}

impl Extent {
    /// The first key in it, and the first one after it; an empty one after it when it reaches to the end.
    pub fn bounds(self) -> (Vec<u8>, Vec<u8>) {
        match self {
            Self::Everything => (Vec::new(), Vec::new()),
            Self::Tenant(tenant) => {
                let end = tenant.checked_add(1).map_or(Vec::new(), |next| next.to_be_bytes().to_vec());
                (tenant.to_be_bytes().to_vec(), end)
            }
            Self::Shard(shard) => (shard.prefix().to_vec(), shard.end()),
        }
    }
}

/// The unit of placement: a tenant's collection or keyspace. Its eight bytes begin every key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shard {
    /// The tenant's number; the default tenant has 0.
    pub tenant: u32,
    /// The number of the tenant's collection or keyspace.
    pub collection: u32,
}

impl Shard {
    /// `tenant` and `collection`, big endian.
    pub fn prefix(self) -> [u8; 8] {
        let mut prefix = [0; 8];
        prefix[..4].copy_from_slice(&self.tenant.to_be_bytes());
        prefix[4..].copy_from_slice(&self.collection.to_be_bytes());
        prefix
    }

    /// The key of `suffix` in this shard.
    pub fn key(self, suffix: &[u8]) -> Vec<u8> {
        let mut key = Vec::with_capacity(8 + suffix.len());
        key.extend_from_slice(&self.prefix());
        key.extend_from_slice(suffix);
        key
    }

    /// The key of a number (row id, change sequence), in numeric order.
    pub fn number_key(self, number: u64) -> Vec<u8> {
        self.key(&number.to_be_bytes())
    }

    /// The first key after all keys of this shard.
    pub fn end(self) -> Vec<u8> {
        match u64::from_be_bytes(self.prefix()).checked_add(1) {
            Some(next) => next.to_be_bytes().to_vec(),
            None => Vec::new(),
        }
    }

    /// The shard of a key; `None` when it is too short to be one.
    pub fn of(key: &[u8]) -> Option<Self> {
        let prefix: [u8; 8] = key.get(..8)?.try_into().ok()?;
        let number = u64::from_be_bytes(prefix);
        Some(Self { tenant: (number >> 32) as u32, collection: number as u32 })
    }

    /// Returns the part of this shard's key after the prefix.
    pub fn suffix(key: &[u8]) -> &[u8] {
        key.get(8..).unwrap_or_default()
    }
}

/// The first key after all that begin with `prefix`, which begins with a shard and so is never all 255s.
pub fn after_prefix(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while end.last() == Some(&u8::MAX) {
        end.pop();
    }
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    end
}
