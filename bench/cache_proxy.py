"""What does a hit through the caching proxy take, and what does a miss cost more than asking the provider?

One client with a connection that it keeps, chat completions of 40 words, the proxy on this machine with durability
"commit", in front of a stand-in for a provider in this process. Next to each figure of the proxy is that of the same request to the
stand-in itself. Run it on a quiet machine: `python bench/cache_proxy.py [REQUESTS]`.
"""

from __future__ import annotations

import http.client
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python" / "tests"))

import faces
from fake_models import provider


def timed(address: str, bodies: list[bytes], fate: str | None = None) -> list[float]:
    """Milliseconds until each answer was read; ``fate``: what the proxy says became of each."""
    connection = http.client.HTTPConnection(address)
    found = []
    for body in bodies:
        began = time.perf_counter()
        connection.request("POST", "/v1/chat/completions", body, {"content-type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        found.append((time.perf_counter() - began) * 1e3)
        assert (answer.status, answer.headers["x-nuthatch-cache"]) == (200, fate)
    connection.close()
    return found


def told(name: str, found: list[float]) -> None:
    """Prints the median and the 99th percentile."""
    cuts = statistics.quantiles(found, n=100)
    print(f"{name:40} p50 {cuts[49]:6.2f} ms   p99 {cuts[98]:6.2f} ms", flush=True)


def asking(text: str, stream: bool) -> bytes:
    """A request."""
    return json.dumps({"model": "m", "messages": [{"role": "user", "content": text}], "stream": stream}).encode()


def main() -> None:
    """Measures."""
    requests = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    with provider() as model, tempfile.TemporaryDirectory() as place:
        model.text = "word " * 40
        with faces.proxied(Path(place, "memory"), f"{model.address}/v1", "--log-level", "info") as address:
            through, direct = (url.partition("://")[2] for url in (address, model.address))
            for stream in (False, True):
                what = "stream" if stream else "whole"
                new = [asking(f"Question number {at} {what}?", stream) for at in range(requests)]
                told(f"{what}, the provider itself", timed(direct, new))
                told(f"{what}, a miss", timed(through, new, "MISS"))
                told(f"{what}, a hit", timed(through, new, "HIT"))
                same = [body.replace(b"Question number", b"question  number") for body in new]
                told(f"{what}, a hit by form", timed(through, same, "HIT"))


if __name__ == "__main__":
    main()
