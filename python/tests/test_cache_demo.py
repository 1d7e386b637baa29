"""The page of ``nuthatch cache demo``, in a browser."""

from __future__ import annotations

import contextlib
import re
import socket
import subprocess
import sysconfig
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import browser
import pytest


@contextlib.contextmanager
def demo(folder: Path, *options: str) -> Iterator[str]:
    """A demo; its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = Path(sysconfig.get_path("scripts"), "nuthatch")
    said = (folder.parent / "demo.txt").open("w+")
    flags = ["--data-dir", str(folder), "--listen", address, *options]
    process = subprocess.Popen([str(command), "cache", "demo", *flags], stdout=said, stderr=subprocess.STDOUT)
    try:
        while "ready" not in (folder.parent / "demo.txt").read_text():
            assert process.poll() is None, (folder.parent / "demo.txt").read_text()
        yield f"http://{address}"
    finally:
        process.terminate()
        assert process.wait(60) == 0
        said.close()


def test_the_page_loads_nothing_from_elsewhere_and_runs_no_script_but_its_own(folder: Path) -> None:
    with demo(folder) as address, urllib.request.urlopen(address) as answer:
        policy = answer.headers["content-security-policy"]
        text = answer.read().decode()
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'")
    assert "unsafe" not in policy
    assert re.findall(r'(?:src|href)="([^"]*)"', text) == ["/nuthatch/demo.css", "/nuthatch/demo.js"]
    assert not re.search(r"<script>|\son\w+=|style=", text)


def test_a_chat_is_answered_from_the_cache_and_the_page_says_how(folder: Path) -> None:
    with demo(folder) as address, browser.page() as page:
        page.open(address)
        page.until("document.getElementById('upstream').textContent.includes('canned stand-in')")
        assert page.ask("fetch('https://example.org/').then(() => 'sent', () => 'refused')") == "refused"
        page.complaints.clear()

        def ask(question: str) -> str:
            before = page.ask("document.querySelectorAll('#turns li').length")
            page.ask(f"document.getElementById('question').value = {question!r}")
            page.ask("document.getElementById('send').click()")
            page.until(f"document.querySelectorAll('#turns li').length === {before + 1}")
            page.until("!document.getElementById('send').disabled")
            said: str = page.ask("document.querySelector('#turns li:last-child').innerText")
            return said

        assert "Asked the model: nothing near is stored" in ask("How do I reset my password?")
        again = ask("how do i reset my password")
        assert "From the cache (canonical)" in again and "Reset password" in again and "USD saved" in again
        figures = page.ask("['tokens', 'usd', 'entries'].map((id) => document.getElementById(id).textContent)")
        assert int(figures[0]) > 0 and float(figures[1]) > 0 and figures[2] == "1"
        told = page.ask("fetch('/nuthatch/demo/state').then((answer) => answer.json())")
        assert told["cache"]["counts"]["canonical"] == 1
        drawn = page.ask("document.querySelector('#graph path.bound').getAttribute('d')")
        assert drawn.count("L") == 2, "a point for each time that the ledger was asked"
        assert page.complaints == []
        assert all(url.startswith(address) for url in page.requested if "example.org" not in url)


def test_verdicts_on_answers_by_meaning_move_the_bound(folder: Path, default_model: None) -> None:
    with demo(folder, "--budget", "0.5") as address, browser.page() as page:
        page.open(address)
        page.until("document.getElementById('promise').textContent !== ''")
        ask = (
            "(async () => {{ await run(async () => {{ await ask({!r}); await refresh(); }}); "
            "return document.getElementById('fate').textContent; }})()"
        )
        page.ask(ask.format("How do I reset my password?"))
        fate = page.ask(ask.format("How can I reset my account password?"))
        if "semantic" not in fate:
            pytest.fail(f"an answer by meaning was expected: {fate}")
        before = page.ask("fetch('/nuthatch/demo/state').then((answer) => answer.json())")["cache"]["ledger"]
        assert (before["hits"], before["pending"]) == (1, 1)
        assert page.ask("!document.getElementById('verdict').hidden")
        page.ask("document.getElementById('right').click()")
        page.until("document.getElementById('promise').textContent.includes('0 waiting')")
        after = page.ask("fetch('/nuthatch/demo/state').then((answer) => answer.json())")["cache"]["ledger"]
        assert after["bound"] < before["bound"]
        assert page.ask("ledgers.at(-1).bound") == after["bound"], "the page draws what the ledger says"


def test_the_demo_listens_to_this_machine_alone(folder: Path) -> None:
    command = Path(sysconfig.get_path("scripts"), "nuthatch")
    flags = ["--data-dir", str(folder), "--listen", "0.0.0.0:0"]
    ended = subprocess.run([str(command), "cache", "demo", *flags], capture_output=True, text=True, check=False)
    assert ended.returncode != 0
    assert "is for this one" in ended.stderr
