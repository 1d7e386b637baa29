"""Tables, notebooks and mail are added like other files: their text is found, and says where it stands."""

from __future__ import annotations

import csv
import json
import mailbox
from email.message import EmailMessage
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


def mail(subject: str, text: str) -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"] = "Jürgen Müller <j@example.org>", "Ann <ann@example.org>"
    message["Subject"], message["Date"] = subject, "Mon, 02 Mar 2026 10:11:12 +0100"
    message.set_content(text)
    return message


def test_a_mail_is_found_by_its_words_its_sender_and_what_is_attached(tmp_path: Path) -> None:
    message = mail("Nest boxes", "The café needs twelve.\n")
    message.add_alternative("<p>The café needs <b>twelve</b>.</p>", subtype="html")
    message.add_attachment("Painted green in spring.", filename="colours.txt")
    message.add_attachment(b"\x89PNG\r\n\x1a\n" + bytes(50), maintype="image", subtype="png", filename="box.png")
    (tmp_path / "box.eml").write_bytes(bytes(message))
    hit = found(tmp_path, "café twelve müller")
    assert hit.text is not None and hit.text.endswith("\n\nThe café needs twelve.")
    assert (hit.payload["kind"], hit.payload["title"], hit.payload.get("place")) == ("mail", "Nest boxes", None)
    assert hit.payload["heading"].startswith("Nest boxes > From: Jürgen Müller <j@example.org> > To: Ann")
    hit = found(tmp_path, "painted green")
    assert (hit.text, hit.payload["place"]) == ("Painted green in spring.", "colours.txt")
    assert hit.payload["heading"].startswith("Nest boxes > From: Jürgen")


def test_a_mailbox_says_which_of_its_mails_a_passage_is_of(tmp_path: Path) -> None:
    box = mailbox.mbox(tmp_path / "spring.mbox")
    for number in range(30):
        box.add(mail(f"Count {number}", f"From the hide: {number} waders.\n\nFrom there, owl{number}.\n"))
    box.close()
    hit = found(tmp_path, "owl17")
    assert (hit.payload["lang"], hit.payload["place"]) == ("mbox", "message 18")
    assert hit.payload["heading"].startswith("Count 17 > From: Jürgen")
    assert hit.text is not None and hit.text.endswith("From the hide: 17 waders.\n\nFrom there, owl17.")


def test_rich_text_is_found_under_its_headings(tmp_path: Path) -> None:
    styles = r"{\stylesheet{\s1\outlinelevel0 heading 1;}}"
    fonts = r"{\fonttbl{\f0 Times;}{\f1\fcharset204 Arial Cyr;}}"
    body = r"\pard\s1 Winter stores\par\pard Ac{\b orns} under the {\f1 \'ea\'ee\'f0\'e0}.\par"
    (tmp_path / "stores.rtf").write_text(rf"{{\rtf1\ansi{fonts}{styles}{body}}}")
    hit = found(tmp_path, "acorns")
    assert hit.text is not None and hit.text.endswith("Acorns under the кора.")
    assert (hit.payload["kind"], hit.payload["lang"], hit.payload["heading"]) == ("document", "rtf", "Winter stores")
