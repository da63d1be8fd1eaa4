"""What a reviewer must not miss: each rule is one module with one function of the same name.

A rule takes a `Comparison` and yields a subject and a sentence for each danger.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from release.review.comparison import Comparison
from release.review.dangers.dropped_models import dropped_models
from release.review.dangers.encryption_removed import encryption_removed
from release.review.dangers.lost_alarms import lost_alarms
from release.review.dangers.lost_rollback import lost_rollback
from release.review.dangers.low_minimum import low_minimum
from release.review.dangers.public_exposure import public_exposure
from release.review.dangers.removed_endpoints import removed_endpoints
from release.review.dangers.replaced_resources import replaced_resources
from release.review.dangers.widened_access import widened_access

Rule = Callable[[Comparison], Iterator[tuple[str, str]]]

RULES: tuple[Rule, ...] = (
    removed_endpoints,
    dropped_models,
    replaced_resources,
    lost_rollback,
    lost_alarms,
    low_minimum,
    widened_access,
    public_exposure,
    encryption_removed,
)


@dataclass(frozen=True)
class Danger:
    """`key` names it in `release/acknowledged.yaml`: the stage, the rule and the subject."""

    stage: str
    rule: str
    subject: str
    message: str

    @property
    def key(self) -> str:
        """What an acknowledgement names."""
        return f"{self.stage}/{self.rule}/{self.subject}"


def dangers(comparison: Comparison) -> list[Danger]:
    """Return every danger, in the order of the rules."""
    return [
        Danger(comparison.stage, rule.__name__, subject, message)
        for rule in RULES
        for subject, message in rule(comparison)
    ]
