"""Reads that every face answers by their names: one answer, whichever one is asked."""

from __future__ import annotations

import json
import subprocess
import sysconfig
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import faces
import pytest

import nuthatch

redis = pytest.importorskip("redis")
flight = pytest.importorskip("pyarrow.flight")

WHERE = "year >= 2022"
QUESTION = {"fields": ["team", "year"], "where": WHERE, "limit": 2}


class Served(NamedTuple):
    """A server, and its clients."""

    http: str
    redis: Any
    flight: Any
    folder: Path
    db: nuthatch.Database


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    place = tmp_path_factory.mktemp("reads") / "memory"
    with faces.listening(place, "--redis", "127.0.0.1:0") as (http, address):
        host, port = address.rsplit(":", 1)
        grpc = flight.connect(http.replace("http://", "grpc://"))
        with redis.Redis(host=host, port=int(port), protocol=3) as client, nuthatch.connect(http) as db, grpc:
            notes = db.collection("notes", embedder="none", dim=2)
            notes.upsert(
                ids=[str(n) for n in range(90)],
                texts=["red fish"] * 90,
                vectors=[[1, n] for n in range(90)],
                payloads=[{"team": ["core", "ops", "web"][n % 7 % 3], "year": 2020 + n % 5} for n in range(90)],
            )
            yield Served(http, client, grpc, place, db)


def post(url: str, question: object, headers: dict[str, str] | None = None) -> Any:
    body = json.dumps(question).encode()
    request = urllib.request.Request(url, body, {"content-type": "application/json", **(headers or {})})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def act(client: Any, name: str, body: object) -> Any:
    [result] = client.do_action(flight.Action(name, json.dumps(body).encode()))
    return json.loads(result.body.to_pybytes())


def shell(served: Served, *words: str) -> subprocess.CompletedProcess[str]:
    command = Path(sysconfig.get_path("scripts"), "nuthatch")
    return subprocess.run(
        [str(command), "--data-dir", str(served.folder), *words], capture_output=True, text=True, check=False
    )


def plain(reply: Any) -> Any:
    """A Redis client's reply, with text in place of bytes."""
    if isinstance(reply, bytes):
        return reply.decode()
    if isinstance(reply, list):
        return [plain(one) for one in reply]
    return {plain(name): plain(value) for name, value in reply.items()} if isinstance(reply, dict) else reply


def test_every_face_gives_the_same_facets(served: Served) -> None:
    expected = post(f"{served.http}/v1/collections/notes/facets", QUESTION)
    assert [facet["field"] for facet in expected["facets"]] == ["team", "year"]
    own = served.db.collection("notes").facets(["team", "year"], where=WHERE, limit=2)
    as_python = {
        facet["field"]: nuthatch.Facet(
            [(value["value"], value["count"]) for value in facet["values"]], facet["distinct"], facet["missing"]
        )
        for facet in expected["facets"]
    }
    assert own == as_python
    assert act(served.flight, "facets", {"collection": "notes", **QUESTION}) == expected
    words = ["NH.FACETS", "notes", "team", "year", "WHERE", WHERE, "limit", "2"]
    assert plain(served.redis.execute_command(*words)) == expected
    assert plain(served.redis.execute_command("NH.FACETS", "notes", json.dumps(QUESTION))) == expected
    said = shell(served, "facets", "team", "year", "--where", WHERE, "--limit", "2", "--collection", "notes", "--json")
    assert json.loads(said.stdout) == expected, said.stderr
    shown = shell(served, "facets", "team", "--collection", "notes").stdout.splitlines()
    assert shown[0] == "team" and len(shown) == 4


def test_counting_is_asked_by_its_name_too(served: Served) -> None:
    expected = {"count": served.db.collection("notes").count(WHERE)}
    assert post(f"{served.http}/v1/collections/notes/count", {"where": WHERE}) == expected
    assert act(served.flight, "count", {"collection": "notes", "where": WHERE}) == expected
    assert plain(served.redis.execute_command("NH.COUNT", "notes", WHERE)) == expected
    assert shell(served, "count", WHERE, "--collection", "notes").stdout == f"{expected['count']}\n"


def test_a_snapshot_answers_as_of_its_moment(served: Served) -> None:
    http = post(f"{served.http}/v1/snapshots", {})
    act(served.flight, "snapshot", {"name": "before"})
    url = f"{served.http}/v1/collections/notes/count"
    before = post(url, {})
    with served.db.transaction() as transaction:
        transaction.collection("notes").upsert(ids=["late"], payloads=[{"team": "late"}])
    assert post(url, {})["count"] == before["count"] + 1
    assert post(url, {}, {"x-nuthatch-snapshot": http["id"]}) == before
    assert act(served.flight, "count", {"collection": "notes", "snapshot": "before"}) == before
    served.db.collection("notes").delete("late")


def test_what_a_question_gets_wrong_is_named(served: Served) -> None:
    url = f"{served.http}/v1/collections/notes/facets"
    for question, named in (
        ({"fields": "team"}, "fields"),
        ({"fields": ["team"], "limt": 3}, "limt"),
        ({"fields": ["taem"]}, "team"),
        ({"fields": ["team"], "limit": 0}, "limit"),
        ([], "object"),
    ):
        with pytest.raises(urllib.error.HTTPError) as refused:
            post(url, question)
        assert refused.value.code == 400
        assert named in json.load(refused.value)["detail"], question
    with pytest.raises(redis.ResponseError, match="limit"):
        served.redis.execute_command("NH.FACETS", "notes", "team", "LIMIT", "many")
    said = shell(served, "facets", "team", "--limit", "many", "--collection", "notes")
    assert said.returncode == 2 and "limit" in said.stderr


def test_every_face_of_a_search_groups_bounds_and_tells_facets(served: Served) -> None:
    wish = {"group_by": "team", "score_threshold": 0.8, "facets": ["year"]}
    notes = served.db.collection("notes")
    expected = notes.search(vector=[1, 0], limit=5, **wish)
    ids = [hit.id for hit in expected]
    assert len(ids) == 1 and expected.facets["year"].distinct == 5
    answer = post(f"{served.http}/v1/collections/notes/search", {"vector": [1, 0], "limit": 5, **wish})
    assert [hit["id"] for hit in answer["hits"]] == ids and answer["facets"][0]["distinct"] == 5
    words = [
        "VECTOR",
        "VALUES",
        "2",
        "1",
        "0",
        "LIMIT",
        "5",
        "GROUP_BY",
        "team",
        "SCORE_THRESHOLD",
        "0.8",
        "FACETS",
        "year",
    ]
    found = plain(served.redis.execute_command("NH.SEARCH", "notes", *words))
    assert [hit["id"] for hit in found["hits"]] == ids and found["facets"] == answer["facets"]
    del wish["facets"]
    ticket = {"collection": "notes", "columns": ["id"], "search": {"vector": [1, 0], "limit": 5, **wish}}
    table = served.flight.do_get(flight.Ticket(json.dumps(ticket).encode())).read_all()
    assert table["id"].to_pylist() == ids
    flags = [
        "--like",
        "0",
        "--limit",
        "5",
        "--group-by",
        "team",
        "--score-threshold",
        "0.5",
        "--facets",
        "year",
        "--json",
        "--collection",
        "notes",
    ]
    said = json.loads(shell(served, "search", *flags).stdout)
    near = notes.search(like="0", limit=5, group_by="team", score_threshold=0.5, facets=["year"])
    assert [hit["id"] for hit in said["hits"]] == [hit.id for hit in near]
    assert said["facets"] == answer["facets"]
