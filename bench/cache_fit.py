"""Fits the first weights of the cache's score, and says how good they are on what they were not fitted on.

    cargo build --release -p nuthatch-cache --example features
    python -m bench.cache_fit FOLDER target/release/examples/features

`FOLDER` has the sets that `cache_sets.py` lists. Fitted on Kmemo's near-miss and validation pairs, one half of LangCache's prompts, and MeanCache's
conversations: 903 pairs that no veto rules out. Held out: Kmemo's held-out pairs and the other half of LangCache's. The prompts of one set
are a scope: each asked prompt is compared with the eight nearest of them, and all but its own are wrong.

Logistic regression with a standard normal prior. What it prints goes into `crates/cache/src/score.rs`, the precisions with 0.3: then verdicts
on other prompts count sooner (chosen on BANKING77 and CLINC150).
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from . import cache_sets
from .cache_sets import Pair
from .cache_vectors import vectors_of

NEAREST = 8
COSINE_MIN = 0.5
TEMPERED = 0.3
STEPS = 50


@dataclass
class Candidates:
    """Stored prompts near to asked ones. `features` has a row for each, `question` says for which of the asked ones it is."""

    features: np.ndarray
    possible: np.ndarray
    right: np.ndarray
    question: np.ndarray
    answerable: int


def main() -> None:
    folder, program = Path(sys.argv[1]), sys.argv[2]
    fitted = [
        ("kmemo-near-miss", cache_sets.kmemo(folder, "near-miss")),
        ("kmemo-validation", cache_sets.kmemo(folder, "validation")),
        ("langcache-0", cache_sets.langcache(folder, 1)),
        ("meancache", cache_sets.meancache(folder)),
    ]
    held_out = [
        ("kmemo-held-out", cache_sets.kmemo(folder, "held-out")),
        ("langcache-1", cache_sets.langcache(folder, 0)),
    ]
    known = [candidates(name, pairs, program) for name, pairs in fitted]
    features = np.concatenate([one.features[one.possible] for one in known])
    wrong = np.concatenate([~one.right[one.possible] for one in known]).astype(float)
    weights, precisions = fit(features, wrong)
    print(f"fitted on {len(wrong)} pairs, {wrong.mean():.0%} of them wrong")
    for weight, precision in zip(weights, precisions * TEMPERED, strict=True):
        print(f"    ({weight:.2f}, {precision:.1f}),")
    for name, pairs in held_out:
        judge(name, [candidates(name, pairs, program)], weights)
    judge("both", [candidates(name, pairs, program) for name, pairs in held_out], weights)


def candidates(name: str, pairs: list[Pair], program: str) -> Candidates:
    stored = list(dict.fromkeys(pair.known for pair in pairs))
    right_for: dict[str, set[str]] = {}
    for pair in pairs:
        right_for.setdefault(pair.asked, set()).update({pair.known} if pair.right else ())
    asked = [prompt for prompt in right_for if prompt not in set(stored)]
    vectors = vectors_of(f"fit-{name}", stored + asked)
    cosines = vectors[len(stored) :] @ vectors[: len(stored)].T
    lines, right, question = [], [], []
    for at, prompt in enumerate(asked):
        near = np.argsort(-cosines[at], kind="stable")[: NEAREST + 1]
        for place, one in enumerate(near[:NEAREST]):
            cosine = float(cosines[at, one])
            if cosine < COSINE_MIN:
                break
            following = float(cosines[at, near[place + 1]]) if place + 1 < len(near) else COSINE_MIN
            lines.append(json.dumps([stored[one], prompt, cosine, cosine - max(following, COSINE_MIN)]))
            right.append(stored[one] in right_for[prompt])
            question.append(at)
    told = subprocess.run([program], input="\n".join(lines), capture_output=True, text=True, check=True).stdout
    rows = [json.loads(line) for line in told.splitlines()]
    answerable = sum(1 for prompt in asked if right_for[prompt])
    possible = np.array([veto is None and not same for veto, same, _ in rows])
    return Candidates(np.array([row[2] for row in rows]), possible, np.array(right), np.array(question), answerable)


def fit(features: np.ndarray, wrong: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The most likely weights under the prior, by Newton's method, and the diagonal of their precision."""
    weights = np.zeros(features.shape[1])
    for _ in range(STEPS):
        risk = 1 / (1 + np.exp(-features @ weights))
        slope = features.T @ (risk - wrong) + weights
        curve = (features * (risk * (1 - risk))[:, None]).T @ features + np.eye(len(weights))
        weights = weights - np.linalg.solve(curve, slope)
    return weights, np.diag(curve)


def judge(name: str, sets: list[Candidates], weights: np.ndarray) -> None:
    """The least risky candidate of each question, as a cache without verdicts would give it."""
    best = []
    for one in sets:
        risk = np.where(one.possible, 1 / (1 + np.exp(-one.features @ weights)), 2.0)
        for question in np.unique(one.question):
            of = np.nonzero(one.question == question)[0]
            least = of[risk[of].argmin()]
            if risk[least] <= 1:
                best.append((float(risk[least]), bool(one.right[least])))
    answerable = sum(one.answerable for one in sets)
    best.sort()
    first = next((at for at, (_, is_right) in enumerate(best) if not is_right), len(best))
    print(
        f"{name}: {len(best)} questions with a candidate, {answerable} answerable; {first} right before the first wrong one"
    )
    for limit in (0.003, 0.01, 0.03, 0.1, 0.3, 0.5):
        right = sum(1 for risk, is_right in best if risk < limit and is_right)
        wrong = sum(1 for risk, is_right in best if risk < limit and not is_right)
        print(
            f"    risk below {limit:<5}  {right:>4} right ({right / answerable:>4.0%} of answerable)  {wrong:>3} wrong"
        )


if __name__ == "__main__":
    main()
