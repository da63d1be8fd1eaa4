"""The longest that a delivery of a stage may take, against GitHub's six hours."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Self

import checked_yaml
from platform_facts.rules.updates import BUILD_WAIT_MINUTES

JOB_MINUTES = 360
"""GitHub ends a job then, on runners of its own (GitHub Docs, "Limits in GitHub Actions").

The deploy role's session is as long. The roles that the cdk CLI assumes with it last an hour each
(IAM user guide, role chaining), and it assumes them again while that session lasts
(makeCachingProvider and fromTemporaryCredentials in aws-cdk 2.1148.1). CloudFormation acts as a
role of its own, and goes on without either ("CloudFormation service role", user guide).
"""
INSTALL_MINUTES = 10
"""Checkout and `make install`, before there are credentials. Our choice, as are the next three."""
SYNTH_MINUTES = 5
"""The app, and archives copied from another stage's bucket inside of S3."""
STACK_MINUTES = 10
"""What a stack creates, changes and deletes beside an endpoint: the VPC takes the longest."""
SCALING_MINUTES = 5
"""A deploy that takes scaling from a variant that changes, and one that gives it back, if the
change fails in between."""
BUILD_END_MINUTES = 5
"""After its deadline a build says how it ended: `GRACE_SECONDS` of its handler, and a poll."""
VERIFY_MINUTES = 30
"""When the last model is asked: `VERIFY_SECONDS` of `release.delivery.verifying`."""
ANSWER_MINUTES = 7
"""A model that loads is asked five times, 70 s each, 15 s apart in all: `endpoint_client`."""
LONGEST_BUILD_MINUTES = 220
"""The longest wait of a build: `ModelBuilder` ends it after 240."""


@dataclass(frozen=True)
class TimeBudget:
    """The most that each part of a delivery may take, in minutes, one after the other.

    `rows` are all of them, in order; `build_minutes` is for how long builds may wait for GPUs:
    what the others leave. Independent stacks are deployed side by side: only the slowest counts.
    """

    rows: dict[str, int]
    build_minutes: int

    @classmethod
    def of(cls, stage_name: str, updates: Mapping[str, int]) -> Self:
        """Return the budget of a stage; `updates` has the seconds of each endpoint's longest one.

        Raises `checked_yaml.LocatedErrors` where it leaves builds less time than CloudFormation
        would give them.
        """
        name = max(updates, key=updates.__getitem__)
        update = ceil(updates[name] / 60)
        rows = {
            "checkout and `make install`": INSTALL_MINUTES,
            "synth, archives copied from another stage": SYNTH_MINUTES,
            f"`{stage_name}-models`": STACK_MINUTES,
            "builds": BUILD_END_MINUTES,
            "the stacks that endpoints need": STACK_MINUTES,
            f"`{stage_name}-{name}`, the slowest, beside its endpoint": (
                STACK_MINUTES + 2 * SCALING_MINUTES
            ),
            "its endpoint's update": update,
            "the rollback of it": update,
            "endpoints at rest, every model asked": VERIFY_MINUTES + ANSWER_MINUTES,
        }
        left = JOB_MINUTES - sum(rows.values())
        if left < BUILD_WAIT_MINUTES:
            fits = update - ceil((BUILD_WAIT_MINUTES - left) / 2)
            message = (
                f"an update takes up to {update} minutes, and its rollback as long; the limit is "
                f"{fits}, because a delivery's job ends after {JOB_MINUTES}: write a shorter "
                "wait_seconds or a larger percent, and for a rolling update fewer instances"
            )
            raise checked_yaml.LocatedErrors([(("endpoints", name, "update"), message)])
        wait = min(LONGEST_BUILD_MINUTES, left)
        return cls({**rows, "builds": wait + BUILD_END_MINUTES}, wait)
