"""Calling something again that failed for a moment: exponential backoff with full jitter."""

import random
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class GaveUp(Exception):
    """All attempts failed; the last error is the cause."""


def backoff_delays(base_seconds: float, cap_seconds: float, attempts: int, random_source=random.random):
    """Pauses between attempts. Each is drawn from zero up to a ceiling that doubles, so that clients which failed together do not return together."""
    for attempt in range(attempts - 1):
        ceiling = min(cap_seconds, base_seconds * 2**attempt)
        yield random_source() * ceiling


def call_with_retries(
    action: Callable[[], T],
    *,
    attempts: int = 5,
    base_seconds: float = 0.1,
    cap_seconds: float = 10.0,
    retry_on: tuple[type[Exception], ...] = (TimeoutError, ConnectionError),
    sleep=time.sleep,
) -> T:
    """Run `action` until it succeeds. Errors other than `retry_on` are raised at once, because repeating a wrong request does not make it right."""
    delays = backoff_delays(base_seconds, cap_seconds, attempts)
    for attempt in range(attempts):
        try:
            return action()
        except retry_on as error:
            pause = next(delays, None)
            if pause is None:
                raise GaveUp(f"{attempts} attempts failed") from error
            sleep(pause)
    raise AssertionError("unreachable: the loop returns or raises")
