"""Quotas on running and queued builds, by the kind of environment."""

import threading
from dataclasses import dataclass, field

from local_sagemaker.errors import ApiError

WAITING_FOR_EACH_RUNNING = 5


@dataclass
class BuildQuota:
    """One of the account's quotas on "concurrently running builds" (guide, limits).

    Builds over the limit wait in a queue of five times the limit (guide, builds-working), or of
    `places`: new accounts have fewer (awslabs/landing-zone-accelerator-on-aws#249). AWS does not
    say in which order they start, here the first comes first.
    """

    limit: int
    places: int | None = None
    _builds: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def enter(self, build: str) -> None:
        """Let a build run or wait. Raise `ApiError` where the queue is full."""
        places = WAITING_FOR_EACH_RUNNING * self.limit if self.places is None else self.places
        with self._lock:
            if len(self._builds) >= self.limit + places:
                raise ApiError(  # the message as in rebuy-de/aws-nuke#1209, where it says 0
                    "AccountLimitExceededException",
                    f"Cannot have more than {places} builds in queue for the account",
                )
            self._builds.append(build)

    def may_run(self, build: str) -> bool:
        """Whether the build's turn has come."""
        return build in self._builds[: self.limit]

    def leave(self, build: str) -> None:
        """Take out a build that has ended, running or waiting; the next one may run."""
        with self._lock:
            if build in self._builds:
                self._builds.remove(build)
