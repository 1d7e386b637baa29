//! GEOADD and what asks for places: the commands over [`geo`](super::geo).

use std::ops::Bound;

use crate::aggregate::Kind;
use crate::call::Call;
use crate::commands::geo::{Area, Point};
use crate::commands::sorted_ranges::store;
use crate::commands::sorted_sets::{Adding, added, set};
use crate::entries::{Members, Span};
use crate::failure::{Failure, Outcome};
use crate::protocol::Reply;
use crate::words::Words;

/// A search as GEOSEARCH and its relatives are given it.
struct Asked<'a> {
    middle: Option<Middle<'a>>,
    area: Option<Area>,
    /// Metres of the unit that distances are told in.
    unit: f64,
    nearest_first: Option<bool>,
    count: Option<usize>,
    any: bool,
    with_distance: bool,
    with_score: bool,
    with_place: bool,
    /// Where the result is stored, and whether distances are its scores.
    target: Option<(&'a [u8], bool)>,
}

#[derive(Clone, Copy)]
enum Middle<'a> {
    Member(&'a [u8]),
    Point(Point),
}

struct Found {
    member: Vec<u8>,
    score: f64,
    place: Point,
    metres: f64,
}

/// GEOADD key [NX | XX] [CH] longitude latitude member …
pub(crate) fn geoadd(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let mut words = Words::new(&call.arguments[1..]);
    let adding = Adding::parse(&mut words, &["NX", "XX", "CH"])?;
    if words.is_empty() || !words.rest().len().is_multiple_of(3) {
        return Err(Failure::syntax());
    }
    let mut scored = Vec::with_capacity(words.rest().len() / 3);
    while !words.is_empty() {
        let place = point(&mut words)?;
        scored.push((words.word()?, place.score() as f64));
    }
    added(set(call)?, &adding, &scored)
}

/// GEOPOS key member …
pub(crate) fn geopos(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let shown = places(call)?.into_iter().map(|place| place.map_or(Reply::NullArray, shown));
    Ok(Reply::Array(shown.collect()))
}

/// GEOHASH key member …
pub(crate) fn geohash(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let shown = places(call)?.into_iter().map(|place| place.map_or(Reply::Null, |place| Reply::bulk(place.letters())));
    Ok(Reply::Array(shown.collect()))
}

/// GEODIST key member member [M | KM | FT | MI]
pub(crate) fn geodist(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let metres = match &call.arguments[3..] {
        [] => 1.0,
        [word] => unit(word)?,
        _ => return Err(Failure::syntax()),
    };
    let (one, other) = (&call.arguments[1], &call.arguments[2]);
    let mut set = set(call)?;
    let (Some(one), Some(other)) = (set.score(one)?, set.score(other)?) else { return Ok(Reply::Null) };
    Ok(distance(Point::of_score(one).metres_to(Point::of_score(other)) / metres))
}

/// GEOSEARCH key FROMMEMBER member | FROMLONLAT longitude latitude BYRADIUS radius unit | BYBOX width height unit
/// [ASC | DESC] [COUNT n [ANY]] [WITHCOORD] [WITHDIST] [WITHHASH]
pub(crate) fn geosearch(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let asked = Asked::parse(&mut Words::new(&call.arguments[1..]), Form::Search)?;
    answer(call, &call.arguments[0], &asked)
}

/// GEOSEARCHSTORE destination source …
pub(crate) fn geosearchstore(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let [target, source, words @ ..] = call.arguments else { return Err(Failure::syntax()) };
    let mut asked = Asked::parse(&mut Words::new(words), Form::Store)?;
    let by_distance = asked.target.is_some_and(|(_, by_distance)| by_distance);
    asked.target = Some((target, by_distance));
    answer(call, source, &asked)
}

/// GEORADIUS key longitude latitude radius unit [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT n [ANY]] [ASC | DESC] [STORE key | STOREDIST key]
pub(crate) fn georadius(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    around(call, false, Form::Radius)
}

/// GEORADIUSBYMEMBER key member radius unit …
pub(crate) fn georadiusbymember(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    around(call, true, Form::Radius)
}

/// GEORADIUS_RO: without STORE.
pub(crate) fn georadius_ro(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    around(call, false, Form::ReadRadius)
}

/// GEORADIUSBYMEMBER_RO: without STORE.
pub(crate) fn georadiusbymember_ro(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    around(call, true, Form::ReadRadius)
}

/// Which of the relatives is asked.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Search,
    Store,
    Radius,
    ReadRadius,
}

impl<'a> Asked<'a> {
    fn new() -> Self {
        Self {
            middle: None,
            area: None,
            unit: 1.0,
            nearest_first: None,
            count: None,
            any: false,
            with_distance: false,
            with_score: false,
            with_place: false,
            target: None,
        }
    }

    fn parse(words: &mut Words<'a>, form: Form) -> Outcome<Self> {
        let mut asked = Self::new();
        asked.parse_options(words, form)?;
        if asked.middle.is_none() {
            return Err(Failure::error("exactly one of FROMMEMBER or FROMLONLAT can be specified for geosearch"));
        }
        if asked.area.is_none() {
            return Err(Failure::error("exactly one of BYRADIUS and BYBOX can be specified for geosearch"));
        }
        Ok(asked)
    }

    fn parse_options(&mut self, words: &mut Words<'a>, form: Form) -> Outcome<()> {
        let is_search = matches!(form, Form::Search | Form::Store);
        while !words.is_empty() {
            match words.option()?.as_str() {
                "FROMMEMBER" if is_search && self.middle.is_none() => self.middle = Some(Middle::Member(words.word()?)),
                "FROMLONLAT" if is_search && self.middle.is_none() => self.middle = Some(Middle::Point(point(words)?)),
                "BYRADIUS" if is_search && self.area.is_none() => self.take_radius(words)?,
                "BYBOX" if is_search && self.area.is_none() => {
                    let (width, height) = (length(words, "width")?, length(words, "height")?);
                    self.unit = unit(words.word()?)?;
                    self.area = Some(Area::Box { width: width * self.unit, height: height * self.unit });
                }
                "ASC" => self.nearest_first = Some(true),
                "DESC" => self.nearest_first = Some(false),
                "COUNT" => self.count = Some(words.positive("COUNT")?),
                "ANY" if self.count.is_some() => self.any = true,
                "ANY" => return Err(Failure::error("the ANY argument requires COUNT argument")),
                "WITHCOORD" if form != Form::Store => self.with_place = true,
                "WITHDIST" if form != Form::Store => self.with_distance = true,
                "WITHHASH" if form != Form::Store => self.with_score = true,
                "STOREDIST" if form == Form::Store => self.target = Some((&[], true)),
                "STORE" if form == Form::Radius => self.target = Some((words.word()?, false)),
                "STOREDIST" if form == Form::Radius => self.target = Some((words.word()?, true)),
                _ => return Err(Failure::syntax()),
            }
        }
        if form == Form::Radius && self.target.is_some() && (self.with_place || self.with_distance || self.with_score) {
            return Err(Failure::error(
                "STORE option in GEORADIUS is not compatible with WITHDIST, WITHHASH and WITHCOORD options",
            ));
        }
        Ok(())
    }

    fn take_radius(&mut self, words: &mut Words<'a>) -> Outcome<()> {
        let radius = length(words, "radius")?;
        self.unit = unit(words.word()?)?;
        self.area = Some(Area::Circle { radius: radius * self.unit });
        Ok(())
    }

    fn run(&self, set: &mut Members<'_, '_>) -> Outcome<Vec<Found>> {
        if set.is_empty() {
            return Ok(Vec::new());
        }
        let middle = match self.middle {
            Some(Middle::Point(point)) => point,
            Some(Middle::Member(member)) => match set.score(member)? {
                Some(score) => Point::of_score(score),
                None => return Err(Failure::error("could not decode requested zset member")),
            },
            None => return Err(Failure::syntax()),
        };
        let area = self.area.ok_or_else(Failure::syntax)?;
        let mut found = Vec::new();
        for (from, to) in area.scores(middle) {
            let span = Span::Score(Bound::Included(from as f64), Bound::Excluded(to as f64));
            for (member, score) in set.ordered(&span, false, 0, usize::MAX)? {
                let place = Point::of_score(score);
                found.extend(area.metres(middle, place).map(|metres| Found { member, score, place, metres }));
            }
            if self.any && found.len() >= self.count.unwrap_or(usize::MAX) {
                break;
            }
        }
        // A count takes the nearest, unless any will do.
        let sorted = self.nearest_first.or((self.count.is_some() && !self.any).then_some(true));
        if let Some(nearest_first) = sorted {
            found.sort_by(|one, other| one.metres.total_cmp(&other.metres));
            if !nearest_first {
                found.reverse();
            }
        }
        found.truncate(self.count.unwrap_or(usize::MAX));
        Ok(found)
    }

    fn shown(&self, found: Found) -> Reply {
        let Found { member, score, place, metres } = found;
        if !(self.with_distance || self.with_score || self.with_place) {
            return Reply::Bulk(member);
        }
        let mut parts = vec![Reply::Bulk(member)];
        parts.extend(self.with_distance.then(|| distance(metres / self.unit)));
        parts.extend(self.with_score.then_some(Reply::Int(score as i64)));
        parts.extend(self.with_place.then(|| shown(place)));
        Reply::Array(parts)
    }
}

fn around(call: &mut Call<'_, '_>, of_member: bool, form: Form) -> Outcome<Reply> {
    let mut words = Words::new(&call.arguments[1..]);
    let mut asked = Asked::new();
    asked.middle = Some(match of_member {
        true => Middle::Member(words.word()?),
        false => Middle::Point(point(&mut words)?),
    });
    asked.take_radius(&mut words)?;
    asked.parse_options(&mut words, form)?;
    answer(call, &call.arguments[0], &asked)
}

fn answer(call: &mut Call<'_, '_>, key: &[u8], asked: &Asked<'_>) -> Outcome<Reply> {
    let found = asked.run(&mut Members::open(call.context, key, Kind::Sorted)?)?;
    match asked.target {
        None => Ok(Reply::Array(found.into_iter().map(|found| asked.shown(found)).collect())),
        Some((target, by_distance)) => {
            let score = |found: &Found| if by_distance { found.metres / asked.unit } else { found.score };
            store(call, target, found.iter().map(|found| (found.member.clone(), score(found))).collect())
        }
    }
}

fn places(call: &mut Call<'_, '_>) -> Outcome<Vec<Option<Point>>> {
    let members = &call.arguments[1..];
    let mut set = set(call)?;
    members.iter().map(|member| Ok(set.score(member)?.map(Point::of_score))).collect()
}

fn shown(place: Point) -> Reply {
    Reply::Array(vec![Reply::Double(place.longitude), Reply::Double(place.latitude)])
}

fn distance(distance: f64) -> Reply {
    Reply::bulk(format!("{distance:.4}"))
}

fn point(words: &mut Words<'_>) -> Outcome<Point> {
    let point = Point { longitude: words.float()?, latitude: words.float()? };
    match point.is_there() {
        true => Ok(point),
        false => {
            Err(Failure::error(format!("invalid longitude,latitude pair {:.6},{:.6}", point.longitude, point.latitude)))
        }
    }
}

fn length(words: &mut Words<'_>, what: &str) -> Outcome<f64> {
    let length = words.float().map_err(|_| Failure::error(format!("need numeric {what}")))?;
    match length >= 0.0 && length.is_finite() {
        true => Ok(length),
        false => Err(Failure::error(format!("{what} cannot be negative"))),
    }
}

/// Metres of a unit.
fn unit(word: &[u8]) -> Outcome<f64> {
    match word.to_ascii_lowercase().as_slice() {
        b"m" => Ok(1.0),
        b"km" => Ok(1000.0),
        b"ft" => Ok(0.3048),
        b"mi" => Ok(1609.34),
        _ => Err(Failure::error("unsupported unit provided. please use M, KM, FT, MI")),
    }
}
