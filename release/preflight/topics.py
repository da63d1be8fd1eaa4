"""The topics of a preflight, in the order in which they are asked."""

from release.preflight import (
    access,
    bootstrap,
    build_quotas,
    facts,
    identity,
    images,
    instance_quotas,
    lambda_quota,
    names,
    offerings,
    parameters,
    permissions,
    prices,
)
from release.preflight.asking import Ask
from release.preflight.rows import Topic

Topics = tuple[tuple[Topic, Ask], ...]

BEFORE_A_DELIVERY: Topics = tuple(
    (it.TOPIC, it.ask)
    for it in (
        identity,
        bootstrap,
        permissions,
        images,
        instance_quotas,
        build_quotas,
        lambda_quota,
        parameters,
        offerings,
        names,
    )
)
"""What a deploy could fail with, and that is asked in seconds."""

ALL: Topics = (
    *BEFORE_A_DELIVERY,
    *((it.TOPIC, it.ask) for it in (access, prices, facts)),
)
