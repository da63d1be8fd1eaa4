"""Hosting of many models below an S3 prefix."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from aws_cdk import aws_sagemaker as sagemaker

from platform_facts import InstanceType
from platform_facts.rules import server, variants
from triton_sagemaker.hosting_mode import ModelHosting
from triton_sagemaker.problems import Problem, check
from triton_sagemaker.server_options import ServerOptions


@dataclass(frozen=True, kw_only=True)
class MultiModelHosting(ModelHosting):
    """Hosting of many models below one S3 prefix, each loaded at its first invocation.

    `prefix` ends with `/`; the `TargetModel` of a request is the archive's key without `prefix`.
    `cache_models` keeps models in memory between invocations; False is for models that are invoked
    rarely.
    """

    name = "multi-model"
    is_multi_model = True

    prefix: str
    cache_models: bool = True

    @property
    def location(self) -> str:
        """The prefix of the archives."""
        return self.prefix

    @property
    def container_properties(self) -> dict[str, Any]:
        """Mode and cache setting."""
        return {
            "mode": "MultiModel",
            "multi_model_config": sagemaker.CfnModel.MultiModelConfigProperty(
                model_cache_setting="Enabled" if self.cache_models else "Disabled"
            ),
        }

    def problems(self, options: ServerOptions, instance_type: InstanceType) -> Iterator[Problem]:
        """Yield the settings that SageMaker or Triton would reject or misinterpret."""
        if not self.prefix.endswith("/") or self.prefix.startswith("/"):
            yield Problem(
                "hosting.prefix",
                f'"{self.prefix}" must end with a slash and not start with one: '
                f'write "{self.prefix.strip("/")}/"',
            )
        yield from check(server.check_inference_type_is_infer, options.inference_type)
        yield from check(server.check_ping_mode, options.ping_mode)
        yield from check(variants.check_single_gpu, instance_type)
