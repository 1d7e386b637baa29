"""nDCG@10 as trec_eval computes it (``ndcg_cut_10``): gain = judgement, discount = log2(rank + 1)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence


def ndcg_at_10(ranked: Sequence[str], judged: Mapping[str, int]) -> float:
    """One question: the ids in ranked order against their judgements."""

    def gain(judgements: Iterable[int]) -> float:
        return sum(judgement / math.log2(rank + 2) for rank, judgement in enumerate(judgements))

    best = gain(sorted((j for j in judged.values() if j > 0), reverse=True)[:10])
    return gain(max(judged.get(id, 0), 0) for id in ranked[:10]) / best if best else 0.0


def mean(values: Iterable[float]) -> float:
    """Of at least one value."""
    values = list(values)
    return sum(values) / len(values)
