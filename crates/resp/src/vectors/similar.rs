//! VSIM: the elements nearest to a vector.

use nuthatch_link::{Accuracy, Collection, Include, Scan, Search};

use crate::call::Call;
use crate::context::CommandContext;
use crate::failure::{Failure, Outcome};
use crate::protocol::{Protocol, Reply};
use crate::vectors::element::{element_of, id_of};
use crate::vectors::filter::{Expression, Translation};
use crate::vectors::vector::{as_compared, parse};
use crate::vectors::{RECORDS_AT_ONCE, asked_ef, score_of};
use crate::words::Words;

/// Hits of one search of the engine at most.
const HITS_MAX: usize = 10_000;
/// Exploration factors that the engine takes.
const EF_MAX: usize = 100_000;

/// The arguments of a VSIM.
struct Asked {
    query: Query,
    with_scores: bool,
    with_attributes: bool,
    count: usize,
    /// How much less than 1 a score may be.
    epsilon: Option<f64>,
    accuracy: Accuracy,
    filter: Option<Expression>,
    /// Elements that are looked at for the filter; `None`: as many as it takes.
    filter_ef: Option<usize>,
}

enum Query {
    Element(Vec<u8>),
    Vector(Vec<f32>),
}

/// An element that was found.
struct SimilarElement {
    element: Vec<u8>,
    cosine: f32,
    attributes: Option<String>,
}

/// VSIM key ELE e | FP32 blob | VALUES n number … [WITHSCORES] [WITHATTRIBS] [COUNT n] [EPSILON d] [EF n] [FILTER e]
/// [FILTER-EF n] [TRUTH] [NOTHREAD]
pub(crate) fn vsim(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let asked = Asked::parse(&mut Words::new(&call.arguments[1..]))?;
    let Some((set, collection)) = call.context.set(&call.arguments[0])? else { return Ok(Reply::Array(Vec::new())) };
    let vector = match &asked.query {
        Query::Vector(vector) => as_compared(&set, vector.clone())?,
        Query::Element(element) => {
            let record = call.context.record(&collection, &id_of(element)?, true)?;
            record.and_then(|record| record.vector).ok_or_else(|| Failure::error("element not found in set"))?
        }
    };
    let mut found = asked.find(call.context, &collection, &vector)?;
    if let Some(epsilon) = asked.epsilon {
        found.retain(|found| 1.0 - score_of(found.cosine) <= epsilon);
    }
    Ok(asked.reply(found, call.protocol))
}

impl Asked {
    fn parse(words: &mut Words<'_>) -> Outcome<Self> {
        let how = words.option()?;
        let query = match how.as_str() {
            "ELE" => Query::Element(words.word()?.to_vec()),
            how => match parse(how, words)? {
                Some(vector) => Query::Vector(vector),
                None => return Err(Failure::error("vector type must be ELE, FP32 or VALUES")),
            },
        };
        let mut asked = Self {
            query,
            with_scores: false,
            with_attributes: false,
            count: 10,
            epsilon: None,
            accuracy: Accuracy::default(),
            filter: None,
            filter_ef: None,
        };
        while !words.is_empty() {
            match words.option()?.as_str() {
                "WITHSCORES" => asked.with_scores = true,
                "WITHATTRIBS" => asked.with_attributes = true,
                "COUNT" => asked.count = words.positive("COUNT")?,
                "EPSILON" => {
                    let epsilon = words.float()?;
                    if epsilon <= 0.0 {
                        return Err(Failure::error("invalid EPSILON"));
                    }
                    asked.epsilon = Some(epsilon);
                }
                // A search that was told to be exact stays so, whatever else it is told.
                "EF" => {
                    let ef = asked_ef(words)?.min(EF_MAX);
                    if asked.accuracy != Accuracy::Exact {
                        asked.accuracy = Accuracy::Ef(ef);
                    }
                }
                "TRUTH" => asked.accuracy = Accuracy::Exact,
                "FILTER" => asked.filter = Some(Expression::parse(words.word()?)?),
                "FILTER-EF" => {
                    let ef = usize::try_from(words.integer()?).map_err(|_| Failure::error("invalid FILTER-EF"))?;
                    asked.filter_ef = Some(ef).filter(|ef| *ef > 0);
                }
                // Every connection has a thread of its own.
                "NOTHREAD" => {}
                _ => return Err(Failure::syntax()),
            }
        }
        Ok(asked)
    }

    fn find(
        &self,
        context: &mut CommandContext<'_>,
        collection: &Collection,
        vector: &[f32],
    ) -> Outcome<Vec<SimilarElement>> {
        let Some(filter) = &self.filter else {
            return match self.count {
                count if count <= HITS_MAX => self.search(context, collection, vector, count, None),
                _ => self.look_at_all(context, collection, vector, None),
            };
        };
        // Only this many of the nearest are looked at.
        if let Some(ef) = self.filter_ef.filter(|ef| *ef <= HITS_MAX) {
            let mut near = self.search(context, collection, vector, ef, None)?;
            near.retain(|found| filter.lets_pass(found.attributes.as_deref()));
            near.truncate(self.count);
            return Ok(near);
        }
        match filter.translated(&collection.info()?.fields) {
            Translation::Nothing => Ok(Vec::new()),
            Translation::Where(condition) if self.count <= HITS_MAX => {
                self.search(context, collection, vector, self.count, Some(&condition))
            }
            _ => self.look_further(context, collection, vector, filter),
        }
    }

    /// Looks at more and more of the nearest, and finally at all of them: the requested number comes back if that many
    /// pass.
    fn look_further(
        &self,
        context: &mut CommandContext<'_>,
        collection: &Collection,
        vector: &[f32],
        filter: &Expression,
    ) -> Outcome<Vec<SimilarElement>> {
        let mut looked_at = self.count.saturating_mul(4).max(256);
        while looked_at <= HITS_MAX {
            let mut near = self.search(context, collection, vector, looked_at, None)?;
            let were_all = near.len() < looked_at;
            near.retain(|found| filter.lets_pass(found.attributes.as_deref()));
            near.truncate(self.count);
            if were_all || near.len() == self.count {
                return Ok(near);
            }
            looked_at *= 8;
        }
        self.look_at_all(context, collection, vector, Some(filter))
    }

    fn search(
        &self,
        context: &mut CommandContext<'_>,
        collection: &Collection,
        vector: &[f32],
        limit: usize,
        condition: Option<&str>,
    ) -> Outcome<Vec<SimilarElement>> {
        // Attributes are kept with the texts.
        let attributes = self.with_attributes || (self.filter.is_some() && condition.is_none());
        let include = Include { text: attributes, payload: false, vector: false };
        let mut search = Search { include, accuracy: self.accuracy, ..Search::vector(vector.to_vec()).limit(limit) };
        if let Some(condition) = condition {
            search = search.filter(condition)?;
        }
        let hits = context.search(collection, &search)?.hits.into_iter();
        Ok(hits
            .map(|hit| SimilarElement { element: element_of(&hit.id), cosine: hit.score, attributes: hit.context })
            .collect())
    }

    /// Every element is compared, a page of records at a time.
    fn look_at_all(
        &self,
        context: &mut CommandContext<'_>,
        collection: &Collection,
        vector: &[f32],
        filter: Option<&Expression>,
    ) -> Outcome<Vec<SimilarElement>> {
        let mut found: Vec<SimilarElement> = Vec::new();
        let mut scan = Scan { limit: RECORDS_AT_ONCE, vectors: true, ..Scan::default() };
        loop {
            let page = context.records(collection, &scan)?;
            for record in page.records {
                let Some(stored) = record.vector else { continue };
                if filter.is_none_or(|filter| filter.lets_pass(record.context.as_deref())) {
                    let cosine = collection.metric().similarity(vector, &stored);
                    found.push(SimilarElement { element: element_of(&record.id), cosine, attributes: record.context });
                }
            }
            if found.len() > self.count.saturating_mul(2).max(RECORDS_AT_ONCE) || page.cursor.is_none() {
                found.sort_by(|one, other| other.cosine.total_cmp(&one.cosine));
                found.truncate(self.count);
            }
            match page.cursor {
                Some(cursor) => scan.cursor = Some(cursor),
                None => return Ok(found),
            }
        }
    }

    fn reply(&self, found: Vec<SimilarElement>, protocol: Protocol) -> Reply {
        let parts = found.into_iter().map(|found| {
            let attributes = Reply::optional(found.attributes.map(String::into_bytes));
            let mut said = Vec::new();
            if self.with_scores {
                said.push(Reply::Double(score_of(found.cosine)));
            }
            if self.with_attributes {
                said.push(attributes);
            }
            (Reply::Bulk(found.element), said)
        });
        match (protocol, self.with_scores || self.with_attributes) {
            (Protocol::Three, true) => Reply::Map(
                parts
                    .map(|(element, mut said)| match said.len() {
                        1 => (element, said.remove(0)),
                        _ => (element, Reply::Array(said)),
                    })
                    .collect(),
            ),
            _ => Reply::Array(parts.flat_map(|(element, said)| std::iter::once(element).chain(said)).collect()),
        }
    }
}
