"""A row of the report, and how its figures are taken."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field

ROUNDS = 3
#: Between the lowest and the highest round; a row beyond it says that it is noisy.
NOISY = 0.3


@dataclass
class Row:
    """One figure: as it is published, of the peer here, and of ours here."""

    system: str
    workload: str
    unit: str
    higher_is_better: bool
    #: What it was measured with here, sizes first.
    configuration: str
    durability: str
    published: float | None = None
    #: Size, machine and configuration of the published figure.
    published_on: str = ""
    peer: list[float] = field(default_factory=list)
    #: The peer's name and version, or why there is none.
    peer_is: str = ""
    ours: list[float] = field(default_factory=list)
    #: Of the answers that were timed, where that means something.
    recall: str = ""
    load: float = 0.0

    def __post_init__(self) -> None:
        self.load = round(os.getloadavg()[0], 1)

    def ratio(self, beside: float | None) -> float | None:
        """How many times better ours is."""
        if not self.ours or not beside:
            return None
        mine = statistics.median(self.ours)
        return None if not mine else mine / beside if self.higher_is_better else beside / mine

    @property
    def of_peer(self) -> float | None:
        return self.ratio(statistics.median(self.peer)) if self.peer else None

    @property
    def of_published(self) -> float | None:
        return self.ratio(self.published)

    @property
    def is_noisy(self) -> bool:
        return any(
            len(rounds) > 1 and max(rounds) - min(rounds) > NOISY * statistics.median(rounds)
            for rounds in (self.peer, self.ours)
        )


def in_turns(peer: Callable[[], float] | None, ours: Callable[[], float]) -> dict[str, list[float]]:
    """Rounds of both, one after the other, so that whatever else runs here slows both."""
    taken: dict[str, list[float]] = {"peer": [], "ours": []}
    for _ in range(ROUNDS):
        if peer is not None:
            taken["peer"].append(peer())
        taken["ours"].append(ours())
    return taken


def percentile(times: list[float], share: float) -> float:
    """Of seconds, in milliseconds: the nearest rank."""
    ordered = sorted(times)
    return 1e3 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]
