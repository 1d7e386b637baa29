//! The table of commands.

use std::sync::LazyLock;

use nuthatch_dialect::operations::{self, Operation};

use crate::commands::table_aggregates::AGGREGATES;
use crate::commands::table_caches::CACHES;
use crate::commands::table_strings::STRINGS;
use crate::commands::{
    Run, Scope, Spec, Timeout, clients, config, connections, describe, expiry, flush, info, keys, multi, random_key,
    renaming, scan, search,
};
use crate::vectors;

/// The first key, the last and the steps between, as arguments counted from the name; -1 is the last argument.
pub(super) type Keys = (i32, i32, i32);
pub(super) const NO_KEY: Keys = (0, 0, 0);
pub(super) const ONE_KEY: Keys = (1, 1, 1);
pub(super) const TWO_KEYS: Keys = (1, 2, 1);
pub(super) const EVERY_KEY: Keys = (1, -1, 1);

/// Every command. The arity counts the name; a negative one is the least.
pub(crate) static TABLE: LazyLock<Vec<Spec>> = LazyLock::new(|| {
    let fixed = FIXED.iter().chain(STRINGS).chain(AGGREGATES).chain(CACHES).copied();
    fixed.chain(operations::RECORDS.iter().map(Spec::named)).collect()
});

/// Those that are spelt out here; the others are reads of records that every face answers by their names.
static FIXED: &[Spec] = &[
    // Connection
    Spec::new(
        "PING",
        -1,
        Scope::Connection,
        NO_KEY,
        "connection",
        "Returns PONG, or the given message.",
        Run::Session(connections::ping),
    ),
    Spec::new(
        "ECHO",
        2,
        Scope::Connection,
        NO_KEY,
        "connection",
        "Returns the given message.",
        Run::Session(connections::echo),
    ),
    Spec::new(
        "SELECT",
        2,
        Scope::Connection,
        NO_KEY,
        "connection",
        "Selects the database of the connection.",
        Run::Session(connections::select),
    ),
    Spec::new(
        "QUIT",
        -1,
        Scope::Connection,
        NO_KEY,
        "connection",
        "Closes the connection.",
        Run::Session(connections::quit),
    )
    .at_once()
    .for_strangers(),
    Spec::new(
        "RESET",
        1,
        Scope::Connection,
        NO_KEY,
        "connection",
        "Resets the connection to its initial state.",
        Run::Session(connections::reset),
    )
    .at_once()
    .for_strangers(),
    Spec::new(
        "AUTH",
        -2,
        Scope::Connection,
        NO_KEY,
        "connection",
        "Authenticates the client.",
        Run::Session(connections::auth),
    )
    .outside_multi()
    .for_strangers(),
    Spec::new(
        "HELLO",
        -1,
        Scope::Connection,
        NO_KEY,
        "connection",
        "Selects the protocol and authenticates the client.",
        Run::Session(connections::hello),
    )
    .outside_multi()
    .for_strangers(),
    Spec::new(
        "CLIENT",
        -2,
        Scope::Connection,
        NO_KEY,
        "connection",
        "Lists, names and ends connections.",
        Run::Session(clients::client),
    ),
    // Server
    Spec::new(
        "COMMAND",
        -1,
        Scope::Connection,
        NO_KEY,
        "server",
        "Describes the commands.",
        Run::Session(describe::command),
    ),
    Spec::new(
        "INFO",
        -1,
        Scope::Connection,
        NO_KEY,
        "server",
        "Returns information about the server.",
        Run::Session(info::info),
    ),
    Spec::new(
        "TIME",
        1,
        Scope::Connection,
        NO_KEY,
        "server",
        "Returns the time of the server.",
        Run::Session(config::time),
    ),
    Spec::new(
        "CONFIG",
        -2,
        Scope::Admin,
        NO_KEY,
        "server",
        "Returns settings of the server.",
        Run::Session(config::config),
    ),
    Spec::new(
        "DBSIZE",
        1,
        Scope::Read,
        NO_KEY,
        "server",
        "Counts the keys: exactly up to 10,000, as an estimate beyond.",
        Run::Data(keys::dbsize),
    ),
    Spec::new(
        "FLUSHDB",
        -1,
        Scope::Write,
        NO_KEY,
        "server",
        "Deletes every key of the database.",
        Run::Data(flush::flushdb),
    ),
    Spec::new(
        "FLUSHALL",
        -1,
        Scope::Write,
        NO_KEY,
        "server",
        "Deletes every key of every database.",
        Run::Session(flush::flushall),
    ),
    // Transactions
    Spec::new(
        "MULTI",
        1,
        Scope::Connection,
        NO_KEY,
        "transactions",
        "Starts to queue commands.",
        Run::Session(multi::multi),
    )
    .at_once(),
    Spec::new(
        "EXEC",
        1,
        Scope::Connection,
        NO_KEY,
        "transactions",
        "Runs the queued commands as one transaction.",
        Run::Queue,
    )
    .at_once(),
    Spec::new(
        "DISCARD",
        1,
        Scope::Connection,
        NO_KEY,
        "transactions",
        "Discards the queued commands.",
        Run::Session(multi::discard),
    )
    .at_once(),
    Spec::new(
        "WATCH",
        -2,
        Scope::Read,
        EVERY_KEY,
        "transactions",
        "Makes EXEC fail if one of the keys changes.",
        Run::Session(multi::watch),
    )
    .at_once(),
    Spec::new(
        "UNWATCH",
        1,
        Scope::Connection,
        NO_KEY,
        "transactions",
        "Forgets all watched keys.",
        Run::Session(multi::unwatch),
    ),
    // Generic
    Spec::new("DEL", -2, Scope::Write, EVERY_KEY, "generic", "Deletes keys.", Run::Data(keys::del)),
    Spec::new("UNLINK", -2, Scope::Write, EVERY_KEY, "generic", "Deletes keys.", Run::Data(keys::del)),
    Spec::new("EXISTS", -2, Scope::Read, EVERY_KEY, "generic", "Counts the keys that exist.", Run::Data(keys::exists)),
    Spec::new("TOUCH", -2, Scope::Read, EVERY_KEY, "generic", "Counts the keys that exist.", Run::Data(keys::exists)),
    Spec::new("TYPE", 2, Scope::Read, ONE_KEY, "generic", "Returns the type of a key's value.", Run::Data(keys::kind)),
    Spec::new("KEYS", 2, Scope::Read, NO_KEY, "generic", "Lists the keys that match a pattern.", Run::Data(keys::keys)),
    Spec::new("SCAN", -2, Scope::Read, NO_KEY, "generic", "Lists keys, page by page.", Run::Data(scan::scan)),
    Spec::new(
        "RANDOMKEY",
        1,
        Scope::Read,
        NO_KEY,
        "generic",
        "Returns a random key.",
        Run::Data(random_key::randomkey),
    ),
    Spec::new("RENAME", 3, Scope::ReadWrite, TWO_KEYS, "generic", "Renames a key.", Run::Data(renaming::rename)),
    Spec::new(
        "RENAMENX",
        3,
        Scope::ReadWrite,
        TWO_KEYS,
        "generic",
        "Renames a key if the new name does not exist.",
        Run::Data(renaming::renamenx),
    ),
    Spec::new(
        "COPY",
        -3,
        Scope::ReadWrite,
        TWO_KEYS,
        "generic",
        "Copies a value to another key.",
        Run::Data(renaming::copy),
    ),
    Spec::new(
        "TTL",
        2,
        Scope::Read,
        ONE_KEY,
        "generic",
        "Returns the time to live of a key in seconds.",
        Run::Data(expiry::ttl),
    ),
    Spec::new(
        "PTTL",
        2,
        Scope::Read,
        ONE_KEY,
        "generic",
        "Returns the time to live of a key in milliseconds.",
        Run::Data(expiry::pttl),
    ),
    Spec::new(
        "EXPIRETIME",
        2,
        Scope::Read,
        ONE_KEY,
        "generic",
        "Returns the second at which a key expires.",
        Run::Data(expiry::expiretime),
    ),
    Spec::new(
        "PEXPIRETIME",
        2,
        Scope::Read,
        ONE_KEY,
        "generic",
        "Returns the millisecond at which a key expires.",
        Run::Data(expiry::pexpiretime),
    ),
    Spec::new(
        "EXPIRE",
        -3,
        Scope::Write,
        ONE_KEY,
        "generic",
        "Sets the time to live of a key in seconds.",
        Run::Data(expiry::expire),
    ),
    Spec::new(
        "PEXPIRE",
        -3,
        Scope::Write,
        ONE_KEY,
        "generic",
        "Sets the time to live of a key in milliseconds.",
        Run::Data(expiry::pexpire),
    ),
    Spec::new(
        "EXPIREAT",
        -3,
        Scope::Write,
        ONE_KEY,
        "generic",
        "Sets the second at which a key expires.",
        Run::Data(expiry::expireat),
    ),
    Spec::new(
        "PEXPIREAT",
        -3,
        Scope::Write,
        ONE_KEY,
        "generic",
        "Sets the millisecond at which a key expires.",
        Run::Data(expiry::pexpireat),
    ),
    Spec::new(
        "PERSIST",
        2,
        Scope::Write,
        ONE_KEY,
        "generic",
        "Removes the expiry of a key.",
        Run::Data(expiry::persist),
    ),
    // Vector set
    Spec::new(
        "VADD",
        -5,
        Scope::Write,
        ONE_KEY,
        "vector set",
        "Adds an element with its vector.",
        Run::Data(vectors::vadd),
    )
    .of_elements(),
    Spec::new("VREM", 3, Scope::Write, ONE_KEY, "vector set", "Removes an element.", Run::Data(vectors::vrem))
        .of_elements(),
    Spec::new(
        "VSETATTR",
        4,
        Scope::Write,
        ONE_KEY,
        "vector set",
        "Sets the attributes of an element.",
        Run::Data(vectors::vsetattr),
    )
    .of_elements(),
    Spec::new(
        "VSIM",
        -4,
        Scope::Read,
        ONE_KEY,
        "vector set",
        "Finds the elements nearest to a vector.",
        Run::Data(vectors::vsim),
    ),
    Spec::new("VCARD", 2, Scope::Read, ONE_KEY, "vector set", "Counts the elements.", Run::Data(vectors::vcard)),
    Spec::new(
        "VDIM",
        2,
        Scope::Read,
        ONE_KEY,
        "vector set",
        "Returns the dimension of the vectors.",
        Run::Data(vectors::vdim),
    ),
    Spec::new(
        "VEMB",
        -3,
        Scope::Read,
        ONE_KEY,
        "vector set",
        "Reads the vector of an element.",
        Run::Data(vectors::vemb),
    ),
    Spec::new(
        "VGETATTR",
        3,
        Scope::Read,
        ONE_KEY,
        "vector set",
        "Reads the attributes of an element.",
        Run::Data(vectors::vgetattr),
    ),
    Spec::new(
        "VINFO",
        2,
        Scope::Read,
        ONE_KEY,
        "vector set",
        "Returns information about a vector set.",
        Run::Data(vectors::vinfo),
    ),
    Spec::new(
        "VLINKS",
        -3,
        Scope::Read,
        ONE_KEY,
        "vector set",
        "Lists the elements nearest to an element.",
        Run::Data(vectors::vlinks),
    ),
    Spec::new(
        "VRANDMEMBER",
        -2,
        Scope::Read,
        ONE_KEY,
        "vector set",
        "Returns random elements.",
        Run::Data(vectors::vrandmember),
    ),
    Spec::new(
        "VISMEMBER",
        3,
        Scope::Read,
        ONE_KEY,
        "vector set",
        "Returns whether an element exists.",
        Run::Data(vectors::vismember),
    ),
    Spec::new(
        "VRANGE",
        -4,
        Scope::Read,
        ONE_KEY,
        "vector set",
        "Lists elements in the order of their bytes.",
        Run::Data(vectors::vrange),
    ),
    // Nuthatch
    Spec::new(
        "NH.COLLECTIONS",
        1,
        Scope::Read,
        NO_KEY,
        "nuthatch",
        "Lists the collections.",
        Run::Session(search::collections),
    ),
    Spec::new(
        "NH.SEARCH",
        -2,
        Scope::Read,
        NO_KEY,
        "nuthatch",
        "Searches a collection by words, by a vector, or by both.",
        Run::Data(search::search),
    ),
];

impl Spec {
    pub(super) const fn new(
        name: &'static str,
        arity: i32,
        scope: Scope,
        keys: Keys,
        group: &'static str,
        summary: &'static str,
        run: Run,
    ) -> Self {
        let (runs_at_once, is_outside_multi, needs_no_user, writes_elements) = (false, false, false, false);
        let timeout = Timeout::None;
        Self {
            name,
            arity,
            scope,
            keys,
            group,
            summary,
            run,
            runs_at_once,
            is_outside_multi,
            needs_no_user,
            writes_elements,
            timeout,
        }
    }

    /// A collection, and the question in words or in JSON.
    fn named(operation: &'static Operation) -> Self {
        // Once for each, when the table is made.
        let name: &'static str = format!("NH.{}", operation.name.to_uppercase()).leak();
        Self::new(name, -2, Scope::Read, NO_KEY, "nuthatch", operation.says, Run::Named(operation))
    }

    /// Not queued by MULTI.
    const fn at_once(mut self) -> Self {
        self.runs_at_once = true;
        self
    }

    /// Refused inside MULTI: queued commands run as the user who queued them.
    pub(super) const fn outside_multi(mut self) -> Self {
        self.is_outside_multi = true;
        self
    }

    /// For those who have not said who they are.
    const fn for_strangers(mut self) -> Self {
        self.needs_no_user = true;
        self
    }

    /// Waits until there is something to take.
    pub(super) const fn waits(mut self, timeout: Timeout) -> Self {
        self.timeout = timeout;
        self
    }

    /// Changes elements of vector sets.
    const fn of_elements(mut self) -> Self {
        self.writes_elements = true;
        self
    }
}
