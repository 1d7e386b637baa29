"""Shared parts of the integrations, without a framework: conditions, keys, frames, errors."""

from __future__ import annotations

import doctest
import importlib
import random
import subprocess
import sys

import pytest

import nuthatch
from nuthatch.integrations import conditions, frames, keys
from nuthatch.integrations.conditions import All, Either, Not, Test

ROWS = [
    {"id": "plain", "payload": {"year": 2024, "team": "core", "done": True, "meta": {"score": 1.5}}},
    {"id": "quote", "payload": {"year": 2025, "team": "o'core", 'odd "name': 1}},
    {"id": "list", "payload": {"tags": ["a", "it's"], "year": -3}},
    {"id": "date", "payload": {"at": "2025-01-31T10:00:00"}},
    {"id": "bare", "text": "nothing else"},
]


@pytest.fixture
def rows(notes):
    notes.upsert(ROWS)
    return notes


@pytest.mark.parametrize(
    "name", ["conditions", "given", "keys", "frames", "missing", "questions", "dialects.events", "clients.control"]
)
def test_examples_of_the_documentation_run(name):
    failed, ran = doctest.testmod(importlib.import_module(f"nuthatch.integrations.{name}"), verbose=False)
    assert (failed, ran > 0) == (0, True)


def passing(collection, condition):
    return conditions.filtered(
        collection, condition, lambda where: sorted(record.id for record in collection.scan(where=where))
    )


@pytest.mark.parametrize(
    ("condition", "ids"),
    [
        (Test(("team",), "=", "o'core"), ["quote"]),
        (Test(('odd "name',), "=", 1), ["quote"]),
        (Test(("meta", "score"), ">", 1), ["plain"]),
        (Test(("done",), "=", True), ["plain"]),
        (Test(("tags",), "contains", "it's"), ["list"]),
        (Test(("year",), "in", (2024, -3)), ["list", "plain"]),
        (Not(Test(("year",), "exists")), ["bare", "date"]),
        (Either((Test(("year",), "<", 0), Test(("at",), ">", "2025"))), ["date", "list"]),
        (All(()), ["bare", "date", "list", "plain", "quote"]),
        (Either(()), []),
        (Test(("year",), "in", ()), []),
    ],
)
def test_a_condition_passes_what_it_says(rows, condition, ids):
    assert passing(rows, condition) == ids


@pytest.mark.parametrize(
    ("condition", "ids"),
    [
        (Test(("nobody",), "=", 1), []),
        (Not(Test(("nobody",), "=", 1)), ["bare", "date", "list", "plain", "quote"]),
        (Test(("year",), "=", "2024"), []),
        (Test(("year",), "in", ("2024", 2024)), ["plain"]),
        (Test(("done",), "=", 1), []),
        (Test(("year",), "=", True), []),
        (Either((Test(("team",), ">", 3), Test(("year",), "=", 2025))), ["quote"]),
    ],
)
def test_a_field_or_kind_that_there_never_was_does_not_match_and_is_no_error(rows, condition, ids):
    assert passing(rows, condition) == ids


def test_a_text_of_the_language_is_taken_as_it_is_with_its_slips(rows):
    assert passing(rows, "year = 2024") == ["plain"]
    with pytest.raises(nuthatch.InvalidError, match="no field"):
        passing(rows, "nobody = 1")


@pytest.mark.parametrize("value", [None, [1], {"a": 1}, float("nan"), float("inf"), b"x"])
def test_a_value_that_the_language_cannot_write_is_an_error(rows, value):
    with pytest.raises(nuthatch.InvalidError, match="a filter compares with"):
        passing(rows, Test(("year",), "=", value))


def test_no_text_breaks_out_of_its_quotes(notes):
    seed = random.randrange(1 << 32)
    print("seed", seed)
    dice = random.Random(seed)
    texts = ["".join(dice.choice("'\"\\;()=- \n\tä%_aé") for _ in range(dice.randrange(1, 12))) for _ in range(200)]
    notes.upsert(ids=[str(n) for n in range(200)], payloads=[{"text": text} for text in texts])
    for text in texts:
        wanted = sorted(str(n) for n in range(200) if texts[n] == text)
        assert passing(notes, Test(("text",), "=", text)) == wanted


def test_keys_begin_with_the_parts_that_they_begin_with():
    dice = random.Random(7)
    parts = ["", "a", "ab", "\x00", "a\x00", "a\x00\x01", "\x01", "ä", "a\xff"]
    made = [tuple(dice.choice(parts) for _ in range(dice.randrange(1, 4))) for _ in range(300)]
    for one in made:
        assert tuple(keys.unpack(keys.pack(*one))) == one
        for other in made:
            assert keys.pack(*other).startswith(keys.pack(*one)) == (other[: len(one)] == one)


def test_a_frame_that_was_cut_is_an_error():
    framed = frames.join(b"one", b"two")
    assert frames.split(framed, 2) == [b"one", b"two"]
    for damaged in (framed[:-1], framed + b"\x00", framed[:5], b""):
        with pytest.raises(nuthatch.CorruptError):
            frames.split(damaged, 2)


@pytest.mark.parametrize(
    ("module", "framework", "extra"),
    [
        ("langchain", "langchain_core", "langchain"),
        ("langgraph", "langgraph", "langgraph"),
        ("llama_index", "llama_index", "llama-index"),
        ("haystack", "haystack", "haystack"),
        ("litellm", "litellm", "litellm"),
    ],
)
def test_without_its_framework_an_integration_names_the_extra(module, framework, extra):
    script = f"""
import sys
sys.modules[{framework!r}] = None
try:
    import nuthatch.integrations.{module}
except ImportError as error:
    assert "pip install 'nuthatch[{extra}]'" in str(error), error
else:
    raise SystemExit("no error")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
