//! SCAN: pages of keys, in their order.

use nuthatch_link::KeyScan;

use crate::call::Call;
use crate::failure::{Failure, Outcome};
use crate::pattern;
use crate::protocol::Reply;
use crate::value::Type;
use crate::words::Words;

/// Keys of one page at most, whatever COUNT says.
const PAGE_MAX: usize = 10_000;

/// The arguments of SCAN and its relatives.
pub(crate) struct Page {
    pub pattern: Option<Vec<u8>>,
    pub count: usize,
    pub kind: Option<String>,
    pub no_values: bool,
}

impl Page {
    pub fn parse(words: &mut Words<'_>) -> Outcome<Self> {
        let mut page = Self { pattern: None, count: 10, kind: None, no_values: false };
        while !words.is_empty() {
            match words.option()?.as_str() {
                "MATCH" => page.pattern = Some(words.word()?.to_vec()),
                "COUNT" => {
                    let count = words.integer()?;
                    page.count = usize::try_from(count).ok().filter(|count| *count > 0).ok_or_else(Failure::syntax)?;
                }
                "TYPE" => page.kind = Some(words.option()?.to_lowercase()),
                "NOVALUES" => page.no_values = true,
                _ => return Err(Failure::syntax()),
            }
        }
        page.count = page.count.min(PAGE_MAX);
        Ok(page)
    }

    pub fn fits(&self, name: &[u8]) -> bool {
        self.pattern.as_ref().is_none_or(|wanted| pattern::fits(wanted, name))
    }
}

pub(crate) fn cursor(word: &[u8]) -> Outcome<u64> {
    let number = std::str::from_utf8(word).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| Failure::error("invalid cursor"))
}

/// SCAN cursor [MATCH pattern] [COUNT n] [TYPE t]
pub(crate) fn scan(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let database = call.context.space.number;
    let after = match cursor(&call.arguments[0])? {
        0 => None,
        number => {
            let place = call.context.tenant.cursors.lock().place(database, number);
            Some(place.ok_or_else(|| {
                Failure::error("invalid cursor: it is too old or from before a restart; start again at 0")
            })?)
        }
    };
    let page = Page::parse(&mut Words::new(&call.arguments[1..]))?;
    let prefix = page.pattern.as_deref().map(pattern::prefix).unwrap_or_default();
    let scan = KeyScan { limit: page.count, cursor: after, keys_only: page.kind.is_none(), ..KeyScan::prefix(prefix) };
    let found = call.context.scan(&scan)?;
    let is_wanted = |value: &[u8]| page.kind.as_ref().is_none_or(|kind| kind == Type::of(value).name());
    let keys = found.entries.into_iter().filter(|(key, value)| page.fits(key) && is_wanted(value));
    let keys = Reply::bulks(keys.map(|(key, _)| key));
    let next = found.cursor.map_or(0, |cursor| call.context.tenant.cursors.lock().keep(database, cursor));
    Ok(Reply::Array(vec![Reply::bulk(next.to_string()), keys]))
}
