"""Many models below a prefix."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from aws_cdk import aws_sagemaker as sagemaker

from platform_facts import InstanceType
from platform_facts.rules import server, variants
from triton_sagemaker.hosting_mode import HostingMode
from triton_sagemaker.problems import Problem, of_rules
from triton_sagemaker.server_options import ServerOptions


@dataclass(frozen=True, kw_only=True)
class MultiModelHosting(HostingMode):
    """Many models below one S3 prefix, each loaded when it is first invoked.

    `prefix` ends in `/`, so that a `TargetModel` is the rest of an archive's key. `cache_models`
    keeps models in memory between invocations; False suits models that are each invoked once.
    """

    default_ping_mode = "live"  # one model that fails to load makes no instance unhealthy
    many_models = True

    prefix: str
    cache_models: bool = True

    @property
    def location(self) -> str:
        """The prefix."""
        return self.prefix

    @property
    def container_properties(self) -> dict[str, Any]:
        """Mode and cache."""
        return {
            "mode": "MultiModel",
            "multi_model_config": sagemaker.CfnModel.MultiModelConfigProperty(
                model_cache_setting="Enabled" if self.cache_models else "Disabled"
            ),
        }

    def problems(self, options: ServerOptions, instance_type: InstanceType) -> Iterator[Problem]:
        """Yield what SageMaker or Triton would reject or misread."""
        if not self.prefix.endswith("/") or self.prefix.startswith("/"):
            yield Problem(
                "hosting.prefix",
                f'"{self.prefix}" would make every TargetModel start with a slash, or name no '
                f'folder: write "{self.prefix.strip("/")}/"',
            )
        yield from of_rules(server.answers_as_infer(options.inference_type))
        yield from of_rules(server.ping_of_many_models(options.ping_mode))
        yield from of_rules(variants.one_gpu(instance_type))
