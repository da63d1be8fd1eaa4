"""Queues of dynamic batching have levels that exist, and orders that can be kept."""

from collections.abc import Iterator

from model_build.findings import Place
from model_build.repository import Repository

_DELAY = 1


def queue_policies(repository: Repository) -> Iterator[tuple[Place, str]]:
    """The default priority, and every level with a policy, lies between 1 and `priority_levels`.

    Source: core src/model_config_utils.cc, ValidateModelConfig.
    """
    for model in repository.models.values():
        if not model.config.HasField("dynamic_batching"):
            continue
        batching = model.config.dynamic_batching
        levels, default = batching.priority_levels, batching.default_priority_level
        if levels and not 1 <= default <= levels:
            yield (
                model.at("dynamic_batching", "default_priority_level"),
                f"default_priority_level is {default} of {levels} levels: write 1 to {levels}",
            )
        for level in batching.priority_queue_policy:
            if not 1 <= level <= levels:
                yield (
                    model.at("dynamic_batching", "priority_queue_policy"),
                    f"priority_queue_policy for level {level}: there are {levels} priority_levels",
                )
        if batching.preserve_ordering and levels > 1:
            yield (
                model.at("dynamic_batching", "preserve_ordering"),
                f"keeps no order across {levels} priority_levels: remove one of them",
            )
        policies = [batching.default_queue_policy, *batching.priority_queue_policy.values()]
        if batching.preserve_ordering and any(
            policy.timeout_action == _DELAY and policy.default_timeout_microseconds
            for policy in policies
        ):
            yield (
                model.at("dynamic_batching", "preserve_ordering"),
                "keeps no order where a timeout_action is DELAY: write REJECT, or remove one",
            )
