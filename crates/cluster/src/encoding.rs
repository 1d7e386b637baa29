//! Bytes of entries and batches. `docs/internals/cluster-bucket.md` draws them.

use nuthatch_store::{Batch, Op, Table};

use crate::{Entry, Kind, Reach, Slot, Watch};

const MAGIC: &[u8; 8] = b"NUTLOG01";
const HASH_BYTES: usize = 32;
const FENCE: u8 = 1;
const BATCHES: u8 = 2;
const RELEASE: u8 = 3;
const PUT: u8 = 1;
const DELETE: u8 = 2;
const DELETE_RANGE: u8 = 3;

/// An entry as an object: it says for which slot of which cluster it is, and ends with the BLAKE3 of everything before.
pub fn encode_entry(cluster: &[u8; 16], slot: Slot, entry: &Entry) -> Vec<u8> {
    let body: usize = entry.batches().iter().map(|batch| 8 + batch.len()).sum();
    let mut out = Vec::with_capacity(128 + body);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(cluster);
    out.extend_from_slice(&slot.to_le_bytes());
    out.extend_from_slice(&entry.epoch.to_le_bytes());
    out.extend_from_slice(&entry.writer.to_le_bytes());
    out.extend_from_slice(&entry.before.to_le_bytes());
    match &entry.kind {
        // Programs that know an address alone, and no heir, read past the rest.
        Kind::Fence { address, reach } => {
            out.push(FENCE);
            put_bytes(&mut out, address.as_bytes());
            if *reach != Reach::default() {
                let (address, seal) = reach.watch.as_ref().map_or(("", [0; 32]), |it| (&it.address, it.seal));
                put_bytes(&mut out, address.as_bytes());
                out.extend_from_slice(&seal);
                put_bytes(&mut out, reach.redis.as_bytes());
            }
        }
        Kind::Batches(batches) => {
            out.push(BATCHES);
            batches.iter().for_each(|batch| put_bytes(&mut out, batch));
        }
        Kind::Release { heir } => {
            out.push(RELEASE);
            if !heir.is_empty() {
                put_bytes(&mut out, heir.as_bytes());
            }
        }
    }
    let hash = blake3::hash(&out);
    out.extend_from_slice(hash.as_bytes());
    out
}

/// # Errors
/// How the bytes differ from what was written.
pub fn decode_entry(cluster: &[u8; 16], slot: Slot, bytes: &[u8]) -> Result<Entry, String> {
    let cut = bytes.len().checked_sub(HASH_BYTES).ok_or("it is too short")?;
    let (body, hash) = bytes.split_at(cut);
    if blake3::hash(body).as_bytes() != hash {
        return Err("its bytes do not match their hash".into());
    }
    let mut rest = Rest(body);
    if rest.take(8)? != MAGIC {
        return Err("it is no entry of a log, or one of a newer program".into());
    }
    if rest.take(16)? != cluster {
        return Err("it belongs to another cluster".into());
    }
    let found = rest.number()?;
    if found != slot {
        return Err(format!("it is the entry of slot {found}"));
    }
    let epoch = rest.number()?;
    let writer = u128::from_le_bytes(rest.array()?);
    let before = rest.number()?;
    let kind = match rest.byte()? {
        FENCE => {
            let (address, mut reach) = (rest.text()?, Reach::default());
            if !rest.0.is_empty() {
                let watch = Watch { address: rest.text()?, seal: rest.array()? };
                reach = Reach { watch: Some(watch).filter(|watch| !watch.address.is_empty()), redis: rest.text()? };
            }
            Kind::Fence { address, reach }
        }
        RELEASE => Kind::Release { heir: if rest.0.is_empty() { String::new() } else { rest.text()? } },
        BATCHES => {
            let mut batches = Vec::new();
            while !rest.0.is_empty() {
                batches.push(rest.bytes()?.into());
            }
            Kind::Batches(batches)
        }
        other => return Err(format!("it is of kind {other}, which this program does not know")),
    };
    Ok(Entry { epoch, writer, before, kind })
}

/// A batch as it lies in an entry.
pub fn encode_batch(batch: &Batch) -> Vec<u8> {
    let mut out = Vec::with_capacity(batch.log_bytes() + batch.len() * 8);
    for op in batch.ops() {
        match op {
            Op::Put { table, key, value } => {
                out.extend_from_slice(&[PUT, code(*table)]);
                put_bytes(&mut out, key);
                put_bytes(&mut out, value);
            }
            Op::Delete { table, key } => {
                out.extend_from_slice(&[DELETE, code(*table)]);
                put_bytes(&mut out, key);
            }
            Op::DeleteRange { table, from, to } => {
                out.extend_from_slice(&[DELETE_RANGE, code(*table)]);
                put_bytes(&mut out, from);
                put_bytes(&mut out, to);
            }
        }
    }
    out
}

/// # Errors
/// What is wrong with the bytes: they were written by a newer program.
pub fn decode_batch(bytes: &[u8]) -> Result<Batch, String> {
    let mut rest = Rest(bytes);
    let mut batch = Batch::new();
    while !rest.0.is_empty() {
        let (what, number) = (rest.byte()?, rest.byte()?);
        let table = Table::ALL.into_iter().find(|table| code(*table) == number);
        let table = table.ok_or_else(|| format!("it names table {number}, which this program does not know"))?;
        let key = rest.bytes()?.to_vec();
        match what {
            PUT => batch.put(table, key, rest.bytes()?.to_vec()),
            DELETE => batch.delete(table, key),
            DELETE_RANGE => batch.delete_range(table, key, rest.bytes()?.to_vec()),
            other => return Err(format!("it has a change of kind {other}, which this program does not know")),
        }
    }
    Ok(batch)
}

/// The number of a table in a batch; none is ever given to another table.
fn code(table: Table) -> u8 {
    match table {
        Table::Catalog => 1,
        Table::Ids => 2,
        Table::Records => 3,
        Table::Vectors => 4,
        Table::Log => 5,
        Table::Files => 6,
        Table::Kv => 7,
        Table::Blobs => 8,
        Table::Expiry => 9,
    }
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
}

struct Rest<'b>(&'b [u8]);

impl<'b> Rest<'b> {
    fn take(&mut self, count: usize) -> Result<&'b [u8], String> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or("it ends early")?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        self.take(N)?.try_into().map_err(|_| "it ends early".to_string())
    }

    fn byte(&mut self) -> Result<u8, String> {
        Ok(self.array::<1>()?[0])
    }

    fn number(&mut self) -> Result<u64, String> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn text(&mut self) -> Result<String, String> {
        Ok(String::from_utf8_lossy(self.bytes()?).into_owned())
    }

    fn bytes(&mut self) -> Result<&'b [u8], String> {
        let length = usize::try_from(self.number()?).map_err(|_| "it ends early")?;
        self.take(length)
    }
}
