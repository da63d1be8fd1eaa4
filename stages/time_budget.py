"""The maximum duration of a delivery, which must end within the six hours of a GitHub job."""

from collections.abc import Mapping
from math import ceil

from plan.document import TimeBudget
from platform_facts.rules import checked_yaml
from platform_facts.rules.updates import BUILD_WAIT_MINUTES

JOB_MINUTES = 360
"""The time limit of a job on GitHub's own runners (GitHub Docs, "Limits in GitHub Actions").

The session of the deploy role has the same length. With it, the cdk CLI assumes the roles of `cdk
bootstrap`, whose sessions last an hour (IAM user guide, role chaining); the CLI renews them
(makeCachingProvider and fromTemporaryCredentials in aws-cdk 2.1148.1). CloudFormation uses its own
service role, and continues after these sessions have expired (user guide, "CloudFormation service
role").
"""
INSTALL_MINUTES = 10
"""Checkout and `make install`, before the job has credentials.

This and the next three constants are choices of this project.
"""
COPY_MINUTES = 5
"""Checks of the release, and copies of archives from another stage's bucket inside S3."""
STACK_MINUTES = 10
"""All resources of a stack except its endpoint; a VPC takes the longest."""
SCALING_MINUTES = 5
"""A deploy that removes the scaling of a variant, or restores it after a failed update."""
BUILD_END_MINUTES = 5
"""From a build's deadline to its result: `GRACE_SECONDS` of the build handler, and a poll."""
VERIFY_MINUTES = 30
"""Deadline of the verification: `VERIFY_SECONDS` of `delivery.verify`."""
ANSWER_MINUTES = 7
"""Calls of a model that is loading: five attempts of 70 s and waits of 15 s (`endpoint_client`)."""
LONGEST_BUILD_MINUTES = 220
"""Maximum wait of a build for its engines: `ModelBuilder` ends a build after 240 minutes."""


def time_budget(
    stage_name: str, updates: Mapping[str, int], *, longer_wake_seconds: int = 0
) -> TimeBudget:
    """Return the budget of a stage; `updates` is endpoint -> seconds of its longest update.

    `longer_wake_seconds` is added to the time of the verification.
    Raise `checked_yaml.LocatedErrors` if builds would have less time than CloudFormation's limit
    for them.
    """
    name = max(updates, key=updates.__getitem__)
    update = ceil(updates[name] / 60)
    rows = {
        "checkout and `make install`": INSTALL_MINUTES,
        "checks of the release, archives copied from another stage": COPY_MINUTES,
        f"`{stage_name}-models`": STACK_MINUTES,
        "builds": BUILD_END_MINUTES,
        "the stacks that endpoints need": STACK_MINUTES,
        f"`{stage_name}-{name}`, the slowest stack, without its endpoint": (
            STACK_MINUTES + 2 * SCALING_MINUTES
        ),
        "update of its endpoint": update,
        "rollback of its endpoint": update,
        "verification of endpoints and models": (
            VERIFY_MINUTES + ceil(longer_wake_seconds / 60) + ANSWER_MINUTES
        ),
    }
    build_minutes = min(LONGEST_BUILD_MINUTES, JOB_MINUTES - sum(rows.values()))
    if build_minutes < BUILD_WAIT_MINUTES:
        longest_update = update - ceil((BUILD_WAIT_MINUTES - build_minutes) / 2)
        message = (
            f"an update takes up to {update} minutes, and its rollback as long; the limit is "
            f"{longest_update}, because a delivery's job ends after {JOB_MINUTES}: write a "
            "shorter wait_seconds, download_timeout_minutes or startup_timeout_minutes, or a "
            "larger percent, and for a rolling update fewer instances"
        )
        raise checked_yaml.LocatedErrors([(("endpoints", name, "update"), message)])
    rows["builds"] = build_minutes + BUILD_END_MINUTES
    return TimeBudget(rows=rows, build_minutes=build_minutes)
