"""No answer leaves its place, over any face: values that run into each other, the same texts, every tier.

600 rounds over each face, or 20,000 with ``NUTHATCH_LONG=1``; a round is about three lookups.
"""

from __future__ import annotations

import itertools
import os
import random

ROUNDS = 20_000 if "NUTHATCH_LONG" in os.environ else 600

PROMPTS = ["What is my name?", "what's my name", "Who am I?", "Tell me my name, please"]
MODELS, USERS = ["m", "mm", "", "m\0u"], ["u", "uu", "mu", "u\0"]


def near(at):
    return [1.0, 0.01 * at, 0.0]


def test_no_lookup_crosses_scopes_and_users(db):
    dice = random.Random(7)
    in_scope = db.cache("in-scope", budget=0.5, judge=lambda prompt, hit: True)
    late = db.cache("late", budget=0.5, judge=lambda prompt, hit: True, share_after=2)
    places = list(itertools.product(MODELS, USERS))
    tiers = set()
    for _ in range(ROUNDS):
        model, user = dice.choice(places)
        at = dice.randrange(len(PROMPTS))
        prompt, vector, place = PROMPTS[at], near(at), f"{model!r}/{user!r}"
        ways = [
            (in_scope, {"scope": {"model": model, "user": user}}),
            (late, {"scope": {"model": model}, "user": user}),
        ]
        for cache, who in ways:
            if dice.random() < 0.1:
                cache.store(prompt, place, vector=vector, **who)
                continue
            hit = cache.check(prompt, vector=vector, **who)
            if hit is not None:
                assert hit.response == place
                tiers.add(hit.tier)
            computed = cache.get_or_compute(prompt, lambda place=place: place, vector=vector, **who)
            assert computed == place
            if dice.random() < 0.02:
                known = {answer.entry: answer.response for answer in cache.answers(scope=who["scope"])}
                shown = cache.explain(prompt, vector=vector, **who).candidates
                assert {known[one.entry] for one in shown} <= {place}
    assert {"exact", "canonical"} <= tiers


def test_a_lease_holds_up_nobody_of_another_scope_or_user(db):
    cache = db.cache("late", share_after=2)
    asked = []

    def compute(user):
        def nested():
            asked.append(user)
            if user < 3:
                again = cache.get_or_compute("the same", compute(user + 1), user=str(user + 1), lease=2)
                assert again == user + 1
            return user

        return nested

    # Each computes while the one before holds its own lease.
    assert cache.get_or_compute("The same", compute(0), user="0", lease=2) == 0
    assert asked == [0, 1, 2, 3]
