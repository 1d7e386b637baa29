//! The fate of a request, as the headers of its answer and the figures report it.

use axum::http::{HeaderMap, HeaderName, HeaderValue};

use super::control::Control;
use super::exchange::Given;

/// The fate of a request.
pub enum Fate {
    /// An answer of the cache, which another request brought there meanwhile if `collapsed`, with what it would have cost.
    Hit { given: Box<Given>, collapsed: bool, usd: Option<f64> },
    /// The upstream answers; `stored`: why that is not kept, or `yes`, where it is known before the answer begins.
    Miss { why: &'static str, would: Option<&'static str>, stored: Option<&'static str> },
    /// The upstream answers, and the cache has nothing to do with it.
    Bypass(&'static str),
    /// Nobody answers.
    OnlyCached,
}

impl Fate {
    /// The same, when it is known whether the answer is kept.
    pub fn stored(self, stored: &'static str) -> Self {
        match self {
            Self::Miss { why, would, .. } => Self::Miss { why, would, stored: Some(stored) },
            other => other,
        }
    }

    /// The labels of the figures.
    pub fn counted(&self) -> (&'static str, &'static str) {
        match self {
            Self::Hit { given, .. } => ("hit", given.tier),
            Self::Miss { why, .. } => ("miss", why),
            Self::Bypass(why) => ("bypass", why),
            Self::OnlyCached => ("miss", "only cached"),
        }
    }

    /// Writes the headers.
    pub fn tell(&self, headers: &mut HeaderMap, control: &Control) {
        let word = match self {
            Self::Hit { .. } => "HIT",
            Self::Miss { .. } | Self::OnlyCached => "MISS",
            Self::Bypass(_) => "BYPASS",
        };
        // The list of an upstream that is behind a cache of its own goes on.
        headers.append("cache-status", value(&self.status()));
        set(headers, "x-nuthatch-cache", word);
        set(headers, "x-cache", word);
        for peer in &control.peers {
            set(headers, peer.status(), word);
        }
        match self {
            Self::Hit { given, usd, .. } => Self::tell_hit(headers, given, *usd),
            Self::Miss { why, would, stored } => {
                set(headers, "x-nuthatch-cache-reason", why);
                if let Some(would) = would {
                    set(headers, "x-nuthatch-cache-would", would);
                }
                if let Some(stored) = stored {
                    set(headers, "x-nuthatch-cache-stored", stored);
                }
            }
            Self::Bypass(why) => set(headers, "x-nuthatch-cache-reason", why),
            // Clients would try again.
            Self::OnlyCached => set(headers, "x-should-retry", "false"),
        }
    }

    fn tell_hit(headers: &mut HeaderMap, given: &Given, usd: Option<f64>) {
        set(headers, "age", &(given.age_ms / 1000).to_string());
        set(headers, "x-nuthatch-cache-tier", given.tier);
        if let Some(entry) = given.entry {
            set(headers, "x-nuthatch-cache-entry", &entry.to_string());
        }
        if let Some(hit) = given.hit {
            set(headers, "x-nuthatch-cache-hit-id", &hit.to_string());
        }
        for (name, number) in [("x-nuthatch-cache-score", given.similarity), ("x-nuthatch-cache-risk", given.risk)] {
            if let Some(number) = number {
                set(headers, name, &format!("{number:.4}"));
            }
        }
        if given.audit {
            set(headers, "x-nuthatch-cache-audit", "yes");
        }
        if let Some(usd) = usd {
            set(headers, "x-nuthatch-cache-saved-usd", &format!("{usd:.8}"));
        }
    }

    /// As RFC 9211 writes it.
    fn status(&self) -> String {
        match self {
            Self::Hit { given, collapsed: false, .. } => format!("nuthatch; hit; detail={}", given.tier),
            Self::Hit { given, collapsed: true, .. } => format!("nuthatch; fwd=miss; collapsed; detail={}", given.tier),
            Self::Miss { why, stored, .. } => {
                let forwarded = match *why {
                    "refresh" | "shadow" => "request",
                    "stale" | "too old" => "stale",
                    _ => "miss",
                };
                let stored = if *stored == Some("yes") { "; stored" } else { "" };
                format!("nuthatch; fwd={forwarded}{stored}; detail=\"{why}\"")
            }
            Self::Bypass(why) => format!("nuthatch; fwd=bypass; detail=\"{why}\""),
            Self::OnlyCached => "nuthatch; detail=\"only-if-cached\"".into(),
        }
    }
}

fn set(headers: &mut HeaderMap, name: &'static str, text: &str) {
    headers.insert(HeaderName::from_static(name), value(text));
}

fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static("?"))
}
