"""Which commits were delivered to a stage: the SSM parameter `/triton/<stage>/delivered`.

It outlives the stage, whose next bucket has none of the archives: it names the stack of models that
it is about, and says nothing of another one.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from release.delivery.errors import NotDelivered
from stage_record import Delivery, Outcome, delivered_parameter, read_deliveries

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

KEPT = 10


WORTH_KEEPING = (Outcome.DELIVERED, Outcome.ROLLED_BACK)
MAY_SERVE = (Outcome.STARTED, Outcome.DELIVERED, Outcome.WRONG)


class History:
    """The last deliveries of a stage, the newest last.

    Of those that failed only the newest is kept: however many fail, the last that succeeded stays,
    and so does the last that may serve.
    `models_stack` returns the id of the stage's stack of models as it is now, None where there is
    none: it is made by a first delivery, and another one once the stage was destroyed.
    """

    def __init__(
        self, ssm: "SSMClient", stage: str, *, models_stack: Callable[[], str | None]
    ) -> None:
        self._ssm, self._models_stack = ssm, models_stack
        self.stage = stage
        self.name = delivered_parameter(stage)
        self._begun: list[Delivery] = []

    def deliveries(self) -> list[Delivery]:
        """Return them, the newest last."""
        stack, deliveries = read_deliveries(self._ssm, self.stage)
        return deliveries if stack in (None, self._models_stack()) else []

    def live(self) -> Delivery | None:
        """Return the newest delivery that may have changed the stage, None where there is none.

        One that failed was rolled back.
        """
        found = [it for it in self.deliveries() if it.outcome in MAY_SERVE]
        return found[-1] if found else None

    def begin(self, commit: str, *, back_to: Delivery | None = None) -> None:
        """Record that a commit is about to be deployed.

        With `back_to`, the deliveries after it are marked as rolled back, so that the next rollback
        goes further back.
        """
        now = datetime.now(UTC).isoformat(timespec="seconds")
        found = self.deliveries()
        if back_to is None and found and _serves(found[-1], found) and found[-1].commit == commit:
            found = found[:-1]  # the same commit once more is not a step that could be rolled back
        after = found.index(back_to) + 1 if back_to else len(found)
        taken = [
            replace(it, outcome=Outcome.ROLLED_BACK) if it.outcome is Outcome.DELIVERED else it
            for it in found[after:]
        ]
        deliveries = [*found[:after], *taken]
        serving = [it for it in deliveries if it.outcome in MAY_SERVE][-1:]
        kept = [it for it in deliveries if it.outcome in WORTH_KEEPING or it in serving]
        self._begun = [*kept, Delivery(commit, now, Outcome.STARTED)]
        self._write(self._begun)

    def end(self, outcome: Outcome) -> None:
        """Record how what was begun has ended, in whatever stack of models the stage has by now.

        The cdk CLI deletes a stack whose first deploy failed, and makes another one. Deliveries
        that others have begun since stay.
        """
        *before, last = self._begun
        _, recorded = read_deliveries(self._ssm, self.stage)
        since = [it for it in recorded if it.time >= last.time and it not in self._begun]
        self._write([*before, replace(last, outcome=outcome), *since])

    def target(self, wanted: str | None) -> Delivery:
        """Return what to roll back to: the delivery of `wanted`, or the last that succeeded.

        The last does not count where it is what serves now. `wanted` may be the beginning of a
        commit. Raises `NotDelivered` where there is none.
        """
        found = self.deliveries()
        fit = [it for it in found[::-1] if it.outcome in WORTH_KEEPING]
        if wanted is not None:
            fit = [it for it in fit if it.commit.startswith(wanted)]
        else:
            fit = [it for it in fit if it.outcome is Outcome.DELIVERED and not _serves(it, found)]
        if fit:
            return fit[0]
        known = ", ".join(dict.fromkeys(it.commit[:12] for it in found[::-1])) or "none"
        what = f"commit {wanted}" if wanted else "earlier commit"
        raise NotDelivered(
            f"no {what} was delivered to {self.stage}; {self.name} has: {known}. Check the "
            f"commit out and deliver it: make deliver STAGE={self.stage}"
        )

    def _write(self, deliveries: Sequence[Delivery]) -> None:
        kept = [asdict(it) for it in deliveries[-KEPT:]]
        record = {"stack": self._models_stack(), "deliveries": kept}
        self._ssm.put_parameter(
            Name=self.name,
            Description=f"Commits that were delivered to {self.stage}, the newest last",
            Value=json.dumps(record, separators=(",", ":")),
            Type="String",
            Overwrite=True,
        )


def _serves(delivery: Delivery, deliveries: Sequence[Delivery]) -> bool:
    newest = deliveries[-1]
    return newest.outcome is Outcome.DELIVERED and newest.commit == delivery.commit
