//! `nuthatch cache calibrate`: what a threshold of the cosine would do with labelled pairs, and what the cache's differences do.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use nuthatch_link::{AskCache, CacheChange, Database, Error, Options, StoreAnswer};
use serde::Deserialize;
use serde_json::json;

use super::lines::{place, read};
use crate::exit::{Failure, Outcome};
use crate::output::{self, Out};

#[derive(Args)]
pub struct Calibrate {
    /// JSON lines with `stored`, `asked` and `same`; `vectors`, two lists of numbers, where no model is installed. `-` for the input
    #[arg(value_name = "FILE")]
    pairs: PathBuf,
    /// Measure to choose the threshold for
    #[arg(long, value_enum, default_value = "f1")]
    target: Target,
    /// The least precision
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    min_precision: f64,
    /// The least recall
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    min_recall: f64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Target {
    F1,
    Precision,
    Recall,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    stored: String,
    asked: String,
    same: bool,
    vectors: Option<[Vec<f32>; 2]>,
}

/// The effect of a threshold on the pairs.
#[derive(Clone, Copy)]
struct Point {
    threshold: f64,
    precision: f64,
    recall: f64,
}

impl Point {
    fn of(threshold: f64, same: &[f64], different: &[f64]) -> Self {
        let at_least = |scores: &[f64]| scores.iter().filter(|score| **score >= threshold).count() as f64;
        let (right, wrong) = (at_least(same), at_least(different));
        let precision = if right + wrong > 0.0 { right / (right + wrong) } else { 1.0 };
        Self { threshold, precision, recall: right / same.len() as f64 }
    }

    fn f1(&self) -> f64 {
        let both = self.precision + self.recall;
        if both > 0.0 { 2.0 * self.precision * self.recall / both } else { 0.0 }
    }

    fn value(&self, target: Target) -> f64 {
        match target {
            Target::F1 => self.f1(),
            Target::Precision => self.precision,
            Target::Recall => self.recall,
        }
    }
}

impl Calibrate {
    pub fn run(&self, as_json: bool, out: &mut Out) -> Result<Outcome, Failure> {
        let (mut same, mut different) = (Vec::new(), Vec::new());
        let mut vetoes: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
        let database = Database::in_memory(Options::default())?;
        let cache = database.cache("pairs")?;
        // A budget, so that meanings are compared; nothing is looked up, so nothing is given.
        cache.configure(&CacheChange { budget: Some(0.5), ..CacheChange::default() })?;
        for (at, line) in read(&self.pairs)?.lines().enumerate() {
            let line = line.map_err(|error| Error::invalid(format!("{}: {error}", self.pairs.display())))?;
            if line.trim().is_empty() {
                continue;
            }
            let pair: Pair = serde_json::from_str(&line).map_err(|error| place(&self.pairs, at, &error))?;
            let scope: BTreeMap<String, String> = [("pair".to_string(), at.to_string())].into();
            let [stored, asked] = pair.vectors.map_or([None, None], |vectors| vectors.map(Some));
            cache.store(StoreAnswer {
                prompt: pair.stored,
                scope: scope.clone(),
                vector: stored,
                response: "null".into(),
                ..StoreAnswer::default()
            })?;
            let near = cache.explain(&AskCache { prompt: pair.asked, scope, vector: asked, ..AskCache::default() })?;
            // A cache does not compare prompts below a cosine of one half.
            let near = near.candidates.first();
            let scores = if pair.same { &mut same } else { &mut different };
            scores.push(near.map_or(0.0, |near| near.similarity));
            if let Some(veto) = near.and_then(|near| near.veto) {
                vetoes.entry(veto.name()).or_default()[usize::from(!pair.same)] += 1;
            }
        }
        if same.is_empty() {
            return Err(Error::invalid("no pair is the same; give some, or nothing can be found").into());
        }
        let mut thresholds = [same.as_slice(), &different].concat();
        thresholds.sort_by(f64::total_cmp);
        thresholds.dedup();
        let curve: Vec<Point> = thresholds.iter().map(|at| Point::of(*at, &same, &different)).collect();
        let fits = |point: &&Point| point.precision >= self.min_precision && point.recall >= self.min_recall;
        let order = |point: &Point| (point.value(self.target), point.f1(), point.threshold);
        let best = curve.iter().filter(fits).max_by(|a, b| {
            let ((a, b, c), (d, e, f)) = (order(a), order(b));
            a.total_cmp(&d).then(b.total_cmp(&e)).then(c.total_cmp(&f))
        });
        let Some(best) = best else {
            let why = "no threshold reaches this precision and recall on these pairs; ask for less";
            return Err(Error::invalid(why).into());
        };
        let told = |point: &Point| json!({ "threshold": point.threshold, "precision": point.precision, "recall": point.recall, "f1": point.f1() });
        if as_json {
            let curve: Vec<_> = curve.iter().map(told).collect();
            let found = json!({
                "best": told(best),
                "curve": curve,
                "same": same.len(),
                "different": different.len(),
                "vetoes": vetoes,
            });
            output::json(out, &found)?;
            return Ok(Outcome::Done);
        }
        writeln!(
            out,
            "cosine {:.4}: precision {:.3}, recall {:.3}, F1 {:.3}, of {} same and {} different pairs",
            best.threshold,
            best.precision,
            best.recall,
            best.f1(),
            same.len(),
            different.len()
        )?;
        for (veto, [of_same, of_different]) in vetoes {
            writeln!(out, "ruled out by {veto}: {of_same} same, {of_different} different")?;
        }
        Ok(Outcome::Done)
    }
}
