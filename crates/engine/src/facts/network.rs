//! Facts between entities as a network: an edge for each believed fact, as strong as its confidence.

use std::ops::ControlFlow;

use crate::Result;
use crate::facts::draft::{Draft, Numbers};
use crate::facts::fact::Fact;
use crate::facts::key;
use crate::facts::read::known;
use crate::graph::EdgeDirection;
use crate::kv::Rows;
use crate::network::{EachEdge, EachStep, Network, Step};
use crate::runtime::Reservation;

/// The facts of some relations, all of them where none is named, as they are known at a moment.
pub(crate) struct FactNetwork<'r> {
    draft: Draft<'r>,
    direction: EdgeDirection,
    kinds: &'r [String],
    valid_at: Option<i64>,
    known_at: Option<u64>,
}

impl<'r> FactNetwork<'r> {
    pub fn of(
        rows: &'r dyn Rows,
        direction: EdgeDirection,
        kinds: &'r [String],
        valid_at: Option<i64>,
        known_at: Option<u64>,
    ) -> Result<Self> {
        Ok(Self { draft: Draft::of(rows)?, direction, kinds, valid_at, known_at })
    }

    /// The name that stands for an entity.
    pub fn canonical(&self, name: &str) -> Result<String> {
        self.draft.canonical(name)
    }

    /// Subject, object and strength of a fact that counts. Aliases are one node, under the name that stands for them.
    fn edge(&self, fact: Fact) -> Result<Option<(String, String, Fact)>> {
        let counts = (self.kinds.is_empty() || self.kinds.contains(&fact.predicate))
            && self.valid_at.is_none_or(|moment| fact.is_valid_at(moment));
        if !counts || fact.object.entity().is_none() {
            return Ok(None);
        }
        let Some(shown) = known(&self.draft, fact, self.known_at)?.filter(|shown| shown.believed) else {
            return Ok(None);
        };
        let subject = self.draft.canonical(&shown.fact.subject)?;
        let object = self.draft.canonical(shown.fact.object.entity().unwrap_or_default())?;
        Ok(Some((subject, object, shown.fact)))
    }
}

impl Network for FactNetwork<'_> {
    fn steps(&self, id: &str, visit: &mut EachStep<'_>) -> Result<()> {
        let names = self.draft.names(id)?;
        for incoming in self.direction.ways() {
            let prefixes = match incoming {
                false => names.iter().map(|name| key::of_subject(name)).collect(),
                true => {
                    let object = |name: &String| key::of_object(&crate::facts::Object::Entity(name.clone()));
                    names.iter().map(object).collect()
                }
            };
            let mut ended = false;
            Numbers::after(prefixes, None).each(&self.draft, &mut |fact| {
                let Some((subject, object, fact)) = self.edge(fact)? else { return Ok(ControlFlow::Continue(())) };
                let other = if *incoming { subject } else { object };
                let weight = fact.confidence();
                let (kind, number) = (fact.predicate, Some(fact.number));
                let flow = visit(Step { id: other, kind, weight, incoming: *incoming, fact: number })?;
                ended = flow.is_break();
                Ok(flow)
            })?;
            if ended {
                return Ok(());
            }
        }
        Ok(())
    }

    fn each_edge(&self, visit: &mut EachEdge<'_>) -> Result<()> {
        Numbers::after(vec![key::all_facts()], None).each(&self.draft, &mut |fact| match self.edge(fact)? {
            Some((subject, object, fact)) => visit(&subject, &object, fact.confidence()),
            None => Ok(ControlFlow::Continue(())),
        })
    }

    fn room(&self) -> Option<Reservation<'_>> {
        self.draft.rows.room()
    }
}
