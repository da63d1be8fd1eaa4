"""Problems of the arguments of constructs, which are all reported together."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from aws_cdk import Token

from platform_facts import rules

ARGUMENTS = {
    "instance_count": "initial_instance_count",
    "weight": "initial_variant_weight",
    "name": "variant_name",
    "publish_metrics": "container.options.publish_metrics",
    "server": "container.options",
    "environment": "container.environment",
    "image": "container.image",
    "release": "container.release",
    "update.wait_seconds": "update.wait",
    "update.rollback_error_rate": "rollback_error_rate",
    "update.strategy": "update",
    "notify": "topics",
    "instance_types": "fallbacks",
    "provision_timeout_minutes": "provision_timeout",
    "download_timeout_minutes": "download_timeout",
    "startup_timeout_minutes": "startup_timeout",
    "volume_size_gb": "volume_size",
}
"""Key of a stage file -> argument of the construct, if the names differ."""
WORDS = {
    "max_rps": "scale_on_invocations",
    "gpu_percent": "scale_on_gpu_utilization",
    "cpu_percent": "scale_on_cpu_utilization",
    "or concurrency": "or scale_on_concurrency",
    "instance_types": "fallbacks",
    "memory_mb": "memory",
    "cache_models: false": "cache_models=False",
    "cache_models: true": "cache_models=True",
    "hosting: multi-model": "MultiModelHosting",
    "hosting: single-model": "SingleModelHosting",
}
"""Words of the rules' messages, which name keys of a stage file -> words of the constructs."""
_STAGE_WORDS = re.compile("|".join(rf"\b{re.escape(word)}" for word in WORDS))
EXAMPLES = {
    "bucket": 's3.Bucket.from_bucket_name(self, "Models", "my-bucket")',
    "download_timeout": "Duration.minutes(30)",
    "encryption_key": 'kms.Key.from_key_arn(self, "Key", "arn:aws:kms:...")',
    "image": "triton_sagemaker.ContainerImage.from_ecr_repository(repository, digest)",
    "instance_type": 'platform_facts.instance_type("ml.g5.xlarge")',
    "memory": "Size.gibibytes(4)",
    "provision_timeout": "Duration.minutes(15)",
    "release": 'platform_facts.release("25.09")',
    "role": 'iam.Role.from_role_arn(self, "Role", "arn:aws:iam::...")',
    "security_groups": 'ec2.SecurityGroup.from_security_group_id(self, "Group", "sg-...")',
    "startup_timeout": "Duration.minutes(30)",
    "topics": 'sns.Topic.from_topic_arn(self, "Topic", "arn:aws:sns:...")',
    "volume_size": "Size.gibibytes(100)",
    "vpc": 'ec2.Vpc.from_lookup(self, "Vpc", vpc_id="vpc-...")',
    "wait": "Duration.minutes(5)",
}
"""Argument -> an example of its value."""


@dataclass(frozen=True)
class Problem:
    """An invalid argument.

    `argument` is a dotted path, `message` has the problem and the fix.
    """

    argument: str
    message: str

    def __str__(self) -> str:
        return f"{self.argument}: {self.message}"


def prefix_problems(parent: str, problems: Iterable[Problem]) -> Iterator[Problem]:
    """Prefix the argument of each problem with its parent argument."""
    for problem in problems:
        yield replace(problem, argument=f"{parent}.{problem.argument}")


def reject_plain_values(**arguments: object) -> None:
    """Raise `TypeError` if an argument, or an item of it, is text or a number.

    The CDK's own check would fail later, without the name of the argument.
    """
    for name, value in arguments.items():
        for item in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(item, (str, int, float, Mapping)):
                kind = type(item).__name__
                raise TypeError(f"{name}: {item!r} is of type {kind}: write {EXAMPLES[name]}")


def check(
    rule: Callable[..., list[rules.Violation]], *values: Any, argument: str | None = None
) -> Iterator[Problem]:
    """Yield the violations of a rule by `values`, unless one of them is an unresolved token.

    `argument` is the argument; by default it follows from the path of the violation. The rule is
    evaluated when the result is iterated.
    """
    for path, message in rule(*values):
        if not any(map(_is_token, values)):
            message = _STAGE_WORDS.sub(lambda match: WORDS[match[0]], message)
            yield Problem(argument or _argument(".".join(map(str, path))), message)


def _is_token(value: object) -> bool:
    if isinstance(value, Mapping):
        return any(map(_is_token, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(_is_token, value))
    return isinstance(value, (str, int, float)) and Token.is_unresolved(value)


def _argument(key: str) -> str:
    for prefix, argument in ARGUMENTS.items():
        if key == prefix or key.startswith(f"{prefix}."):
            return argument + key.removeprefix(prefix)
    return key
