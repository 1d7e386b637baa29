"""Answers that are computed once: by threads, by tasks, by processes, and when one of them dies."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest
from support import run_python

import nuthatch
from nuthatch import AsyncCache, InvalidError


@pytest.fixture
def cache(db):
    return db.cache("answers")


def test_threads_wait_for_the_first_of_them(cache):
    computed = []

    def compute():
        time.sleep(0.2)
        computed.append(1)
        return "names"

    found = []
    prompts = ["What is DNS?", "what's DNS", "What is DNS ?", "what is the DNS"] * 2
    threads = [
        threading.Thread(target=lambda prompt=prompt: found.append(cache.get_or_compute(prompt, compute)))
        for prompt in prompts
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["names"] * 8
    assert len(computed) == 1
    counts = cache.stats().counts
    assert counts["misses"] - counts["awaited"] == 1


def test_tasks_wait_for_the_first_of_them(cache):
    computed = []

    @cache.cached
    async def shout(prompt, *, model="small"):
        await asyncio.sleep(0.2)
        computed.append((prompt, model))
        return prompt.upper()

    async def ask():
        again = [shout("say it") for _ in range(20)]
        return await asyncio.gather(*again, shout("say it", model="large"))

    assert asyncio.run(ask()) == ["SAY IT"] * 21
    assert sorted(computed) == [("say it", "large"), ("say it", "small")]


def test_an_error_is_the_callers_own_and_the_next_computes(cache):
    tried = []

    def fail():
        tried.append(1)
        time.sleep(0.1)
        raise RuntimeError("the model is down")

    found = []

    def second():
        time.sleep(0.05)
        found.append(cache.get_or_compute("a", lambda: "computed"))

    other = threading.Thread(target=second)
    other.start()
    with pytest.raises(RuntimeError, match="the model is down"):
        cache.get_or_compute("a", fail)
    other.join()
    assert (tried, found) == ([1], ["computed"])


def test_a_task_that_is_cancelled_holds_nobody_up(cache):
    aio = AsyncCache(cache)

    async def ask():
        async def never():
            await asyncio.sleep(3600)

        async def one():
            return "computed"

        first = asyncio.create_task(aio.get_or_compute("a", never))
        await asyncio.sleep(0.2)
        second = asyncio.create_task(aio.get_or_compute("a", one))
        await asyncio.sleep(0.1)
        assert not second.done()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        return await second

    assert asyncio.run(ask()) == "computed"


def test_an_answer_that_takes_longer_than_its_lease_is_computed_once(cache):
    computed = []

    def compute():
        time.sleep(5)
        computed.append("thread")
        return "slow"

    async def compute_awaited():
        await asyncio.sleep(5)
        computed.append("task")
        return "slow"

    async def tasks():
        aio = AsyncCache(cache)
        return await asyncio.gather(*(aio.get_or_compute("b", compute_awaited, lease=2) for _ in range(3)))

    found = []
    asking = [lambda: found.append(cache.get_or_compute("a", compute, lease=2))] * 3
    asking.append(lambda: found.extend(asyncio.run(tasks())))
    threads = [threading.Thread(target=ask) for ask in asking]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(computed) == ["task", "thread"]
    assert found == ["slow"] * 6
    counts = cache.stats().counts
    # Nobody who renewed a lease counts as one who waited.
    assert counts["misses"] - counts["awaited"] == 2


def test_nobody_waits_for_ever_for_a_computation_that_hangs(cache):
    release = threading.Event()

    def hang():
        assert release.wait(60)
        return "slow"

    slow = threading.Thread(target=lambda: cache.get_or_compute("a", hang, lease=0.3, longest=0.9))
    slow.start()
    time.sleep(0.1)
    assert cache.get_or_compute("a", lambda: "quick", lease=0.3) == "quick"
    release.set()
    slow.join()
    assert cache.check("a").response == "slow"
    for name, wrong in [*(("lease", wrong) for wrong in (0, -1, 3601, True, "60")), ("longest", 86_401)]:
        with pytest.raises(InvalidError, match=f"{name}="):
            cache.get_or_compute("b", lambda: 1, **{name: wrong})


def test_a_lease_that_cannot_be_renewed_stops_no_computation(db, caplog):
    cache = db.cache("answers")

    def drop():
        assert db.drop_cache("answers")
        time.sleep(0.5)
        return "computed"

    with pytest.raises(nuthatch.NuthatchError, match="answers"):
        cache.get_or_compute("a", drop, lease=0.3)
    assert "could not be renewed" in caplog.text


OTHER = """
import sys, time, nuthatch
db = nuthatch.connect(sys.argv[1])
cache = db.cache("answers")
def compute():
    print("computing", flush=True)
    time.sleep(float(sys.argv[2]))
    return "theirs"
print(cache.get_or_compute("the question", compute, lease=2), flush=True)
"""


def test_processes_wait_for_each_other_and_not_for_the_dead(folder):
    with nuthatch.connect(folder) as db:
        cache = db.cache("answers")
        with run_python(OTHER, str(folder), "6") as first:
            assert first.stdout.readline() == "computing\n"
            # Three leases long: the second process and this one wait for the first.
            with run_python(OTHER, str(folder), "0") as second:
                assert cache.get_or_compute("The question", lambda: "ours", lease=2) == "theirs"
                assert second.stdout.read() == "theirs\n"
            assert first.stdout.read() == "theirs\n"
        assert (first.returncode, second.returncode) == (0, 0)
        cache.clear()
        with run_python(OTHER, str(folder), "600") as dead:
            assert dead.stdout.readline() == "computing\n"
            time.sleep(3)  # longer than its lease, which it has renewed
            asked = {"prompt": "the question", "owner": "somebody", "lease": 1.0, "wait": 0.0}
            assert cache._ask("lease", asked)["state"] == "held"
            dead.kill()
        assert cache.get_or_compute("The question", lambda: "ours") == "ours"


def test_a_shared_answer_takes_two_users(db):
    cache = db.cache("answers", share_after=2)
    assert cache.store("What is DNS?", "names", user="anna").private
    assert cache.check("What is DNS?", user="anna").response == "names"
    assert cache.check("What is DNS?", user="ben") is None
    assert cache.get_or_compute("what is DNS", lambda: "Names", user="ben") == "Names"
    assert cache.check("What is DNS?", user="cleo").response == "Names"
    with pytest.raises(InvalidError, match="user"):
        cache.store("b", 1)
    assert not cache.store("b", 1, shared=True).private
    assert cache.explain("b", user="dora").tier == "exact"


def test_money_is_counted_where_it_is_saved(db):
    cache = db.cache("answers", budget=0.1)
    question, near = "How do I reset my password?", [1.0, 0.0]
    cache.store(question, "settings", vector=near, cost={"tokens": 321, "usd": 0.0042})
    hit = cache.check(question, spent=0.000001)
    assert (hit.saved.tokens, hit.saved.usd) == (321, 0.0042)
    assert cache.check(question, avoids=0.001).saved.usd == 0.001
    by_meaning = cache.check("How can I reset the password?", vector=[1.0, 0.02], spent=0.000001)
    cache.report(by_meaning, wrong=True, spent=0.0003)
    savings = cache.stats().savings
    assert savings.tokens == 642
    assert savings.gross_usd == pytest.approx(0.0094, abs=1e-12)
    assert (savings.wrong_usd, savings.judging_usd) == (0.0042, 0.0003)
    assert savings.embedding_usd == pytest.approx(0.000002, abs=1e-12)
    assert savings.net_usd == pytest.approx(0.0094 - 0.0042 - 0.0003 - 0.000002, abs=1e-12)
    wrong = cache.stats().ledger.wrong
    assert (wrong.low, wrong.share, wrong.high) == (1.0, 1.0, 1.0)
    page = cache.report_html()
    assert "321" not in page and "642" in page and "0.0049 USD" in page
    for cost in ("free", {"euro": 1}, {}, -1):
        with pytest.raises(InvalidError):
            cache.store("b", 1, vector=near, cost=cost)


def test_answers_are_listed_and_carried_to_another_cache(db, tmp_path):
    cache = db.cache("answers", budget=0.1, ttl=3600)
    vectors = {f"question {at}": [1.0, 0.001 * at] for at in range(250)}
    for prompt, vector in vectors.items():
        cache.store(prompt, {"to": prompt}, vector=vector, scope={"user": "anna"}, tags=["some"], cost=0.5)
    cache.store("apart", None, vector=[0.0, 1.0], tags=["other"])
    assert [answer.prompt for answer in cache.answers()] == [*vectors, "apart"]
    assert [answer.prompt for answer in cache.answers(tag="other")] == ["apart"]
    assert len(list(cache.answers(scope={"user": "anna"}))) == 250
    file = tmp_path / "answers.jsonl"
    assert cache.export_to(file) == 251
    copy = db.cache("copy", budget=0.1)
    assert copy.import_from(file) == 251
    scope = {"user": "anna"}
    hit = copy.check("Question 7", scope=scope)
    assert (hit.tier, hit.response, hit.saved.usd) == ("canonical", {"to": "question 7"}, 0.5)
    [near] = copy.explain("something else", scope=None, vector=[0.01, 1.0]).candidates
    assert near.prompt == "apart"
    assert all(answer.expires_ms for answer in copy.answers())
    others = db.cache("others", budget=0.1)
    others.store("a", 1, vector=[1.0, 0.0, 0.0])
    with pytest.raises(InvalidError, match="reembed"):
        others.import_from(file)
    assert others.stats().entries == 1
    assert cache.export_to(file, vectors=False) == 251
    assert others.import_from(file) == 251
    file.write_text("{}\n")
    with pytest.raises(InvalidError, match="no export"):
        others.import_from(file)


def test_answers_get_other_vectors(db):
    cache = db.cache("answers", budget=0.1)
    cache.store("How do I reset my password?", "settings", vector=[1.0, 0.0])
    cache.store("What is DNS?", "names", vector=[0.0, 1.0])
    assert cache.explain("x", vector=[1.0, 0.0]).candidates[0].prompt == "How do I reset my password?"
    made = {"How do I reset my password?": [0.0, 0.0, 1.0], "What is DNS?": [1.0, 0.0, 0.0]}
    assert cache.reembed(made.__getitem__) == 2
    assert cache.explain("x", vector=[0.0, 0.1, 1.0]).candidates[0].prompt == "How do I reset my password?"
    with pytest.raises(InvalidError, match="3"):
        cache.check("How can I reset the password?", vector=[1.0, 0.0])
    assert cache.check("what's DNS").tier == "canonical"
