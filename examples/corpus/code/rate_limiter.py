"""Token bucket: allows bursts up to a size, and a steady rate in the long run."""

import threading
import time


class TokenBucket:
    """Every request takes a token; tokens come back at a fixed rate, up to `burst` of them."""

    def __init__(self, rate_per_second: float, burst: int, now=time.monotonic) -> None:
        self._rate = rate_per_second
        self._burst = burst
        self._now = now
        self._tokens = float(burst)
        self._updated = now()
        self._lock = threading.Lock()

    def _refill(self) -> None:
        now = self._now()
        self._tokens = min(self._burst, self._tokens + (now - self._updated) * self._rate)
        self._updated = now

    def try_acquire(self, count: int = 1) -> bool:
        """Take `count` tokens if they are there. Never waits."""
        with self._lock:
            self._refill()
            if self._tokens < count:
                return False
            self._tokens -= count
            return True

    def seconds_until(self, count: int = 1) -> float:
        """How long a caller has to wait before `count` tokens will be there; what an HTTP server sends as Retry-After."""
        with self._lock:
            self._refill()
            missing = count - self._tokens
            return max(0.0, missing / self._rate)


class PerClientLimiter:
    """One bucket for each client, made on first use and dropped when it has been full for a while."""

    def __init__(self, rate_per_second: float, burst: int) -> None:
        self._make = lambda: TokenBucket(rate_per_second, burst)
        self._buckets: dict[str, TokenBucket] = {}

    def allow(self, client: str) -> bool:
        bucket = self._buckets.setdefault(client, self._make())
        return bucket.try_acquire()
