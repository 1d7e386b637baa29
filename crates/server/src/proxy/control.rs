//! The instructions of a single request to the cache: in our headers, in those of HTTP, and in those that users of
//! other gateways send.

use std::collections::BTreeMap;

use axum::http::HeaderMap;
use nuthatch_link::SourceRef;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use crate::problem::Problem;

/// Of requests; they do not leave this process. Answers have some of the same names.
const OWN: [&str; 6] = [
    "x-nuthatch-cache",
    "x-nuthatch-ttl",
    "x-nuthatch-tags",
    "x-nuthatch-sources",
    "x-nuthatch-scope",
    "x-nuthatch-key",
];
/// Parts of the scope that nobody names by themselves.
const RESERVED: [&str; 2] = ["request", "caller"];
/// Answers of a bucket at most.
const BUCKET_MAX: u64 = 20;

/// The instructions of a request to the cache.
#[derive(Clone, Debug, PartialEq)]
pub struct Control {
    /// It may be answered from the cache.
    pub reads: bool,
    /// Its answer may be stored.
    pub stores: bool,
    /// The provider may be asked.
    pub asks: bool,
    /// It may be answered by meaning.
    pub by_meaning: bool,
    /// Say what would be given, and give nothing.
    pub shadow: bool,
    /// How old an answer may be, in seconds.
    pub max_age: Option<f64>,
    /// How long its answer lives.
    pub ttl_ms: Option<u64>,
    pub tags: Vec<String>,
    pub sources: Vec<SourceRef>,
    /// Further parts of its scope.
    pub scope: BTreeMap<String, String>,
    /// The gateways whose headers it has, in whose words it is answered, too.
    pub peers: Vec<Peer>,
    /// The body for the provider, where it is another than the one that came.
    pub body: Option<Vec<u8>>,
}

/// Another gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    Portkey,
    Helicone,
    Cloudflare,
}

impl Peer {
    pub const ALL: [Self; 3] = [Self::Portkey, Self::Helicone, Self::Cloudflare];

    fn prefix(self) -> &'static str {
        match self {
            Self::Portkey => "x-portkey-",
            Self::Helicone => "helicone-",
            Self::Cloudflare => "cf-aig-",
        }
    }

    /// Where it says what became of a request.
    pub fn status(self) -> &'static str {
        match self {
            Self::Portkey => "x-portkey-cache-status",
            Self::Helicone => "helicone-cache",
            Self::Cloudflare => "cf-aig-cache-status",
        }
    }
}

impl Default for Control {
    fn default() -> Self {
        Self {
            reads: true,
            stores: true,
            asks: true,
            by_meaning: true,
            shadow: false,
            max_age: None,
            ttl_ms: None,
            tags: Vec::new(),
            sources: Vec::new(),
            scope: BTreeMap::new(),
            peers: Vec::new(),
            body: None,
        }
    }
}

impl Control {
    /// Reads what a request asks. LiteLLM's `cache` is taken out of the body, which providers would refuse with it.
    ///
    /// # Errors
    /// 400 for values that mean nothing.
    pub fn taken(headers: &HeaderMap, request: Option<&mut Map<String, Value>>) -> Result<Self, Problem> {
        let mut control = Self::default();
        control.take_http(headers)?;
        control.take_gateways(headers)?;
        if let Some(request) = request
            && let Some(Value::Object(cache)) = request.get("cache").cloned()
        {
            request.remove("cache");
            control.body = serde_json::to_vec(&request).ok();
            control.take_litellm(&cache)?;
        }
        control.take_own(headers)?;
        Ok(control)
    }

    fn take_http(&mut self, headers: &HeaderMap) -> Result<(), Problem> {
        for value in headers.get_all("cache-control") {
            for word in text(value)?.split(',') {
                let (word, number) = word.split_once('=').map_or((word, ""), |(word, number)| (word, number));
                match word.trim().to_ascii_lowercase().as_str() {
                    "no-cache" => self.reads = false,
                    "no-store" => self.stores = false,
                    "only-if-cached" => self.asks = false,
                    "max-age" => self.max_age = Some(seconds("cache-control", number.trim().trim_matches('"'))?),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn take_gateways(&mut self, headers: &HeaderMap) -> Result<(), Problem> {
        let has = |peer: &Peer| headers.keys().any(|name| name.as_str().starts_with(peer.prefix()));
        self.peers = Peer::ALL.into_iter().filter(has).collect();
        let given = |name: &str| headers.get(name).map(text).transpose();
        let is =
            |name: &str, word: &str| given(name).map(|value| value.is_some_and(|it| it.eq_ignore_ascii_case(word)));
        if is("x-portkey-cache-force-refresh", "true")? {
            self.reads = false;
        }
        if is("helicone-cache-enabled", "false")? || is("cf-aig-skip-cache", "true")? {
            (self.reads, self.stores) = (false, false);
        }
        if let Some(ttl) = given("cf-aig-cache-ttl")? {
            self.ttl_ms = Some(milliseconds(seconds("cf-aig-cache-ttl", ttl)?));
        }
        for (name, part) in [
            ("x-portkey-cache-namespace", "namespace"),
            ("helicone-cache-seed", "seed"),
            ("cf-aig-cache-key", "cache-key"),
        ] {
            if let Some(value) = given(name)? {
                self.scope.insert(part.into(), value.into());
            }
        }
        if let Some(size) = given("helicone-cache-bucket-max-size")? {
            let wrong =
                || Problem::invalid(format!("helicone-cache-bucket-max-size: {size:?}; write 1 to {BUCKET_MAX}"));
            let size = size.parse().ok().filter(|size| (1..=BUCKET_MAX).contains(size)).ok_or_else(wrong)?;
            if size > 1 {
                self.scope.insert("bucket".into(), (random()? % size).to_string());
            }
        }
        Ok(())
    }

    fn take_litellm(&mut self, cache: &Map<String, Value>) -> Result<(), Problem> {
        let says = |name: &str| cache.get(name).and_then(Value::as_bool).unwrap_or_default();
        let number = |name: &str| cache.get(name).and_then(Value::as_f64).filter(|number| *number >= 0.0);
        self.reads &= !says("no-cache");
        self.stores &= !says("no-store");
        self.ttl_ms = number("ttl").map(milliseconds).or(self.ttl_ms);
        self.max_age = number("s-maxage").or_else(|| number("s-max-age")).or(self.max_age);
        if let Some(namespace) = cache.get("namespace").and_then(Value::as_str) {
            self.scope.insert("namespace".into(), namespace.into());
        }
        Ok(())
    }

    fn take_own(&mut self, headers: &HeaderMap) -> Result<(), Problem> {
        let given = |name: &str| headers.get(name).map(text).transpose();
        match given("x-nuthatch-cache")?.unwrap_or_default().trim().to_ascii_lowercase().as_str() {
            "" => {}
            "off" => (self.reads, self.stores) = (false, false),
            "exact" => self.by_meaning = false,
            "refresh" => self.reads = false,
            "shadow" => self.shadow = true,
            other => {
                let why = format!("x-nuthatch-cache: {other:?}; there are off, exact, refresh and shadow");
                return Err(Problem::invalid(why));
            }
        }
        if let Some(ttl) = given("x-nuthatch-ttl")? {
            self.ttl_ms = Some(milliseconds(seconds("x-nuthatch-ttl", ttl)?));
        }
        self.tags = listed(given("x-nuthatch-tags")?).map(decoded).collect::<Result<_, _>>()?;
        for source in listed(given("x-nuthatch-sources")?) {
            let wrong = || {
                Problem::invalid(format!("x-nuthatch-sources: {source:?}; give collection/id, with commas in between"))
            };
            let (collection, id) = source.split_once('/').ok_or_else(wrong)?;
            self.sources.push(SourceRef { collection: decoded(collection)?, id: decoded(id)? });
        }
        for part in listed(given("x-nuthatch-scope")?) {
            let wrong =
                || Problem::invalid(format!("x-nuthatch-scope: {part:?}; give part=value, with commas in between"));
            let (name, value) = part.split_once('=').ok_or_else(wrong)?;
            let name = decoded(name)?;
            if RESERVED.contains(&name.as_str()) {
                let why = format!("x-nuthatch-scope: {name:?} is the proxy's own part; name it otherwise");
                return Err(Problem::invalid(why));
            }
            self.scope.insert(name, decoded(value)?);
        }
        Ok(())
    }
}

/// Takes the proxy's own headers away.
pub fn strip(headers: &mut HeaderMap) {
    OWN.iter().for_each(|name| drop(headers.remove(*name)));
}

fn text(value: &axum::http::HeaderValue) -> Result<&str, Problem> {
    value.to_str().map_err(|_| Problem::invalid("a header that controls the cache is not text"))
}

fn listed(text: Option<&str>) -> impl Iterator<Item = &str> {
    text.unwrap_or_default().split(',').map(str::trim).filter(|part| !part.is_empty())
}

fn decoded(text: &str) -> Result<String, Problem> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(Into::into).map_err(|_| Problem::invalid(format!("{text:?} in a header is not percent-encoded UTF-8")))
}

fn seconds(name: &str, text: &str) -> Result<f64, Problem> {
    let seconds = text.trim().parse().ok().filter(|seconds| (0.0..=1e12).contains(seconds));
    seconds.ok_or_else(|| Problem::invalid(format!("{name}: {text:?} is not a number of seconds from 0 up")))
}

/// As caches count; a little is not for ever.
fn milliseconds(seconds: f64) -> u64 {
    if seconds == 0.0 { 0 } else { ((seconds.min(1e12) * 1e3).round() as u64).max(1) }
}

/// A number that nobody can guess.
pub fn random() -> Result<u64, Problem> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|_| Problem::unavailable("the system gives no random numbers"))?;
    Ok(u64::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn taken(headers: &[(&'static str, &str)]) -> Result<Control, Problem> {
        let headers = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        Control::taken(&headers, None)
    }

    #[test]
    fn headers_of_http_and_of_gateways_mean_what_they_mean_there() {
        let base = Control::default();
        let cases: [(&[(&str, &str)], Control); 8] = [
            (
                &[("cache-control", "no-cache, max-age=60")],
                Control { reads: false, max_age: Some(60.0), ..base.clone() },
            ),
            (&[("cache-control", "no-store, only-if-cached")], Control { stores: false, asks: false, ..base.clone() }),
            (
                &[("x-nuthatch-cache", "exact"), ("x-nuthatch-ttl", "1.5")],
                Control { by_meaning: false, ttl_ms: Some(1500), ..base.clone() },
            ),
            (&[("x-nuthatch-tags", "a, b%2C")], Control { tags: vec!["a".into(), "b,".into()], ..base.clone() }),
            (
                &[("x-portkey-cache-force-refresh", "true")],
                Control { reads: false, peers: vec![Peer::Portkey], ..base.clone() },
            ),
            (
                &[("helicone-cache-enabled", "false")],
                Control { reads: false, stores: false, peers: vec![Peer::Helicone], ..base.clone() },
            ),
            (
                &[("cf-aig-cache-ttl", "9"), ("cf-aig-cache-key", "k")],
                Control {
                    ttl_ms: Some(9000),
                    scope: [("cache-key".into(), "k".into())].into(),
                    peers: vec![Peer::Cloudflare],
                    ..base.clone()
                },
            ),
            (
                &[("x-nuthatch-scope", "user=an%3Dna"), ("x-nuthatch-cache", "shadow")],
                Control { shadow: true, scope: [("user".into(), "an=na".into())].into(), ..base.clone() },
            ),
        ];
        for (headers, control) in cases {
            assert_eq!(taken(headers).unwrap(), control, "{headers:?}");
        }
        for wrong in [
            ("x-nuthatch-cache", "maybe"),
            ("x-nuthatch-ttl", "soon"),
            ("x-nuthatch-scope", "caller=x"),
            ("x-nuthatch-scope", "request=x"),
            ("x-nuthatch-sources", "notes"),
            ("cache-control", "max-age=x"),
            ("helicone-cache-bucket-max-size", "21"),
        ] {
            assert_eq!(taken(&[wrong]).unwrap_err().status, 400, "{wrong:?}");
        }
    }

    #[test]
    fn litellms_words_in_the_body_are_read_and_do_not_reach_the_provider() {
        let mut request = json!({ "model": "m", "cache": { "no-cache": true, "ttl": 2, "namespace": "n" } });
        let control = Control::taken(&HeaderMap::new(), request.as_object_mut()).unwrap();
        assert_eq!((control.reads, control.stores, control.ttl_ms), (false, true, Some(2000)));
        assert_eq!(control.scope["namespace"], "n");
        assert_eq!(control.body.unwrap(), br#"{"model":"m"}"#);
        let mut other = json!({ "model": "m", "cache": "x" });
        assert_eq!(Control::taken(&HeaderMap::new(), other.as_object_mut()).unwrap(), Control::default());
    }

    #[test]
    fn a_bucket_is_one_of_so_many() {
        let buckets: std::collections::BTreeSet<String> = (0..200)
            .map(|_| taken(&[("helicone-cache-bucket-max-size", "3")]).unwrap().scope["bucket"].clone())
            .collect();
        assert_eq!(buckets.into_iter().collect::<Vec<_>>(), ["0", "1", "2"]);
    }
}
