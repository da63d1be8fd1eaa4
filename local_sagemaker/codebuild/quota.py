"""Limits of running and queued builds."""

import threading
from dataclasses import dataclass, field

from local_sagemaker.errors import ApiError

QUEUED_PER_RUNNING = 5


@dataclass
class BuildQuota:
    """The quota of "concurrently running builds" (guide, limits), and the queue of builds.

    The queue is limited to `max_queued` builds, by default to five times the quota (guide,
    builds-working); new accounts have fewer (awslabs/landing-zone-accelerator-on-aws#249). Queued
    builds start in the order of their requests; the order on AWS is not documented.
    """

    limit: int
    max_queued: int | None = None
    _builds: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, build: str) -> None:
        """Add a running or queued build. Raise `ApiError` if the queue is full."""
        max_queued = QUEUED_PER_RUNNING * self.limit if self.max_queued is None else self.max_queued
        with self._lock:
            if len(self._builds) >= self.limit + max_queued:
                raise ApiError(  # source of the message: rebuy-de/aws-nuke#1209
                    "AccountLimitExceededException",
                    f"Cannot have more than {max_queued} builds in queue for the account",
                )
            self._builds.append(build)

    def may_run(self, build: str) -> bool:
        """Return whether an added build may run."""
        return build in self._builds[: self.limit]

    def remove(self, build: str) -> None:
        """Remove an ended build, so that the next build may run."""
        with self._lock:
            if build in self._builds:
                self._builds.remove(build)
