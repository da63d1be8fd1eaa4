"""Metrics, scaling and charts of a variant."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from constructs import Construct

from triton_sagemaker.alarm_thresholds import AlarmThresholds
from triton_sagemaker.chart import Chart
from triton_sagemaker.charts import variant_charts
from triton_sagemaker.endpoint_metrics import EndpointMetrics
from triton_sagemaker.scalable_instance_count import ScalableInstanceCount
from triton_sagemaker.variant import Variant


@dataclass(frozen=True, kw_only=True)
class EndpointVariant(EndpointMetrics):
    """A variant of a `TritonEndpoint`, as `find_instance_production_variant` returns it."""

    endpoint: Construct
    updated: Construct
    variant: Variant
    scalings: list[ScalableInstanceCount] = field(default_factory=list)

    def auto_scale_instance_count(
        self, *, max_capacity: int, min_capacity: int = 1
    ) -> ScalableInstanceCount:
        """Scale the number of instances between two limits, after the endpoint is updated."""
        scaling = ScalableInstanceCount(
            self.endpoint,
            f"Scaling-{self.variant_name}",
            metrics=self,
            variant=self.variant,
            after=self.updated,
            min_capacity=min_capacity,
            max_capacity=max_capacity,
        )
        self.scalings.append(scaling)
        return scaling

    def charts(self, thresholds: AlarmThresholds) -> Iterator[Chart]:
        """Yield the charts of the variant."""
        yield from variant_charts(self, self.variant, thresholds)
