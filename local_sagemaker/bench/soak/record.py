"""What was asked and answered, what was done, and which errors that explains."""

import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

NOT_READY = re.compile(r"429 ModelNotReadyException")
"""What a cold call may always get where loads take long, as on a busy machine: the caller asks
again."""


@dataclass
class Excuse:
    """Why calls of an endpoint, or of one model there, may fail with such words for a time."""

    endpoint: str
    model: str | None
    words: re.Pattern[str]
    since: float
    until: float = float("inf")


@dataclass(frozen=True)
class Call:
    """A call that has ended, and what was wrong with its answer, if anything was."""

    endpoint: str
    model: str
    begun: float
    ended: float
    wrong: str | None


@dataclass
class Record:
    """Takes what happens from any thread; times are seconds of a run."""

    calls: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    unexplained: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._excuses: list[Excuse] = []
        self._lock = threading.Lock()
        self._begun = time.monotonic()

    def now(self) -> float:
        """Return the seconds since the run began."""
        return time.monotonic() - self._begun

    @contextmanager
    def excused(self, endpoint: str, model: str | None, words: str) -> Iterator[None]:
        """Explain the failures of calls that are under way at any time of the block."""
        excuse = Excuse(endpoint, model, re.compile(words), self.now())
        with self._lock:
            self._excuses.append(excuse)
        try:
            yield
        finally:
            excuse.until = self.now()

    def note(self, call: Call) -> None:
        """Count a call; one that failed without an explanation is kept."""
        with self._lock:
            if call.wrong is None:
                self.calls["answered"] += 1
            elif NOT_READY.match(call.wrong):
                self.calls["not ready yet"] += 1
            elif any(_explains(it, call, call.wrong) for it in self._excuses):
                self.calls["failed by a fault"] += 1
            else:
                self.calls["unexplained"] += 1
                self._keep(f"{call.endpoint} {call.model}: {call.wrong}")

    def happened(self, what: str) -> None:
        """Count what was done."""
        with self._lock:
            self.done[what] += 1

    def surprise(self, what: str) -> None:
        """Keep something else that nothing explains."""
        with self._lock:
            self._keep(what)

    def _keep(self, what: str) -> None:
        self.unexplained.append(f"{self.now():.1f} s: {what}")


def _explains(excuse: Excuse, call: Call, wrong: str) -> bool:
    return (
        excuse.endpoint == call.endpoint
        and excuse.model in (None, call.model)
        and excuse.since <= call.ended
        and call.begun <= excuse.until
        and excuse.words.search(wrong) is not None
    )
