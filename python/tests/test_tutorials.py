"""A tutorial is typed as it is written, and what does not work in it is noticed."""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

import pytest
from support import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "scripts"))

import documents_tutorials


def tutorial(folder: Path, text: str) -> Path:
    path = folder / "page.md"
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


def test_files_commands_and_their_output_share_one_shell(tmp_path: Path) -> None:
    page = tutorial(
        tmp_path,
        """
        Save this as `sub/say.py`:

        <!-- file: sub/say.py -->
        ```python
        print("one\\n" "two 2026-11-28\\n" "three")
        ```

        ```console
        $ cd sub
        $ export WORD=kept
        ```

        ```console
        $ python \\
            say.py
        one
        two …
        three
        $ python say.py && echo $WORD
        …
        kept
        ```
        """,
    )
    assert documents_tutorials.run(page) == ""


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ("$ echo other\nshown\n", "other\n"),
        ("$ printf 'one\\ntwo\\n'\none\n", "two\n"),
        ("$ printf 'one\\n'\none\ntwo\n", "one\n"),
        ("$ false\n", "exit status 1"),
        ("$ exit 0\n", "the shell ended"),
    ],
)
def test_output_that_differs_and_a_command_that_fails_are_noticed(tmp_path: Path, block: str, said: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"```console\n$ true\n{block}```\n", encoding="utf-8")
    assert said in documents_tutorials.run(page)


def test_a_block_that_nobody_types_must_say_why(tmp_path: Path) -> None:
    page = tutorial(tmp_path, "```sh\nfalse\n```\n")
    with pytest.raises(ValueError, match="neither a file nor marked"):
        documents_tutorials.run(page)
    assert documents_tutorials.run(tutorial(tmp_path, "<!-- not run: a model -->\n```sh\nfalse\n```\n")) == ""


def test_a_file_whose_name_only_a_comment_has_is_noticed(tmp_path: Path) -> None:
    page = tutorial(tmp_path, "Save this:\n\n<!-- file: a.py -->\n```python\n```\n")
    with pytest.raises(ValueError, match="save a file as `a.py`"):
        documents_tutorials.run(page)


def test_a_program_that_is_not_built_is_named(tmp_path: Path) -> None:
    page = tutorial(tmp_path, "<!-- needs: nuthatch-of-tomorrow -->\n\n```console\n$ true\n```\n")
    with pytest.raises(documents_tutorials.MissingProgram, match="nuthatch-of-tomorrow"):
        documents_tutorials.run(page)


def test_ports_are_free_ones_and_servers_end_with_the_tutorial(tmp_path: Path) -> None:
    page = tutorial(
        tmp_path,
        f"""
        ```console
        $ sleep 1000 & echo $! >{tmp_path}/pid
        $ echo at 7700, 7701 and 7700 | tee {tmp_path}/ports
        at 7700, 7701 and 7700
        ```
        """,
    )
    assert documents_tutorials.run(page) == ""
    one, other, again = re.findall(r"\d+", (tmp_path / "ports").read_text())
    assert one == again != other and "7700" not in (one, other)
    state = Path("/proc", (tmp_path / "pid").read_text().strip(), "stat")
    assert not state.exists() or ") Z " in state.read_text()


def test_a_tutorial_that_does_not_end_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents_tutorials, "SECONDS_MAX", 1)
    page = tutorial(tmp_path, "```console\n$ echo waiting; sleep 1000\n```\n")
    said = documents_tutorials.run(page)
    assert "not done" in said and "waiting" in said
