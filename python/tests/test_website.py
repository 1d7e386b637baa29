"""The site of the documents: its references name everything, its check notices what is wrong, and a browser shows it."""

from __future__ import annotations

import contextlib
import functools
import http.server
import json
import os
import re
import sys
import sysconfig
import threading
from collections.abc import Iterator
from pathlib import Path

import browser
import pytest
from support import REPOSITORY

import nuthatch

sys.path.insert(0, str(REPOSITORY / "scripts" / "website"))

import check
import reference_command
import reference_http
import reference_python

COMMAND = Path(sysconfig.get_path("scripts"), "nuthatch")


def site() -> Path:
    """The site that `make docs` built."""
    if "NUTHATCH_SITE" not in os.environ:
        pytest.skip("needs a built site: make docs")
    return Path(os.environ["NUTHATCH_SITE"])


def test_the_reference_of_python_has_every_public_name() -> None:
    text = "".join(reference_python.pages().values())
    names = set(check.exported(REPOSITORY))
    assert names == set(nuthatch.__all__) - {"__version__"}
    assert {name for name in names if f":: nuthatch.{name}\n" not in text} == set()


def test_the_reference_of_http_has_every_operation_and_type() -> None:
    pages = reference_http.pages(REPOSITORY / "docs" / "openapi.json")
    description = json.loads((REPOSITORY / "docs" / "openapi.json").read_text(encoding="utf-8"))
    operations = [(path, method) for path, of_path in description["paths"].items() for method in of_path]
    assert len(operations) > 100
    headings = {line for text in pages.values() for line in text.splitlines() if line.startswith("## ")}
    assert {one for one in operations if f"## `{one[1].upper()} {one[0]}`" not in headings} == set()
    assert {name for name in description["components"]["schemas"] if f"## {name}" not in headings} == set()


def test_the_reference_of_the_command_and_the_guide_to_it_have_the_same_commands() -> None:
    pages = reference_command.pages(COMMAND)
    guide = (REPOSITORY / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    commands = set(pages) - {"index"}
    assert len(commands) > 30
    for name in commands:
        section = re.search(rf"^## `nuthatch {name}\b.*?(?=^## |\Z)", guide, re.MULTILINE | re.DOTALL)
        assert section, name
        for subcommand in re.findall(rf"^## `nuthatch {name} (\S+)`$", pages[name], re.MULTILINE):
            assert re.search(rf"`(?:nuthatch {name} )?{subcommand}\b", section[0]), (name, subcommand)
    assert "`nuthatch kv put`" in pages["kv"] and "`nuthatch cache report`" in pages["cache"]


@pytest.mark.parametrize(
    ("page", "fault"),
    [
        ('<script src="https://cdn.example/a.js"></script>', "loads https://cdn.example/a.js"),
        ('<link rel="stylesheet" href="//cdn.example/a.css">', "loads //cdn.example/a.css"),
        ('<style>@import "http://cdn.example/b.css";</style>', "loads http://cdn.example/b.css"),
        ('<p style="background: url(https://cdn.example/c.png)">', "loads https://cdn.example/c.png"),
        ('<a href="gone.html">there</a>', "links to gone.html, which is not there"),
        ('<a href="#gone">there</a>', "links to #gone, where there is no such place"),
    ],
)
def test_a_page_that_asks_another_host_or_links_to_nowhere_is_noticed(tmp_path: Path, page: str, fault: str) -> None:
    fine = '<a id="here" href="#here">here</a><a href="https://example.org">elsewhere</a><img src="data:image/png;,">'
    (tmp_path / "index.html").write_text(fine, encoding="utf-8")
    assert check.faults(tmp_path) == []
    (tmp_path / "index.html").write_text(fine + page, encoding="utf-8")
    assert check.faults(tmp_path) == [f"index.html {fault}"]


def test_a_style_sheet_that_asks_another_host_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<p>", encoding="utf-8")
    (tmp_path / "a.css").write_text("@font-face { src: url('https://fonts.example/a.woff2') }", encoding="utf-8")
    assert check.faults(tmp_path) == ["a.css loads https://fonts.example/a.woff2"]


def test_a_site_without_pages_is_a_fault(tmp_path: Path) -> None:
    assert check.faults(tmp_path) == [f"{tmp_path} has no pages"]


def test_what_a_reference_lacks_is_noticed(tmp_path: Path) -> None:
    program = tmp_path / "tool"
    program.write_text(
        """#!/bin/sh
case "$1 $2" in
"--help ") printf 'A tool\\n\\nCommands:\\n  kv    Keys\\n  help  This\\n\\nOptions:\\n  -h  Help\\n' ;;
"kv --help") printf 'Keys\\n\\nCommands:\\n  get\\n          Get one\\n  put   Put one\\n' ;;
*) printf 'One\\n' ;;
esac
""",
        encoding="utf-8",
    )
    program.chmod(0o755)
    assert [words for words, _ in reference_command.walk(program)] == [(), ("kv",), ("kv", "get"), ("kv", "put")]
    reference = tmp_path / "docs" / "reference"
    reference.mkdir(parents=True)
    lacks = check.missing(tmp_path, REPOSITORY, [program])
    assert "the Python reference lacks nuthatch.Collection" in lacks
    assert "the HTTP reference lacks POST /v1/collections/{collection}/search" in lacks
    assert "the HTTP reference lacks the type Search" in lacks
    assert "the reference of commands lacks tool kv put" in lacks
    (reference / "tool").mkdir()
    (reference / "tool" / "kv.html").write_text('<span id="command-tool-kv-put"></span>', encoding="utf-8")
    assert "the reference of commands lacks tool kv put" not in check.missing(tmp_path, REPOSITORY, [program])


@contextlib.contextmanager
def static_server(folder: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("served", [False, True], ids=["from the disk", "from a static server"])
def test_search_finds_pages_in_a_browser_and_asks_no_other_host(served: bool) -> None:
    with contextlib.ExitStack() as stack:
        place = stack.enter_context(static_server(site())) if served else site().as_uri()
        page = stack.enter_context(browser.page())
        found = "[...document.querySelectorAll('#search-results li a')].map(link => link.getAttribute('href'))"
        for words, expected in (("quarantine", "durability.html"), ("upsert", "python/collections.html")):
            page.open(f"{place}/search.html?q={words}")
            page.until(f"{found}.some(link => link.includes({json.dumps(expected)}))")
        page.open(f"{place}/index.html")
        assert "Nuthatch" in page.ask("document.querySelector('h1').textContent")
        assert len(page.requested) > 5
        assert [address for address in page.requested if not address.startswith((place, "data:"))] == []
