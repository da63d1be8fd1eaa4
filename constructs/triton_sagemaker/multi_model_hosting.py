"""Hosting of many models below an S3 prefix."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from aws_cdk import aws_sagemaker as sagemaker

from platform_facts import InstanceType
from platform_facts.rules import server, stage, variants
from triton_sagemaker.alarm_thresholds import AlarmThresholds
from triton_sagemaker.chart import BELOW, MICROSECONDS_PER_MS, AlarmedMetric, Chart
from triton_sagemaker.endpoint_metrics import EndpointMetrics
from triton_sagemaker.hosting_mode import ModelHosting
from triton_sagemaker.problems import Problem, as_problems
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
        yield from as_problems(server.check_inference_type_is_infer(options.inference_type))
        yield from as_problems(server.check_ping_mode(options.ping_mode))
        yield from as_problems(variants.check_single_gpu(instance_type))

    def cache_charts(
        self, metrics: EndpointMetrics, thresholds: AlarmThresholds
    ) -> Iterator[Chart]:
        """Yield the charts of the models in memory."""
        if not self.cache_models:  # every request misses the cache: no alarm
            thresholds = replace(thresholds, **{name: {} for name in stage.CACHE_ALARMS})
        cache_hits = AlarmedMetric("CacheHits", "low share of requests whose model is loaded",
            metrics.metric_model_cache_hit_rate(), thresholds.cache_hit_rate_below,
            comparison=BELOW)  # fmt: skip
        yield Chart("Model cache hits (share of requests)", [cache_hits])
        wait = AlarmedMetric("LoadingWait", "longest wait for a model",
            metrics.metric_model_loading_wait(), thresholds.loading_wait_max_ms,
            scale=MICROSECONDS_PER_MS)  # fmt: skip
        durations = [metrics.metric_model_downloading_time(), metrics.metric_model_loading_time()]
        yield Chart("Waiting for models (microseconds)", [wait], durations)
        unloads = AlarmedMetric("Unloads", "models unloaded per minute",
            metrics.metric_model_unloads(), thresholds.unloads_per_minute)  # fmt: skip
        loaded_models = AlarmedMetric("LoadedModels", "too few models in memory during requests",
            metrics.metric_loaded_models(), thresholds.loaded_models_below,
            comparison=BELOW, requests=metrics.metric_invocations())  # fmt: skip
        yield Chart("Models in memory", [unloads, loaded_models])
