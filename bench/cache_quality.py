"""How often does a cache answer by meaning, and how often wrongly, on questions that people asked?

    python -m bench.cache_quality qqp FOLDER                                      # all 52,000 pairs
    python -m bench.cache_quality qqp FOLDER --rows 10000 --budgets 0.05
    python -m bench.cache_quality banking77 FOLDER
    python -m bench.cache_quality banking77 FOLDER --order topics --judge before after --oracle

`FOLDER` has the sets that `cache_sets.py` lists. Vectors are those of the installed model, made once. The order is of seed 7.

Of Quora's question pairs, all first questions are stored, then all second ones are asked that are not stored. An answer is right for a
question of the same cluster: the transitive closure of the pairs labelled "duplicate". "Not labelled" are wrong answers of which no label
says that they are: the floor of the noise. "By form" are answers by the prompt's form, which the bound does not count. Of BANKING77 and
CLINC150, one half is stored and the other asked; right is the same intent.

Whoever judges has the labels: `before` the answer is given (`judge=`), or `after` (`report`, at once). Beside it: the best single threshold of
cosine, chosen on these very questions. `--order topics` asks topic by topic instead of in random order; so traffic drifts all the time.

`--oracle` also tells what somebody would give who knows beforehand how often each of the six classes of risk, by the score that the cache begins
with, is wrong on these very questions, and who needs no verdicts: all classes together that are wrong no more often than the budget. `--judge`
without a value leaves it at that.
"""

from __future__ import annotations

import argparse
import bisect
import random
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import nuthatch

from . import cache_sets
from .cache_sets import Pair
from .cache_vectors import vectors_of

SEED = 7
LIMITS = (0.01, 0.03, 0.05, 0.1, 0.15)
BLOCK = 1024
#: Where the cache's classes of risk end, as in `crates/cache/src/classes.rs`.
ENDS = (0.001, 0.003, 0.01, 0.03, 0.1, 1.0)
CLASSES = len(ENDS)


@dataclass
class Stream:
    """Texts by number; what is stored, what is asked, and what is right for what."""

    texts: list[str]
    vectors: np.ndarray
    stored: list[int]
    asked: list[int]
    cluster: list[int]
    #: Clusters that a label tells apart; None: all of them.
    different: set[tuple[int, int]] | None

    def is_right(self, asked: int, stored: int) -> bool:
        return self.cluster[asked] == self.cluster[stored]

    def is_labelled(self, asked: int, stored: int) -> bool:
        """Whether a label says that the two clusters are different."""
        return self.different is None or _pair(self.cluster[asked], self.cluster[stored]) in self.different


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", choices=("qqp", "banking77", "clinc150"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, help="the first so many pairs or questions (default: all)")
    parser.add_argument("--budgets", type=float, nargs="+", default=[0.01, 0.03, 0.05])
    parser.add_argument("--judge", choices=("before", "after"), nargs="*", default=["before"])
    parser.add_argument("--allowance", type=float, default=1, help="wrong answers beside the budget (default: 1)")
    parser.add_argument("--order", choices=("shuffled", "topics"), default="shuffled", help="of what is asked")
    parser.add_argument("--oracle", action="store_true", help="what one gives who knows how often each class is wrong")
    options = parser.parse_args()
    if options.set == "qqp":
        stream = of_pairs(cache_sets.qqp(options.folder), options.rows)
    else:
        stream = of_intents(options.set, getattr(cache_sets, options.set)(options.folder), options.rows)
    if options.order == "topics":
        stream.asked.sort(key=lambda at: stream.cluster[at])
    known = {stream.cluster[one] for one in stream.stored}
    answerable = sum(1 for one in stream.asked if stream.cluster[one] in known)
    print(
        f"{len(stream.stored)} stored ({len(known)} clusters), {len(stream.asked)} asked, {answerable} of them answerable"
    )
    threshold(stream)
    if options.oracle:
        oracle(stream, options.budgets)
    print(
        "judge   budget    hits  of asked   wrong  wrong/hits  not labelled  by form  wrong  verdicts  wrong  ms a lookup"
    )
    for when in options.judge:
        for budget in options.budgets:
            run(stream, budget, when, options.allowance)


def of_pairs(pairs: list[Pair], limit: int | None) -> Stream:
    texts = list(dict.fromkeys(text for pair in pairs for text in (pair.known, pair.asked)))
    vectors = vectors_of("qqp", texts)
    number = {text: at for at, text in enumerate(texts)}
    cluster = list(range(len(texts)))

    def root(at: int) -> int:
        while cluster[at] != at:
            cluster[at] = cluster[cluster[at]]
            at = cluster[at]
        return at

    for pair in pairs:
        if pair.right:
            cluster[root(number[pair.known])] = root(number[pair.asked])
    cluster = [root(at) for at in range(len(texts))]
    different = {_pair(cluster[number[pair.known]], cluster[number[pair.asked]]) for pair in pairs if not pair.right}
    stored = list(dict.fromkeys(number[pair.known] for pair in pairs[:limit]))
    known = set(stored)
    asked = [at for at in dict.fromkeys(number[pair.asked] for pair in pairs[:limit]) if at not in known]
    random.Random(SEED).shuffle(asked)
    return Stream(texts, vectors, stored, asked, cluster, different)


def of_intents(name: str, rows: list[tuple[str, str | None]], limit: int | None) -> Stream:
    intents = dict(rows)
    texts = list(intents)
    vectors = vectors_of(name, texts)
    names = {intent: at for at, intent in enumerate(dict.fromkeys(intents.values()))}
    # The answer to a text without an intent is right for no other text.
    cluster = [-1 - at if intents[text] is None else names[intents[text]] for at, text in enumerate(texts)]
    order = list(range(len(texts)))
    random.Random(SEED).shuffle(order)
    order = order[:limit]
    half = len(order) // 2
    return Stream(texts, vectors, order[:half], order[half:], cluster, None)


def _pair(one: int, other: int) -> tuple[int, int]:
    return min(one, other), max(one, other)


def threshold(stream: Stream) -> None:
    """The most hits of one threshold within each limit, and what it gives at usual ones."""
    stored = stream.vectors[stream.stored]
    cosines, right = [], []
    for at in range(0, len(stream.asked), BLOCK):
        block = stream.asked[at : at + BLOCK]
        near = stream.vectors[block] @ stored.T
        best = near.argmax(axis=1)
        cosines += near[np.arange(len(block)), best].tolist()
        right += [stream.is_right(one, stream.stored[other]) for one, other in zip(block, best, strict=True)]
    order = np.argsort(-np.asarray(cosines), kind="stable")
    wrong, hits = np.cumsum(~np.asarray(right)[order]), np.arange(1, len(order) + 1)
    print("one threshold, chosen on the test: most hits within wrong/hits of")
    for limit in LIMITS:
        within = np.nonzero(wrong / hits <= limit)[0]
        most = int(hits[within[-1]]) if len(within) else 0
        print(f"    {limit:>4.0%}  {most:>6} hits  {most / len(order):>6.2%} of asked")
    for cosine in (0.99, 0.97, 0.95, 0.9):
        count = int((np.asarray(cosines) >= cosine).sum())
        print(f"    at {cosine:.2f}  {count:>6} hits  {wrong[count - 1] / count:>6.1%} of them wrong")


def oracle(stream: Stream, budgets: list[float]) -> None:
    """What the classes of the first score are worth to somebody who knows how often each is wrong."""
    number = {stream.texts[at]: at for at in stream.stored}
    right, wrong, named, wrong_named, nearest = [0] * CLASSES, [0] * CLASSES, 0, 0, 0
    with tempfile.TemporaryDirectory() as folder, nuthatch.connect(f"{folder}/memory") as db:
        cache = db.cache("questions", budget=0.05, durability="os")
        entries = {}
        for at in stream.stored:
            entries[cache.store(stream.texts[at], at, vector=stream.vectors[at].tolist()).entry] = at
        for at in stream.asked:
            told = cache.explain(stream.texts[at], vector=stream.vectors[at].tolist())
            if told.entry is not None:
                named, wrong_named = named + 1, wrong_named + (not stream.is_right(at, entries[told.entry]))
                continue
            possible = [one for one in told.candidates if one.veto is None]
            if possible:
                nearest += stream.is_right(at, number[possible[0].prompt])
                best = min(possible, key=lambda one: one.risk)
                of = right if stream.is_right(at, number[best.prompt]) else wrong
                of[bisect.bisect_right(ENDS[:-1], best.risk)] += 1
    all_right = (nearest + named - wrong_named) / len(stream.asked)
    print(f"the nearest candidate that nothing rules out is right for {all_right:.2%} of asked")
    print(f"one who knows the classes: {named} by form ({wrong_named} wrong), and by meaning")
    for budget in budgets:
        hits = mistakes = 0
        for at in sorted(range(CLASSES), key=lambda at: wrong[at] / max(1, right[at] + wrong[at])):
            more = right[at] + wrong[at]
            if mistakes + wrong[at] <= budget * (hits + more):
                hits, mistakes = hits + more, mistakes + wrong[at]
        share = (hits + named) / len(stream.asked)
        print(f"    {budget:>4.0%}  {hits:>6} hits, {mistakes} wrong; with those by form {share:.2%} of asked")


def run(stream: Stream, budget: float, when: str, allowance: float) -> None:
    number = {stream.texts[at]: at for at in stream.stored}
    verdicts = [0, 0]

    def is_right(prompt: str, hit: nuthatch.CacheHit) -> bool:
        right = stream.is_right(asking[0], number[hit.prompt])
        verdicts[not right] += 1
        return right

    asking = [0]
    judge = is_right if when == "before" else None
    with tempfile.TemporaryDirectory() as folder, nuthatch.connect(f"{folder}/memory") as db:
        cache = db.cache("questions", budget=budget, judge=judge, allowance=allowance, durability="os")
        for at in stream.stored:
            cache.store(stream.texts[at], at, vector=stream.vectors[at].tolist())
        hits = wrong = unlabelled = by_form = wrong_by_form = 0
        begun = time.perf_counter()
        for at in stream.asked:
            asking[0] = at
            hit = cache.check(stream.texts[at], vector=stream.vectors[at].tolist())
            if hit is None:
                continue
            is_wrong = not stream.is_right(at, hit.response)
            hits, wrong = hits + 1, wrong + is_wrong
            if hit.tier == "canonical":
                by_form, wrong_by_form = by_form + 1, wrong_by_form + is_wrong
            unlabelled += is_wrong and not stream.is_labelled(at, hit.response)
            if judge is None and hit.audit:
                cache.report(hit, wrong=not is_right(stream.texts[at], hit))
        took = (time.perf_counter() - begun) / len(stream.asked) * 1e3
    share, rate = hits / len(stream.asked), wrong / max(1, hits)
    print(
        f"{when:<7} {budget:>6.0%}  {hits:>6}  {share:>8.2%}  {wrong:>6}  {rate:>10.2%}  {unlabelled:>12}  {by_form:>7}  {wrong_by_form:>5}"
        f"  {sum(verdicts):>8}  {verdicts[1]:>5}  {took:>11.2f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
