"""A headless Chromium, driven through its debugging pipe: messages of JSON with a zero byte behind each."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest

FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
]


class Page:
    """One page."""

    def __init__(self, into: int, out: int) -> None:
        self._into, self._out = into, out
        self._rest = b""
        self._number = 0
        self._session: str | None = None
        #: What the page said on its console, and what its policy refused.
        self.complaints: list[str] = []
        #: The addresses that it asked for.
        self.requested: list[str] = []

    def open(self, address: str) -> None:
        """Opens an address, and waits until it is loaded."""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Network", "Page"):
            self._call(f"{domain}.enable")
        self._call("Page.navigate", url=address)
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    def ask(self, expression: str) -> Any:
        """Returns the value of an expression in the page."""
        said = self._call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in said, said["exceptionDetails"]
        return said["result"].get("value")

    def until(self, condition: str) -> None:
        """Waits until a condition holds. The test's own time limit ends one that never does."""
        while not self.ask(condition):
            pass

    def picture(self) -> str:
        """Takes a screenshot: a PNG in base64."""
        said: str = self._call("Page.captureScreenshot")["data"]
        return said

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._into, json.dumps(message).encode() + b"\0")
        while True:
            said = self._next()
            if said.get("id") == self._number:
                assert "error" not in said, said
                result: dict[str, Any] = said["result"]
                return result
            self._hear(said)

    def _hear(self, said: dict[str, Any]) -> None:
        told = said.get("params", {})
        if said["method"] == "Log.entryAdded":
            self.complaints.append(told["entry"]["text"])
        elif said["method"] == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(told["exceptionDetails"]))
        elif said["method"] == "Network.requestWillBeSent":
            self.requested.append(told["request"]["url"])

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = os.read(self._out, 1 << 16)
            assert more, "the browser has ended"
            self._rest += more
        message, _, self._rest = self._rest.partition(b"\0")
        said: dict[str, Any] = json.loads(message)
        return said


@contextlib.contextmanager
def page() -> Iterator[Page]:
    """A page in a browser of its own. Skips where there is none."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("needs a browser: install chromium")
    from_us, into = os.pipe()
    out, to_us = os.pipe()
    with tempfile.TemporaryDirectory() as profile:
        flags = [*FLAGS, "--remote-debugging-pipe", f"--user-data-dir={profile}"]
        # The browser reads from descriptor 3, and writes to 4.
        shell = ["bash", "-c", f'exec "$@" 3<&{from_us} 4>&{to_us} 2>/dev/null', "bash", program, *flags]
        process = subprocess.Popen(shell, pass_fds=(from_us, to_us), stdin=subprocess.DEVNULL)
        os.close(from_us)
        os.close(to_us)
        try:
            yield Page(into, out)
        finally:
            os.close(into)
            os.close(out)
            process.terminate()
            process.wait(60)
