//! How the caching proxy is run.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use axum::http::{HeaderName, Uri};
use nuthatch_link::{CacheChange, CacheMode};

/// The settings of the proxy.
#[derive(Clone, Debug)]
pub struct ProxyConfig {
    /// Where it listens; port 0 picks a free one.
    pub listen: SocketAddr,
    /// The upstream for requests that no cache answers.
    pub upstream: UpstreamConfig,
    /// A file with the key that the upstream gets in place of the clients'.
    pub upstream_key: Option<PathBuf>,
    /// Further certificate authorities (PEM) for the upstream.
    pub upstream_ca: Option<PathBuf>,
    /// The cache of each tenant.
    pub cache: String,
    /// The settings that every cache gets before it is used.
    pub change: CacheChange,
    /// Whose answers a caller gets.
    pub identity: Identity,
    /// Answers that call tools are kept, too.
    pub tool_calls: bool,
    /// Requests with images, sound and files are answered, too.
    pub media: bool,
    /// How long the upstream may take to begin an answer, or pause within one.
    pub timeout: Duration,
    /// The prices of tokens.
    pub prices: Prices,
    /// Serve the page of `nuthatch cache demo`.
    pub demo: Option<Demo>,
}

/// The data that the page of the demonstration gets.
#[derive(Clone, Debug)]
pub struct Demo {
    /// The model that it asks for.
    pub model: String,
    /// Why there are no answers by meaning; empty where there are.
    pub by_meaning: String,
}

/// The upstream for requests that no cache answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpstreamConfig {
    /// A provider at this address.
    Address(Uri),
    /// A few fixed answers within this process: for demonstrations, and no model.
    Canned,
}

/// Which callers share answers: those for whom all of these are the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity(pub Vec<Mark>);

/// Something that tells callers apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The API keys that they send.
    Key,
    /// The user that a request names.
    User,
    /// A header of the request.
    Header(HeaderName),
}

/// Prices by model, in USD per million tokens.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices(Vec<(String, [f64; 3])>);

impl fmt::Display for UpstreamConfig {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(uri) => write!(out, "{}", uri.to_string().trim_end_matches('/')),
            Self::Canned => out.write_str("canned"),
        }
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let marks: Vec<String> = self.0.iter().map(Mark::to_string).collect();
        match marks.is_empty() {
            true => out.write_str("none"),
            false => out.write_str(&marks.join(",")),
        }
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key => out.write_str("key"),
            Self::User => out.write_str("user"),
            Self::Header(name) => write!(out, "header:{name}"),
        }
    }
}

impl Prices {
    /// Whether no model has one.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the cost of an answer: its tokens of the request, of the answer, and those of the request that the
    /// provider had cached. None for a model without a price.
    pub fn usd(&self, model: &str, [asked, answered, cached]: [u64; 3]) -> Option<f64> {
        let of = |name: &str| self.0.iter().find(|(known, _)| known == name);
        // Providers name the very version in their answers.
        let longest = || {
            let begins = self.0.iter().filter(|(known, _)| known != "*" && model.starts_with(known.as_str()));
            begins.max_by_key(|(known, _)| known.len())
        };
        let (_, [input, output, cached_input]) = of(model).or_else(longest).or_else(|| of("*"))?;
        let cached = cached.min(asked);
        let cost = (asked - cached) as f64 * input + cached as f64 * cached_input + answered as f64 * output;
        Some(cost / 1e6)
    }
}

/// # Errors
/// A sentence that says how an address is written.
pub fn parse_upstream(text: &str) -> Result<UpstreamConfig, String> {
    if text == "canned" {
        return Ok(UpstreamConfig::Canned);
    }
    let wrong = || format!("{text:?} is not an address; write for example https://api.openai.com/v1");
    let uri: Uri = text.trim_end_matches('/').parse().map_err(|_| wrong())?;
    let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
    let Some(authority) = uri.authority().filter(|_| is_http && uri.query().is_none()) else { return Err(wrong()) };
    match authority.as_str().contains('@') {
        // The password would appear wherever the settings are shown.
        true => Err("an address with a password in it; give the key in a file with cache_upstream_key".into()),
        false => Ok(UpstreamConfig::Address(uri)),
    }
}

/// # Errors
/// A sentence that says how an identity is written.
pub fn parse_identity(text: &str) -> Result<Identity, String> {
    if text == "none" {
        return Ok(Identity(Vec::new()));
    }
    let mark = |word: &str| match word.trim() {
        "key" => Ok(Mark::Key),
        "user" => Ok(Mark::User),
        word => {
            let name = word.strip_prefix("header:").and_then(|name| name.parse().ok());
            name.map(Mark::Header).ok_or_else(|| {
                format!("{word:?}; write none, or some of key, user and header:NAME with commas in between")
            })
        }
    };
    text.split(',').map(mark).collect::<Result<_, _>>().map(Identity)
}

/// # Errors
/// A sentence that says how prices are written.
pub fn parse_prices(text: &str) -> Result<Prices, String> {
    let price = |one: &str| {
        let (model, prices) = one.rsplit_once('=')?;
        let prices: Vec<f64> = prices.split('/').map(|price| price.trim().parse().ok()).collect::<Option<_>>()?;
        let is_price = |price: &f64| price.is_finite() && *price >= 0.0;
        match prices.as_slice() {
            [input, output] => Some([*input, *output, *input]),
            [input, output, cached] => Some([*input, *output, *cached]),
            _ => None,
        }
        .filter(|all| all.iter().all(is_price) && !model.trim().is_empty())
        .map(|prices| (model.trim().to_string(), prices))
    };
    let all = text.split(',').map(|one| {
        price(one).ok_or_else(|| {
            format!(
                "{one:?}; write MODEL=INPUT/OUTPUT[/CACHED] in USD per million tokens, for example gpt-4o=2.5/10/1.25"
            )
        })
    });
    all.collect::<Result<_, _>>().map(Prices)
}

/// # Errors
/// A sentence that names the choices.
pub fn parse_mode(text: &str) -> Result<CacheMode, String> {
    match text {
        "serve" => Ok(CacheMode::Serve),
        "shadow" => Ok(CacheMode::Shadow),
        "off" => Ok(CacheMode::Off),
        _ => Err(format!("{text:?}; choose one of serve, shadow, off")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_that_of_the_model_or_of_its_family() {
        let prices = parse_prices("gpt-4o=2.5/10/1.25, gpt-4o-mini=0.15/0.6,*=1/2").unwrap();
        let usd = |model: &str| prices.usd(model, [1_000_000, 1_000_000, 400_000]).unwrap();
        assert_eq!(usd("gpt-4o"), 0.6 * 2.5 + 0.4 * 1.25 + 10.0);
        assert_eq!(usd("gpt-4o-mini-2026"), 0.75);
        assert_eq!(usd("other"), 3.0);
        assert_eq!(parse_prices("a=1/2").unwrap().usd("b", [1, 1, 0]), None);
        for wrong in ["", "a", "a=1", "a=1/x", "a=-1/2", "=1/2", "a=1/2/3/4", "a=inf/1"] {
            assert!(parse_prices(wrong).unwrap_err().contains("MODEL="), "{wrong}");
        }
    }

    #[test]
    fn an_upstream_is_an_address_without_secrets() {
        assert_eq!(parse_upstream("canned"), Ok(UpstreamConfig::Canned));
        assert!(parse_upstream("https://api.openai.com/v1/").is_ok());
        for wrong in ["", "api.openai.com", "ftp://x", "https://u:p@x/v1", "http://x/v1?key=1", "https://"] {
            assert!(parse_upstream(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_identity_is_made_of_marks() {
        let marks = |text| parse_identity(text).map(|identity| identity.0.len());
        assert_eq!((marks("none"), marks("key"), marks("key, user,header:x-team")), (Ok(0), Ok(1), Ok(3)));
        assert!(marks("everybody").is_err() && marks("").is_err() && marks("header: ").is_err());
    }
}
