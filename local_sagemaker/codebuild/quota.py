"""Quotas on running and queued builds."""

import threading
from dataclasses import dataclass, field

from local_sagemaker.errors import ApiError

WAITING_FOR_EACH_RUNNING = 5


@dataclass
class BuildQuota:
    """A quota on "concurrently running builds" (guide, limits), and the queue behind it.

    The queue has five times the limit (guide, builds-working), or `places`: new accounts have fewer
    (awslabs/landing-zone-accelerator-on-aws#249). Queued builds start in the order of their
    requests; the order on AWS is not documented.
    """

    limit: int
    places: int | None = None
    _builds: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def enter(self, build: str) -> None:
        """Add a build to the running or queued ones. Raise `ApiError` if the queue is full."""
        places = WAITING_FOR_EACH_RUNNING * self.limit if self.places is None else self.places
        with self._lock:
            if len(self._builds) >= self.limit + places:
                raise ApiError(  # source of the message: rebuy-de/aws-nuke#1209
                    "AccountLimitExceededException",
                    f"Cannot have more than {places} builds in queue for the account",
                )
            self._builds.append(build)

    def may_run(self, build: str) -> bool:
        """Return whether a queued build may start."""
        return build in self._builds[: self.limit]

    def leave(self, build: str) -> None:
        """Remove an ended build, so that the next one may start."""
        with self._lock:
            if build in self._builds:
                self._builds.remove(build)
