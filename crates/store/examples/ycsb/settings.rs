//! The settings of a cell from its command line: `name=value`, with defaults for everything else.

use super::Outcome;

/// The failures that an acknowledged write survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Power loss: synced before it returns.
    Commit,
    /// The end of the process: handed to the system.
    Os,
}

#[derive(Clone, Debug)]
pub struct Settings {
    pub keys: u64,
    /// All of the store's memory: blocks, write buffers, and what of indexes and filters it keeps in its cache.
    pub cache_bytes: usize,
    /// The part of these that unflushed writes may take; half by default.
    pub write_buffer_bytes: usize,
    pub workload: char,
    pub clients: usize,
    pub durability: Durability,
    pub warmup_seconds: f64,
    pub seconds: f64,
    pub seed: u64,
}

impl Settings {
    pub fn parse(args: &[String]) -> Outcome<Self> {
        let mut settings = Self {
            keys: 2_000_000,
            cache_bytes: 64 << 20,
            write_buffer_bytes: 0,
            workload: 'c',
            clients: 8,
            durability: Durability::Commit,
            warmup_seconds: 1.0,
            seconds: 4.0,
            seed: 1,
        };
        for arg in args {
            let (name, value) = arg.split_once('=').ok_or_else(|| format!("{arg}: write name=value"))?;
            match name {
                "keys" => settings.keys = value.parse()?,
                "cache_mb" => settings.cache_bytes = value.parse::<usize>()? << 20,
                "write_buffer_mb" => settings.write_buffer_bytes = value.parse::<usize>()? << 20,
                "workload" => settings.workload = value.parse()?,
                "clients" => settings.clients = value.parse()?,
                "durability" => {
                    settings.durability = match value {
                        "commit" => Durability::Commit,
                        "os" => Durability::Os,
                        _ => return Err(format!("durability={value}: commit or os").into()),
                    }
                }
                "warmup" => settings.warmup_seconds = value.parse()?,
                "seconds" => settings.seconds = value.parse()?,
                "seed" => settings.seed = value.parse()?,
                _ => return Err(format!("{name} is no setting").into()),
            }
        }
        if settings.write_buffer_bytes == 0 {
            settings.write_buffer_bytes = settings.cache_bytes / 2;
        }
        Ok(settings)
    }
}
