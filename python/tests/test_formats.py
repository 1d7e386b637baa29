"""Tables, notebooks and mail are added like other files: their text is found, and says where it stands."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import nuthatch


def found(folder: Path, question: str) -> nuthatch.Hit:
    """The best hit after adding the folder."""
    with nuthatch.connect(":memory:") as db:
        notes = db.collection("notes", embedder="none")
        report = db.add(folder, collection=notes)
        assert (report.skipped, report.warnings) == ([], [])
        return notes.search(question, limit=1)[0]


def test_a_row_of_a_table_is_found_with_the_names_of_its_columns(tmp_path: Path) -> None:
    with (tmp_path / "birds.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [["bird", "where it nests"], *([f"wader {n}", f"reed bed {n}"] for n in range(200)), ["kestrel", "church"]]
        )
    hit = found(tmp_path, "kestrel")
    assert hit.text is not None and "kestrel,church" in hit.text
    assert (hit.payload["lang"], hit.payload["heading"]) == ("csv", "bird | where it nests")
    assert hit.payload["place"].endswith("-202") and hit.payload["end_line"] == 202


def test_code_of_a_notebook_is_found_under_the_heading_above_it(tmp_path: Path) -> None:
    cells: list[dict[str, object]] = [
        {"cell_type": "markdown", "source": ["# Tides\n", "\n", "Where the gauges stand."]},
        {
            "cell_type": "code",
            "source": "levels = readGauges('north')\n",
            "outputs": [{"output_type": "stream", "text": ["seven metres\n"]}],
        },
    ]
    (tmp_path / "tides.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))
    for question in ["gauges north", "readGauges", "seven metres"]:
        hit = found(tmp_path, question)
        assert hit.text is not None and "levels = readGauges('north')\n\nseven metres" in hit.text
        assert [hit.payload[field] for field in ("kind", "title", "heading", "place")] == [
            "notebook",
            "Tides",
            "Tides",
            "cells 1-2",
        ]


def test_a_long_output_is_cut_and_a_notebook_that_is_cut_off_is_named(tmp_path: Path) -> None:
    output = {"output_type": "stream", "text": "".join(f"epoch {n}\n" for n in range(2000))}
    whole = json.dumps({"cells": [{"cell_type": "code", "source": "train()", "outputs": [output]}]})
    (tmp_path / "whole.ipynb").write_text(whole)
    (tmp_path / "half.ipynb").write_text(whole[:-40])
    with nuthatch.connect(":memory:") as db:
        report = db.add(tmp_path, collection=db.collection("notes", embedder="none"))
    assert [warning.partition(": ")[2] for warning in report.warnings] == [
        "the output of cell 1 is read only to byte 4096"
    ]
    (skipped,) = report.skipped
    assert skipped.path.name == "half.ipynb" and "the notebook cannot be read: EOF" in skipped.why
