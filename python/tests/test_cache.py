"""Caches of answers: tiers, scopes, the budget and its verdicts, sources, limits."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import threading

import pytest

import nuthatch
from nuthatch import AsyncCache, Cache, InvalidError, NotFoundError, Source, cache_page


@pytest.fixture
def cache(db):
    return db.cache("answers")


def near(at):
    """A vector near that of every other number."""
    return [1.0, 0.01 * at, 0.0]


def test_an_answer_is_found_by_its_prompt_and_by_its_form(cache):
    answer = {"text": "naïve ✓", "parts": [1, 2.5, None, True]}
    assert cache.check("What is DNS?") is None
    assert cache.last_miss.reason == "absent"
    stored = cache.store("What is DNS?", answer, tags=["net"])
    assert (stored.stored, stored.replaced, stored.evicted) == (True, False, 0)
    hit = cache.check("What is DNS?")
    assert (hit.tier, hit.response, hit.tags, hit.entry) == ("exact", answer, ["net"], stored.entry)
    assert cache.last_miss is None
    assert cache.check("what's  DNS").tier == "canonical"
    assert cache.check("What is DHCP?") is None
    assert cache.put("What is DNS?", None).replaced
    assert cache.get("What is DNS?").response is None
    stats = cache.stats()
    assert (stats.entries, stats.counts["exact"], stats.counts["canonical"], stats.counts["misses"]) == (1, 2, 1, 2)
    assert stats.hit_rate == 3 / 5


def test_no_answer_leaves_its_scope(db):
    cache = db.cache("answers", scope=["model", "user"])
    users = ["anna", "ben", "annaben", ""]
    for user in users:
        cache.store("Who am I?", user, scope={"model": "m", "user": user})
    for user in users:
        assert cache.check("who am i", scope={"user": user, "model": "m"}).response == user
    assert cache.check("Who am I?", scope={"user": "anna", "model": "n"}) is None
    for wrong in (None, {"user": "anna"}, {"user": "a", "model": "m", "more": "x"}):
        with pytest.raises(InvalidError, match="must not reach another scope"):
            cache.check("Who am I?", scope=wrong)
    assert cache.invalidate(scope={"model": "m", "user": "ben"}) == 1
    assert cache.check("Who am I?", scope={"user": "ben", "model": "m"}) is None
    assert cache.stats().entries == 3


def test_whoever_floods_a_cache_evicts_their_own_answers(db):
    cache = db.cache("answers", user_max_entries=3, user_max_bytes="64KiB")
    cache.store("What is DNS?", "names", user="ben")
    cache.store("What is BGP?", "routes", scope={"user": "cleo"})
    cache.store("What is TCP?", "streams", user="anna", shared=True)
    for at in range(30):
        cache.store(f"question {at}", at, user="anna")
        assert cache.check("question 0", user="anna").response == 0  # in use, so it stays
    kept = [answer.prompt for answer in cache.answers()]
    assert sorted(kept) == ["What is BGP?", "What is DNS?", "What is TCP?", "question 0", "question 28", "question 29"]
    with pytest.raises(nuthatch.ExhaustedError, match="of one user at most"):
        cache.store("long", "x" * (1 << 16), user="anna")
    db.cache("answers", user_max_entries=1)
    assert [answer.prompt for answer in cache.answers() if "question" in answer.prompt] == ["question 0"]
    assert cache.stats().counts["evicted"] == 29


def test_settings_stay_with_the_cache(db):
    db.cache("answers", budget=0.02, ttl=60, max_entries=10, max_bytes="1MiB", scope=["user"])
    settings = db.cache("answers").stats().settings
    assert settings == {
        "mode": "serve",
        "budget": 0.02,
        "failure": 0.05,
        "ttl": 60.0,
        "max_entries": 10,
        "max_bytes": 1 << 20,
        "scope": ["user"],
        "allowance": 1.0,
        "share_after": 0,
        "share_when": "agreed",
        "user_max_entries": 0,
        "user_max_bytes": 0,
    }
    db.cache("answers", max_entries=0)
    assert db.cache("answers").stats().settings["max_entries"] == 0
    assert db.caches() == ["answers"]
    assert db.drop_cache("answers")
    assert not db.drop_cache("answers")
    with pytest.raises(NotFoundError):
        db.cache("answers", create=False)


def test_what_was_used_longest_ago_makes_room(db):
    cache = db.cache("answers", max_entries=2)
    cache.store("one", 1)
    cache.store("two", 2)
    assert cache.check("one").response == 1
    assert cache.store("three", 3).evicted == 1
    assert cache.check("two") is None
    assert [cache.check(prompt).response for prompt in ("one", "three")] == [1, 3]


def test_an_answer_by_meaning_waits_for_its_verdict(db):
    cache = db.cache("answers", budget=0.1)
    cache.store("How do I reset my password?", "settings", vector=near(0))
    hit = cache.check("How can I reset the password?", vector=near(1))
    assert (hit.tier, hit.audit, hit.prompt, hit.response) == (
        "semantic",
        True,
        "How do I reset my password?",
        "settings",
    )
    assert hit.similarity > 0.99
    assert cache.check("Resetting my password, how?", vector=near(2)) is None
    assert cache.last_miss.reason == "unproven"
    [waiting] = cache.audits()
    assert (waiting.hit, waiting.asked, waiting.response) == (hit.hit, "How can I reset the password?", "settings")
    assert cache.report(hit, wrong=False)
    assert not cache.report(hit, wrong=False)
    with pytest.raises(nuthatch.ConflictError, match="final"):
        cache.report(hit, wrong=True)
    assert cache.audits() == []
    assert cache.check("how can i reset the password", vector=near(1)).tier == "alias"
    ledger = cache.stats().ledger
    assert (ledger.hits, ledger.audited, ledger.pending, ledger.known_wrong, ledger.bound) == (1, 1, 0, 0, 0.0)


def test_a_wrong_answer_is_not_given_for_that_prompt_again(db):
    cache = db.cache("answers", budget=0.5)
    cache.store("How do I reset my password?", "settings", vector=near(0))
    prompt = "How can I reset the password?"
    cache.report(cache.check(prompt, vector=near(1)), wrong=True)
    assert cache.check(prompt, vector=near(1)) is None
    assert (cache.last_miss.reason, cache.last_miss.veto) == ("vetoed", "never")
    cache.report(cache.check("How do I reset my password?"), wrong=True)
    assert cache.check("How do I reset my password?", vector=near(0)) is None


def test_a_judge_decides_before_an_answer_is_given(db):
    asked = []

    def judge(prompt, hit):
        asked.append(prompt)
        return "router" not in prompt

    cache = db.cache("answers", budget=0.1, judge=judge)
    cache.store("How do I reset my password?", "settings", vector=near(0))
    given = [
        cache.check(f"How {verb} I reset {whose} {what}?", vector=near(1))
        for verb in ("can", "could", "should")
        for whose in ("my", "your")
        for what in ("password", "router password")
    ]
    assert [hit is not None for hit in given] == [True, False] * 6
    assert sum("router" not in prompt for prompt in asked) == 6, "nothing has been proven yet"
    assert asked[1] == "How can I reset my router password?"
    stats = cache.stats()
    assert (stats.ledger.hits, stats.ledger.known_wrong, stats.ledger.pending) == (6, 0, 0)
    with pytest.raises(InvalidError, match="the judge returned"):
        db.cache("answers", judge=lambda prompt, hit: "yes").check("Can I reset a password?", vector=near(1))


def test_what_an_answer_turns_on_rules_it_out(db):
    cache = db.cache("answers", budget=0.5)
    cache.store("What is 15% of 80?", 12, vector=near(0))
    assert cache.check("What is 18% of 80?", vector=near(0)) is None
    assert (cache.last_miss.reason, cache.last_miss.veto) == ("vetoed", "numbers")
    explained = cache.explain("What is 18% of 80?", vector=near(0))
    assert (explained.canonical, explained.tier, explained.compared) == ("what is 18% of 80", None, True)
    assert [candidate.veto for candidate in explained.candidates] == ["numbers"]
    assert cache.explain("what is 15% of 80").tier == "canonical"
    assert cache.stats().counts["misses"] == 1, "explaining counts nothing"


def test_a_cache_in_shadow_counts_and_gives_nothing(db):
    cache = db.cache("answers", mode="shadow", budget=0.1, judge=lambda prompt, hit: True)
    cache.store("How do I reset my password?", "settings", vector=near(0))
    assert cache.check("How do I reset my password?") is None
    assert cache.check("How can I reset the password?", vector=near(1)) is None
    assert cache.last_miss.reason == "shadow"
    stats = cache.stats()
    assert (stats.counts["shadow_hits"], stats.ledger.hits, stats.ledger.verdicts) == (2, 0, 1)
    off = db.cache("answers", mode="off")
    assert not off.store("more", 1).stored
    assert (off.check("more"), off.last_miss.reason) == (None, "off")


@pytest.mark.parametrize("change", ["replace", "delete", "drop"])
def test_an_answer_falls_with_its_source(db, cache, change):
    notes = db.collection("notes", embedder=None)
    notes.upsert([{"id": "a1", "text": "old"}, {"id": "b1", "text": "other"}])
    cache.store("What does a1 say?", "old", sources=[("notes", "a1"), {"collection": "notes", "id": "b1"}])
    cache.store("What do I say?", "nothing")
    assert cache.check("What does a1 say?").sources == [Source("notes", "a1"), Source("notes", "b1")]
    if change == "replace":
        notes.upsert([{"id": "b1", "text": "new"}])
    elif change == "delete":
        notes.delete("a1")
    else:
        db.drop_collection("notes")
        db.collection("notes", embedder=None).upsert([{"id": "a1", "text": "old"}, {"id": "b1", "text": "other"}])
    assert cache.check("what does a1 say") is None
    assert cache.last_miss.reason == "stale"
    assert cache.check("What do I say?").response == "nothing"
    with pytest.raises(NotFoundError, match="answer names"):
        cache.store("What does x say?", "x", sources=[("notes", "missing")])
    assert cache.stats().entries == 1


def test_answers_are_removed_by_tag_source_and_number(db, cache):
    notes = db.collection("notes", embedder=None)
    notes.upsert([{"id": "a1", "text": "a"}])
    entries = [cache.store(f"prompt {at}", at, tags=["even" if at % 2 == 0 else "odd"]).entry for at in range(4)]
    cache.store("from a note", "a", sources=[("notes", "a1")])
    assert cache.invalidate(tag="even") == 2
    assert cache.invalidate(source=("notes", "a1")) == 1
    assert cache.invalidate(entry=entries[1]) == 1
    assert cache.check("prompt 3").response == 3
    assert cache.clear() == 1
    assert cache.stats().entries == 0
    with pytest.raises(InvalidError, match="name one of"):
        cache.invalidate()
    with pytest.raises(InvalidError, match="name one of"):
        cache.invalidate(tag="a", entry=1)


def test_one_thread_computes_and_the_others_wait(cache):
    computed = []
    started = threading.Barrier(8)

    def compute():
        computed.append(1)
        return "answer"

    def ask(answers):
        started.wait()
        answers.append(cache.get_or_compute("What is it?", compute))

    answers: list[str] = []
    threads = [threading.Thread(target=ask, args=(answers,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (answers, computed) == (["answer"] * 8, [1])


def test_a_decorated_function_is_called_once_for_each_scope(cache):
    calls = []

    @cache.cached
    def ask(prompt, temperature=0.0, *, model="small"):
        calls.append((prompt, temperature, model))
        return f"{prompt} {model}"

    assert ask("What is DNS?") == ask("what's DNS?") == "What is DNS? small"
    assert ask("What is DNS?", model="large") == "What is DNS? large"
    assert ask("What is DNS?", 0.5) == "What is DNS? small"
    assert len(calls) == 3
    with pytest.raises(InvalidError, match="its prompt"):
        ask(prompt="What is DNS?")


def test_a_decorated_function_to_be_awaited_is_called_once(cache):
    calls = []

    @cache.cached
    async def ask(prompt, *, model="small"):
        calls.append((prompt, model))
        return f"{prompt} {model}"

    async def use():
        return [await ask("What is DNS?"), await ask("what's DNS?"), await ask("What is DNS?", model="large")]

    assert inspect.iscoroutinefunction(ask)
    assert asyncio.run(use()) == ["What is DNS? small", "What is DNS? small", "What is DNS? large"]
    assert len(calls) == 2


def test_known_answers_are_stored_before_anybody_asks(db, cache):
    db.collection("notes", embedder=None).upsert([{"id": "a1", "text": "x"}])
    user = {"user": "anna"}
    more = {"prompt": "What is a1?", "response": "x", "sources": [("notes", "a1")], "scope": {"user": "ben"}}
    assert (
        cache.warm([("What is DNS?", "names"), ["What is BGP?", {"a": 1}], more], scope=user, tags="faq", ttl=60) == 3
    )
    assert cache.check("what's BGP", scope=user).response == {"a": 1}
    assert cache.check("What is a1?", scope={"user": "ben"}).sources == [Source("notes", "a1")]
    assert cache.invalidate(tag="faq") == 3
    assert cache.warm([]) == 0
    assert db.cache("answers", mode="off").warm([("a", 1)]) == 0
    for wrong in ("ab c", ("a",), {"prompt": "a"}, {"prompt": "a", "response": 1, "budget": 1}):
        with pytest.raises(InvalidError, match=r"pairs\[1\]"):
            cache.warm([("a", 1), wrong])


VECTORS = {
    "How do I reset my password?": near(0),
    "How can I reset the password?": near(1),
    "Resetting my password, how?": near(20),
    "How do I close my account?": near(10),
    "How far is the moon?": [0.0, 0.0, 1.0],
    "What is 15% of 80?": near(0),
    "What is 18% of 80?": near(0),
}
PAIRS = [
    ("How do I reset my password?", "How can I reset the password?", True),
    ("How do I reset my password?", "Resetting my password, how?", True),
    ("How do I reset my password?", "How do I close my account?", False),
    ("How do I reset my password?", "How far is the moon?", False),
    ("What is 15% of 80?", "What is 18% of 80?", False),
]


def test_labelled_pairs_tell_what_a_threshold_would_have_done(cache):
    found = cache.calibrate(PAIRS, embed=VECTORS.__getitem__, target="recall")
    assert (found.same, found.different, found.recall, found.precision) == (2, 3, 1.0, 0.5)
    assert found.threshold == max(point.threshold for point in found.curve if point.recall == 1.0)
    assert found.curve == sorted(found.curve)
    assert (len(found.curve), found.curve[0].threshold) == (5, 0.0)
    assert 0.97 < found.threshold < 0.99
    assert found.vetoes == {"numbers": (0, 1)}
    assert cache.stats().entries == 0
    with pytest.raises(InvalidError, match="no threshold reaches"):
        cache.calibrate(PAIRS, embed=VECTORS.__getitem__, min_precision=0.9)
    with pytest.raises(InvalidError, match="no pair is the same"):
        cache.calibrate([], embed=VECTORS.__getitem__)
    with pytest.raises(InvalidError, match=r"pairs\[0\]"):
        cache.calibrate([("a", "b", 1)], embed=VECTORS.__getitem__)
    with pytest.raises(InvalidError, match="target"):
        cache.calibrate(PAIRS, embed=VECTORS.__getitem__, target="f2")


def test_the_page_tells_what_the_cache_does_and_escapes_everything(db):
    cache = db.cache("answers", budget=0.1)
    assert "no budget" in db.cache("plain").report_html()
    cache.store("How do I reset my password?", {"answer": '<img src=x onerror=alert(1)> & "more"'}, vector=near(0))
    cache.check("How can I reset the password?", vector=near(1))
    found = cache.report_html()
    assert "&lt;img src=x onerror=alert(1)&gt;" in found
    assert "How can I reset the password?" in found
    [waiting] = cache.audits()
    waiting = dataclasses.replace(waiting, asked="<script>alert('x')</script>", prompt="<b>bold</b>")
    page = cache_page.page("<i>", cache.stats(), [waiting])
    for raw in ("<img", "<script", "<b>", "<i>"):
        assert raw not in found + page
    assert "With probability 95%" in page
    assert "http" not in page, "nothing comes from the network"
    from html.parser import HTMLParser

    class Balanced(HTMLParser):
        def __init__(self):
            super().__init__()
            self.open = []

        def handle_starttag(self, tag, attrs):
            if tag != "meta":
                self.open.append(tag)

        def handle_endtag(self, tag):
            assert self.open.pop() == tag

    parser = Balanced()
    parser.feed(page)
    assert parser.open == []


def test_a_failed_computation_is_not_stored(cache):
    def fail():
        raise ZeroDivisionError

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            cache.get_or_compute("Divide", fail)
    assert cache.get_or_compute("Divide", lambda: 1) == 1


def test_the_awaited_cache_has_the_same_calls(address):
    public = {name for name in vars(Cache) if not name.startswith("_")}
    assert public <= {name for name in dir(AsyncCache) if not name.startswith("_")}
    for name in public:
        ours = getattr(Cache, name)
        if inspect.isfunction(ours):
            assert list(inspect.signature(ours).parameters) == list(
                inspect.signature(getattr(AsyncCache, name)).parameters
            ), name

    async def use():
        async with nuthatch.connect_async(address) as db:
            cache = await db.cache("answers", budget=0.1)
            await cache.store("How do I reset my password?", "settings", vector=near(0))
            hit = await cache.check("How can I reset the password?", vector=near(1))
            assert await cache.report(hit, wrong=False)
            assert await cache.check("Is it?", vector=[0, 0, 1]) is None
            assert cache.last_miss.reason == "absent"

            async def compute():
                return 42

            assert await cache.get_or_compute("What is 6 x 7?", compute, vector=[0, 1, 0]) == 42
            assert await cache.get_or_compute("What is 6 x 7?", compute) == 42
            assert (await cache.explain("What is 6 x 7?")).tier == "exact"
            assert await cache.audits() == []
            assert (await cache.calibrate(PAIRS, embed=VECTORS.__getitem__)).same == 2
            assert "<h1>Cache answers</h1>" in await cache.report_html()
            warmed = {"prompt": "What is BGP?", "response": "routes", "vector": [0, 1, 1]}
            assert await cache.warm([warmed], tags=["faq"]) == 1
            assert await cache.clear() == 3
            assert (await cache.stats()).entries == 0
            assert await db.caches() == ["answers"]
            assert await db.drop_cache("answers")

    asyncio.run(use())


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda cache: cache.store("a", {1, 2}), "not a JSON value"),
        (lambda cache: cache.store("a", float("nan")), "not a JSON value"),
        (lambda cache: cache.check("  "), "prompt is empty"),
        (lambda cache: cache.check(1), "prompt"),
        (lambda cache: cache.check("a", scope="anna"), "not a mapping"),
        (lambda cache: cache.store("a", 1, ttl=-1), "ttl"),
        (lambda cache: cache.store("a", 1, sources=["notes"]), "not a source"),
        (lambda cache: cache.store("a", 1, tags=["x", "x"]), "twice"),
        (lambda cache: cache.store("a", 1, vector=[0.0, 0.0]), "all zero"),
        (lambda cache: cache.audits(0), "limit"),
    ],
)
def test_what_no_cache_takes_is_refused(cache, call, why):
    with pytest.raises(InvalidError, match=why):
        call(cache)
    assert cache.stats().entries == 0


def test_settings_that_no_cache_has_are_refused(db):
    for given in ({"budget": 1.0}, {"failure": 0.0}, {"mode": "on"}, {"scope": "user"}, {"ttl": "soon"}):
        with pytest.raises(InvalidError):
            db.cache("answers", **given)
    db.kv("plain")
    with pytest.raises(InvalidError, match="is a keyspace, not a cache"):
        db.cache("plain")
    db.cache("answers")
    with pytest.raises(InvalidError, match="is a cache, not a keyspace"):
        db.kv("answers")


def test_each_tenant_has_its_own_answers(db):
    for name in ("red", "blue"):
        db.create_tenant(name).cache("answers").store("Who is it?", name)
    for name in ("red", "blue"):
        assert db.tenant(name).cache("answers").check("who is it").response == name
    assert db.caches() == []
