//! A command about data: what its function is given.

use crate::context::CommandContext;
use crate::failure::Outcome;
use crate::protocol::{Protocol, Reply};

/// Does a command.
pub(crate) type Data = fn(&mut Call<'_, '_>) -> Outcome<Reply>;

/// The context of a command, and its arguments without the name.
pub(crate) struct Call<'c, 'u> {
    pub context: &'c mut CommandContext<'u>,
    pub arguments: &'c [Vec<u8>],
    pub protocol: Protocol,
}
