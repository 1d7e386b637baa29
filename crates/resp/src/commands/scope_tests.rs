//! What a command takes is the scope of the operations that it asks.

use std::collections::BTreeMap;

use nuthatch_link::ops;

use super::table::TABLE;
use super::{Run, Scope};

/// An operation, and the commands about data that end in it. Those that write read first, in a transaction.
const ASKED: &[(&str, &[&str])] = &[
    ("keys.get", &["GET", "STRLEN", "GETRANGE", "SUBSTR", "HGET", "HMGET", "HEXISTS", "HSTRLEN", "HLEN"]),
    ("keys.multi_get", &["MGET", "EXISTS", "TOUCH", "TYPE"]),
    (
        "keys.scan",
        &[
            "LRANGE",
            "LPOS",
            "SMEMBERS",
            "SRANDMEMBER",
            "SINTER",
            "SUNION",
            "SDIFF",
            "SINTERCARD",
            "SSCAN",
            "ZRANK",
            "ZREVRANK",
            "ZRANDMEMBER",
            "ZRANGE",
            "ZREVRANGE",
            "ZRANGEBYSCORE",
            "ZREVRANGEBYSCORE",
            "ZRANGEBYLEX",
            "ZREVRANGEBYLEX",
            "ZCOUNT",
            "ZLEXCOUNT",
            "ZUNION",
            "ZINTER",
            "ZDIFF",
            "ZINTERCARD",
            "ZSCAN",
            "SORT_RO",
            "KEYS",
            "SCAN",
            "RANDOMKEY",
            "DBSIZE",
            "HGETALL",
            "HKEYS",
            "HVALS",
            "HSCAN",
            "HRANDFIELD",
        ],
    ),
    ("keys.entries", &["LLEN", "LINDEX", "SISMEMBER", "SMISMEMBER", "SCARD", "ZSCORE", "ZMSCORE", "ZCARD"]),
    ("keys.expires_in", &["TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME"]),
    ("records.count", &["NH.COUNT"]),
    ("records.facets", &["NH.FACETS"]),
    ("records.get", &["VEMB", "VGETATTR", "VISMEMBER"]),
    ("records.scan", &["VRANDMEMBER", "VRANGE"]),
    ("records.info", &["VCARD", "VDIM", "VINFO"]),
    ("records.search", &["VSIM", "VLINKS", "NH.SEARCH"]),
    (
        "batch.write",
        &["SET", "SETEX", "PSETEX", "SETNX", "MSET", "MSETNX", "GETDEL", "GETEX", "GETSET", "APPEND", "SETRANGE"],
    ),
    (
        "snapshot.commit",
        &[
            "LPUSH",
            "RPUSH",
            "LPUSHX",
            "RPUSHX",
            "LPOP",
            "RPOP",
            "LSET",
            "LTRIM",
            "LINSERT",
            "LREM",
            "LMOVE",
            "RPOPLPUSH",
            "LMPOP",
            "BLPOP",
            "BRPOP",
            "BLMOVE",
            "BRPOPLPUSH",
            "BLMPOP",
            "SADD",
            "SREM",
            "SPOP",
            "SMOVE",
            "SINTERSTORE",
            "SUNIONSTORE",
            "SDIFFSTORE",
            "ZADD",
            "ZINCRBY",
            "ZREM",
            "ZPOPMIN",
            "ZPOPMAX",
            "BZPOPMIN",
            "BZPOPMAX",
            "ZMPOP",
            "BZMPOP",
            "ZRANGESTORE",
            "ZREMRANGEBYRANK",
            "ZREMRANGEBYSCORE",
            "ZREMRANGEBYLEX",
            "ZUNIONSTORE",
            "ZINTERSTORE",
            "ZDIFFSTORE",
            "SORT",
            "INCR",
            "INCRBY",
            "DECR",
            "DECRBY",
            "INCRBYFLOAT",
            "DEL",
            "UNLINK",
            "RENAME",
            "RENAMENX",
            "COPY",
        ],
    ),
    ("keys.expire", &["EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT", "PERSIST"]),
    ("keys.multi_put", &["HSET", "HMSET", "HSETNX", "HDEL", "HINCRBY", "HINCRBYFLOAT"]),
    ("keyspaces.drop", &["FLUSHDB"]),
    ("records.upsert", &["VADD", "VSETATTR"]),
    ("records.delete", &["VREM"]),
];

#[test]
fn every_command_about_data_takes_the_scope_of_the_operation_that_it_asks() {
    let mut asked: BTreeMap<&str, ops::Scope> = BTreeMap::new();
    for (operation, commands) in ASKED {
        let scope = ops::find(operation).unwrap().scope;
        commands.iter().for_each(|command| assert!(asked.insert(command, scope).is_none(), "{command} stands twice"));
    }
    for spec in TABLE.iter().filter(|spec| matches!(spec.run, Run::Data(_) | Run::Named(_))) {
        let scope = asked.remove(spec.name).unwrap_or_else(|| panic!("{}: say which operation it asks", spec.name));
        let taken = match spec.scope {
            Scope::Read => ops::Scope::Read,
            Scope::Write | Scope::ReadWrite => ops::Scope::Write,
            Scope::Admin => ops::Scope::Admin,
            Scope::Connection => panic!("{} is about data, and everybody may ask it", spec.name),
        };
        assert_eq!(taken, scope, "{}", spec.name);
    }
    assert!(asked.is_empty(), "no command about data: {asked:?}");
}
