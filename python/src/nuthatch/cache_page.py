"""A page about a cache, for a browser.

What it is: one file of HTML with its style, without scripts and without anything from the network.
Invariant: whatever comes from prompts, answers and names is escaped.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence

from .answers import CacheAudit, CacheSavings, CacheStats

_TIERS = ("exact", "canonical", "alias", "semantic")
_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #d8dee4;vertical-align:top;overflow-wrap:anywhere}
td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.bar{background:#0969da;height:.7rem;min-width:1px}
pre{margin:0;white-space:pre-wrap;font:13px/1.4 ui-monospace,monospace}
"""
#: Characters of an answer that the page shows.
_SHOWN = 500


def page(name: str, stats: CacheStats, waiting: Sequence[CacheAudit]) -> str:
    """The page of a cache."""
    parts = [
        f"<h1>Cache {_text(name)}</h1>",
        f"<p>{stats.entries} answers, {stats.bytes} bytes, {stats.hit_rate:.1%} of the lookups with an answer.</p>",
        "<h2>Lookups</h2>",
        _bars([(tier, stats.counts[tier]) for tier in _TIERS] + [("misses", stats.counts["misses"])]),
        "<h2>Lookups without an answer</h2>",
        _bars(list(stats.missed.items())),
        "<h2>Saved</h2>",
        _savings(stats.savings),
        "<h2>Answers by meaning</h2>",
        _promise(stats),
        "<h2>Waiting for a verdict</h2>",
        _waiting(waiting),
        "<h2>What became of answers</h2>",
        _table((count, stats.counts[count]) for count in stats.counts if count not in (*_TIERS, "misses")),
        "<h2>Settings</h2>",
        _table(stats.settings.items()),
    ]
    head = f"<meta charset='utf-8'><title>Cache {_text(name)}</title><style>{_STYLE}</style>"
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{''.join(parts)}</body></html>"


def _promise(stats: CacheStats) -> str:
    ledger, budget = stats.ledger, stats.settings["budget"]
    if not budget:
        return "<p>Off: the cache has no budget, and answers by prompts and their forms only.</p>"
    sure = 1 - stats.settings["failure"]
    said = (
        f"With probability {sure:.0%}, at most {ledger.bound:.1f} of {ledger.hits} answers by meaning are wrong;"
        f" {ledger.allowed:.1f} may be (a budget of {budget:.1%}, plus {stats.settings['allowance']:g})."
    )
    next_one = ledger.audit_probability
    then = "none, until a verdict comes" if next_one is None else f"judged with probability {next_one:.1%}"
    rows: list[tuple[str, object]] = []
    if ledger.wrong is not None:
        share, low, high = ledger.wrong.share, ledger.wrong.low, ledger.wrong.high
        rows.append(("estimated to be wrong", f"{share:.2%} (between {low:.2%} and {high:.2%})"))
    rows += [
        ("selected to be judged", ledger.audited),
        ("of these without a verdict, which count as wrong", ledger.pending),
        ("known to be wrong", ledger.known_wrong),
        ("verdicts that the risk was learned from", ledger.verdicts),
        ("the next answer by meaning", then),
    ]
    return f"<p>{_text(said)}</p>{_table(rows)}"


def _savings(savings: CacheSavings) -> str:
    usd = [
        ("answers that were given would have cost", savings.gross_usd),
        ("of these, wrong ones", -savings.wrong_usd),
        ("verdicts", -savings.judging_usd),
        ("vectors of questions", -savings.embedding_usd),
        ("net", savings.net_usd),
    ]
    return _table([("tokens", savings.tokens), *((name, f"{amount:,.4f} USD") for name, amount in usd)])


def _waiting(waiting: Sequence[CacheAudit]) -> str:
    if not waiting:
        return "<p>Nothing.</p>"
    rows = "".join(
        f"<tr><td class='n'>{one.hit}</td><td>{_text(one.asked)}</td><td>{_text(one.prompt or '(gone)')}</td>"
        f"<td><pre>{_text(_shown(one.response))}</pre></td><td class='n'>{one.risk:.3f}</td></tr>"
        for one in waiting
    )
    head = "<tr><th>hit</th><th>asked</th><th>stored for</th><th>answer</th><th>risk</th></tr>"
    return f"<table>{head}{rows}</table>"


def _bars(counts: Sequence[tuple[str, int]]) -> str:
    most = max(count for _, count in counts) or 1
    rows = "".join(
        f"<tr><td>{_text(name)}</td><td class='n'>{count}</td>"
        f"<td style='width:60%'><div class='bar' style='width:{100 * count / most:.1f}%'></div></td></tr>"
        for name, count in counts
    )
    return f"<table>{rows}</table>"


def _table(rows: Iterable[tuple[str, object]]) -> str:
    return f"<table>{''.join(f'<tr><td>{_text(n)}</td><td class=n>{_text(v)}</td></tr>' for n, v in rows)}</table>"


def _shown(answer: object) -> str:
    text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} …"


def _text(value: object) -> str:
    return html.escape(", ".join(map(str, value)) if isinstance(value, list) else str(value))
