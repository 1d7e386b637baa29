"""Tables, notebooks and mail are added like other files: their text is found, and says where it stands."""

from __future__ import annotations

import csv
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
