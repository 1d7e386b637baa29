"""Facts: two times, sources, rules, extractors, and questions about the whole."""

from __future__ import annotations

import asyncio
import inspect
import pickle
from datetime import datetime, timedelta, timezone

import pytest

import nuthatch
from nuthatch import AsyncFacts, ConflictError, Edge, Facts, Found, InvalidError, NewFact, NotFoundError, SnapshotFacts


@pytest.fixture
def facts(db):
    return db.facts("people")


def objects(found):
    return [fact.object for fact in found]


def test_facts_come_back_as_they_were_recorded(db, facts):
    notes = db.collection("notes", embedder="none")
    notes.upsert([{"id": "a/ä 1", "text": "Ünlü Anna, 40."}])
    number = facts.add(
        "Anna",
        "age",
        value=40,
        valid_from=datetime(2024, 1, 2, 3, 4, 5, tzinfo=timezone.utc),
        sources=[{"collection": "notes", "id": "a/ä 1", "start": 7, "end": 11}],
        confidence=0.5,
        extractor="me:1",
    )
    [fact] = facts.find("Anna")
    assert (fact.number, fact.object, fact.value, fact.believed) == (number, None, 40, True)
    assert fact.valid_from == datetime(2024, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
    assert fact.valid_to is None
    assert abs(datetime.now(timezone.utc) - fact.recorded) < timedelta(minutes=5)
    assert (fact.confidence, fact.sources[0].extractor, fact.sources[0].id) == (0.5, "me:1", "a/ä 1")
    why = facts.why(number)
    assert (why.fact.sources[0].text, why.fact.sources[0].stands) == ("Anna", True)
    for value in ["text", 2.5, True, -7]:
        facts.add("v", "is", value=value)
    assert [fact.value for fact in facts.find("v")] == ["text", 2.5, True, -7]
    assert [fact.value for fact in facts.find(value=2.5)] == [2.5]
    assert facts.stats() == (5, 0)


def test_rules_end_facts_and_both_times_are_asked(facts):
    assert facts.declare("works_at", functional=True)
    facts.add("Anna", "works_at", "Acme", valid_from="2010-01-01")
    between = facts.find("Anna")[0].recorded
    while datetime.now(timezone.utc) - between < timedelta(milliseconds=5):
        pass
    recorded = facts.add_many([NewFact("Anna", "works_at", "Initech", valid_from="2020-01-01")])
    assert (recorded.added, recorded.ended) == (1, 1)
    assert objects(facts.find("Anna", valid_at="2015-01-01")) == ["Acme"]
    assert objects(facts.find("Anna", valid_at="now")) == ["Initech"]
    [known] = facts.find("Anna", known_at=between)
    assert (known.object, known.valid_to) == ("Acme", None)
    history = facts.history("Anna")
    assert [None if fact.ended is None else fact.ended.why for fact in history] == ["rule", None, None]
    assert history[2].revises == 1
    assert facts.why(1).ended_by.object == "Initech"
    assert facts.retract(2) == 1
    revised = facts.end(3, "2012-01-01")
    assert facts.find("Anna")[0].valid_to == datetime(2012, 1, 1, tzinfo=timezone.utc)
    assert facts.why(revised).revises[0].number == 3
    assert [predicate.functional for predicate in facts.predicates()] == [True]


def test_a_fact_falls_with_its_sources(db, facts):
    notes = db.collection("notes", embedder="none")
    notes.upsert([{"id": "a", "text": "Anna knows Ben"}, {"id": "b", "text": "Ben knows Anna"}])
    facts.add("Anna", "knows", "Ben", sources=[("notes", "a"), ("notes", "b")])
    trace = facts.trace("notes", ["b"])
    assert (objects(trace.facts), trace.entities, trace.truncated) == (["Ben"], (("Anna", 1), ("Ben", 1)), False)
    notes.update("a", set={"tag": 1})
    notes.delete(["b"])
    assert objects(facts.find("Anna")) == ["Ben"]
    with db.snapshot() as snapshot:
        notes.upsert([{"id": "a", "text": "nothing"}])
        assert facts.find("Anna") == []
        then = snapshot.facts("people")
        assert isinstance(then, SnapshotFacts)
        assert objects(then.find("Anna")) == ["Ben"]
    assert (facts.settle(), facts.settle()) == (1, 0)
    assert facts.history("Anna")[0].ended.why == "source"
    assert facts.erase("notes", ["a"]) == (0, 1, 0)
    assert facts.erase("notes", ["b"]) == (1, 0, 0)
    assert facts.stats().facts == 0


def test_a_batch_writes_records_with_their_facts(db, facts):
    notes = db.collection("notes", embedder="none")
    with db.batch() as batch:
        pending = batch.facts("people")
        pending.add("Anna", "knows", "Ben", sources=[("notes", "a")])
        pending.add_many([{"subject": "Ben", "predicate": "age", "value": 40}])
        batch.collection("notes").upsert([{"id": "a", "text": "Anna knows Ben."}])
    assert objects(facts.find("Anna")) == ["Ben"]
    assert facts.why(1).fact.sources[0].text == "Anna knows Ben."
    with db.batch() as batch:
        batch.facts("people").retract(2, 99)
        batch.facts("made").add("x", "is", "y")
    assert (facts.find("Ben"), db.fact_sets()) == ([], ["made", "people"])
    with pytest.raises(NotFoundError, match="there"), db.batch() as batch:
        batch.facts("people").add("Anna", "knows", "Tom", sources=[("notes", "none")])
        batch.collection("notes").upsert([{"id": "b", "text": "Tom"}])
    assert notes.count() == 1
    with db.batch() as batch, pytest.raises(InvalidError, match="subject"):
        batch.facts("people").add("", "knows", "Tom")


def test_a_transaction_writes_facts_when_it_commits(db, facts):
    db.collection("notes", embedder="none")
    with db.transaction() as transaction:
        transaction.kv("numbers").put("n", "1")
        transaction.facts("people").add("Anna", "knows", "Ben", sources=[("notes", "a")])
        transaction.collection("notes").upsert([{"id": "a", "text": "Anna knows Ben."}])
        assert facts.find("Anna") == []
    assert objects(facts.find("Anna")) == ["Ben"]
    with pytest.raises(ConflictError), db.transaction() as transaction:
        transaction.kv("numbers").get("n")
        transaction.facts("people").retract(1)
        db.kv("numbers").put("n", "2")
    assert objects(facts.find("Anna")) == ["Ben"]
    with db.transaction() as transaction:
        transaction.facts("people").retract(1)
    assert facts.find("Anna") == []


def test_entities_have_candidates_and_declared_aliases(facts):
    facts.add("Acme Corp.", "based_in", "Ulm")
    facts.add("ACME corp", "sells", "anvils")
    assert [entity.name for entity in facts.entities(like="acme-corp")] == ["ACME corp", "Acme Corp."]
    assert facts.alias("ACME corp", "Acme Corp.")
    assert not facts.alias("ACME corp", "Acme Corp.")
    assert objects(facts.find("ACME corp")) == ["Ulm", "anvils"]
    assert facts.entities("acme")[0].alias_of == "Acme Corp."
    assert facts.remove_alias("ACME corp")
    assert objects(facts.find("ACME corp")) == ["anvils"]


def test_links_are_extracted_without_a_model(db, facts):
    docs = db.collection("docs", embedder="none")
    docs.upsert(
        [{"id": "a", "text": "See [setup](setup.md), #12 and anna@example.org.", "payload": {"path": "docs/a.md"}}]
    )
    report = facts.extract("docs")
    assert (report.called, report.added) == (1, 3)
    assert {(fact.predicate, fact.object) for fact in facts.find("docs/a.md")} == {
        ("links_to", "docs/setup.md"),
        ("mentions_issue", "#12"),
        ("mentions_email", "anna@example.org"),
    }
    assert facts.extract("docs") == (0, 0, 0, 0, 0, 0)
    assert facts.extract("docs", "mentions").added == 1
    assert facts.paths("#12", "anna@example.org").paths[0].nodes == ["#12", "anna@example.org"]


def test_a_function_extracts_each_text_once(db, facts):
    notes = db.collection("notes", embedder="none")
    notes.upsert([{"id": f"n{at}", "text": f"ß Anna likes {at % 3}"} for at in range(9)])
    notes.upsert([{"id": "bad", "text": "no"}])
    called = []

    def likes(passage):
        called.append(passage.text)
        if "likes" not in passage.text:
            raise ValueError("nobody likes anything")
        start = passage.text.index("Anna")
        yield Found("likes", object=passage.text[-1], subject="Anna", start=start, end=start + 4)

    report = facts.extract("notes", likes, name="likes:1")
    assert (len(called), report.added, report.failed) == (4, 3, 1)
    [fact] = facts.find("Anna", "likes", "1")
    assert sorted(source.id for source in fact.sources) == ["n1", "n4", "n7"]
    assert facts.why(fact.number).fact.sources[0].text == "Anna"
    assert "nobody likes anything" in facts.failures("likes:1")[0].why
    notes.upsert([{"id": "copy", "text": "ß Anna likes 2"}])
    assert facts.extract("notes", likes, name="likes:1").known == 1
    assert len(called) == 4
    report = facts.extract("notes", lambda passage: [("Ben", "said", passage.text)], name="likes:1", retry=True)
    assert (report.called, report.added) == (1, 1)

    sizes = []

    def batches(passages):
        sizes.append(len(passages))
        return [[{"predicate": "length", "value": len(passage.text)}] for passage in passages]

    report = facts.extract_batches("notes", batches, "length:1", size=3)
    assert (sizes, report.called) == ([3, 1], 4)
    assert facts.find("bad", "length")[0].value == 2
    with pytest.raises(InvalidError, match="name"):
        facts.extract("notes", likes)
    wrong = facts.extract("notes", lambda passage: [42], name="wrong:1")
    assert (wrong.called, wrong.failed) == (4, 11), "four texts, in eleven passages"
    assert "42" in facts.failures("wrong:1")[0].why


def test_an_extraction_that_is_stopped_goes_on(db, facts):
    notes = db.collection("notes", embedder="none")
    notes.upsert([{"id": f"{at:03}", "text": f"text {at}"} for at in range(150)])
    called = []

    def one(passage):
        if len(called) == 100:
            raise KeyboardInterrupt
        called.append(passage.id)
        return [Found("is", value=passage.text)]

    with pytest.raises(KeyboardInterrupt):
        facts.extract("notes", one, name="one:1")
    kept = facts.stats().facts
    assert kept == 100, "what it found until then is kept"
    called.clear()
    facts.extract("notes", one, name="one:1")
    assert len(called) == 150 - kept
    assert facts.stats().facts == 150


def test_graphs_answer_paths_ranks_and_groups(db):
    graph = db.graph("roads")
    graph.put_edges(
        [Edge("a", "road", "b", 4), Edge("a", "road", "c", 1), Edge("c", "road", "b", 1), Edge("x", "road", "y")]
    )
    found = graph.paths("a", "b", cost="weight", count=3)
    assert [(path.cost, path.nodes) for path in found.paths] == [(2, ["a", "c", "b"]), (4, ["a", "b"])]
    assert found.paths[0].steps[0].fact is None
    assert graph.paths("b", "a").paths == ()
    assert graph.paths("b", "a", direction="in").paths[0].steps[0].reversed
    ranks = graph.rank(limit=10)
    assert abs(sum(node.rank for node in ranks) - 1) < 1e-6
    assert graph.rank("a", limit=1)[0].id == "a"
    groups = graph.groups()
    assert [group.members for group in groups.groups] == [("a", "b", "c"), ("x", "y")]
    assert graph.groups("communities").modularity > 0
    with db.snapshot() as snapshot:
        graph.delete_nodes("c")
        assert snapshot.graph("roads").paths("a", "b", cost="weight").paths[0].cost == 2
    assert graph.paths("a", "b", cost="weight").paths[0].cost == 4
    with pytest.raises(InvalidError, match="17"):
        graph.paths("a", "b", count=17)


def test_near_duplicates_are_listed_and_nothing_is_merged(db):
    points = db.collection("points", dim=3, embedder="none")
    points.upsert(
        [
            {"id": "a", "vector": [1, 0, 0]},
            {"id": "b", "vector": [0.999, 0.01, 0]},
            {"id": "c", "vector": [0, 1, 0]},
            {"id": "d", "vector": [0, 0.98, 0.2]},
        ]
    )
    pairs = points.duplicates(0.95)
    assert [(pair.first, pair.second) for pair in pairs] == [("a", "b"), ("c", "d")]
    assert pairs[0].similarity > 0.999 > pairs[1].similarity
    assert points.duplicates(0.99) == pairs[:1]
    assert points.count() == 4


def test_facts_have_names_of_their_own(db):
    db.facts("one").add("a", "b", "c")
    db.facts("two")
    assert db.fact_sets() == ["one", "two"]
    assert (db.drop_facts("one"), db.drop_facts("one")) == (True, False)
    with pytest.raises(NotFoundError, match="two"):
        db.facts("one", create=False)
    with pytest.raises(InvalidError):
        db.kv("two")


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda facts: facts.add("", "b", "c"), "subject"),
        (lambda facts: facts.add("a", "b"), "object"),
        (lambda facts: facts.add("a", "b", "c", value=1), "object"),
        (lambda facts: facts.add("a", "b", "c", confidence=2), "confidence"),
        (lambda facts: facts.add("a", "b", "c", valid_from="tomorrow"), "tomorrow"),
        (lambda facts: facts.add("a", "b", "c", valid_from="2020-01-01", valid_to="2019-01-01"), "valid_to"),
        (lambda facts: facts.add("a", "b", "c", sources=["notes/a"]), "pair"),
        (lambda facts: facts.find("a", limit=0), "limit|page"),
        (lambda facts: facts.add_many([{"subject": "a", "colour": "red"}]), "colour"),
    ],
)
def test_wrong_calls_say_what_is_wrong(facts, call, match):
    with pytest.raises(InvalidError, match=match):
        call(facts)
    with pytest.raises(NotFoundError):
        facts.add("a", "b", "c", sources=[("nowhere", "x")])
    assert facts.stats().facts == 0


def test_facts_are_awaited_too():
    async def main():
        async with nuthatch.connect_async(":memory:") as db:
            facts = await db.facts("f")
            await facts.add_many({"subject": "a", "predicate": "to", "object": str(at)} for at in range(1200))
            found = [fact.object async for fact in facts.iterate("a")]
            return found, await db.fact_sets(), (await facts.paths("a", "7")).paths[0].nodes

    found, names, nodes = asyncio.run(main())
    assert (found, names, nodes) == ([str(at) for at in range(1200)], ["f"], ["a", "7"])


def test_awaited_batches_and_transactions_write_facts():
    async def main():
        async with nuthatch.connect_async(":memory:") as db:
            async with db.batch() as batch:
                batch.facts("f").add("a", "to", "b")
            async with db.transaction() as transaction:
                (await transaction.facts("f")).add("a", "to", "c")
            return [fact.object for fact in await (await db.facts("f")).find("a")]

    assert asyncio.run(main()) == ["b", "c"]


def test_awaited_facts_have_the_calls_of_facts():
    def calls(of):
        return {name for name, _ in inspect.getmembers(of, callable) if not name.startswith("_")}

    assert calls(AsyncFacts) == calls(Facts)
    for name in calls(Facts):
        ours, awaited = (inspect.signature(getattr(of, name)) for of in (Facts, AsyncFacts))
        assert list(ours.parameters) == list(awaited.parameters), name


def test_facts_belong_to_their_process(facts):
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(facts)
