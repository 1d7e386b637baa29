//! The option `--durability` of commands that write.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use nuthatch_link::Durability;

#[derive(Args)]
pub struct DurabilityArgs {
    /// The failure that each write survives before the next begins: power loss (commit), or a kill (interval, os)
    #[arg(
        long,
        value_name = "HOW",
        default_value_t = Durability::Commit,
        value_parser = PossibleValuesParser::new(["commit", "interval", "os"]).try_map(|name| name.parse::<Durability>())
    )]
    pub durability: Durability,
}
