"""SageMaker's operations on models and endpoint configurations."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from local_sagemaker.hosting.pools import pools
from local_sagemaker.sagemaker.resources import ENDPOINT_CONFIG, MODEL, Record, ResourceKind
from local_sagemaker.sagemaker.tags import Tags
from local_sagemaker.validation.hosting import check_endpoint_config, check_model, check_pools

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

DEFAULT_METRICS_CONFIG = {
    "EnableDetailedObservability": True,
    "EnableEnhancedMetrics": False,
    "MetricPublishFrequencyInSeconds": 60,
}
"""Default MetricsConfig (API reference), which DescribeEndpointConfig returns (developer guide,
monitoring-detailed-observability-getting-started). The settings have no effect."""

DEFAULT_CONTAINER = {"Environment": {}, "Mode": "SingleModel"}
DEFAULT_ISOLATION = {"EnableNetworkIsolation": False}
"""Default in DescribeModel and DescribeEndpointConfig. Sources: cloud-custodian/cloud-custodian,
tests/data/placebo, test_sagemaker_model; aws-controllers-k8s/sagemaker-controller,
pkg/resource/endpoint_config/testdata/sdkapi/describe/success_describe.json."""


@dataclass(frozen=True)
class HostingPlan:
    """A copy of a fleet's configuration and models, which may be deleted while the fleet serves."""

    config: Record
    models: dict[str, Record]


class Registry:
    """SageMaker's models and endpoint configurations. All methods are thread-safe.

    `is_assumable` returns whether SageMaker may assume the role with an ARN.
    """

    def __init__(self, s3: "S3Client", *, is_assumable: Callable[[str], bool]) -> None:
        self._s3, self._assumable = s3, is_assumable
        self._lock = threading.RLock()
        self._models: dict[str, Record] = {}
        self._configs: dict[str, Record] = {}
        self.tags = Tags()

    # Models

    def create_model(self, request: Record) -> Record:
        """CreateModel."""
        name = request["ModelName"]
        check_model(request, self._s3, is_assumable=self._assumable)
        container = {**DEFAULT_CONTAINER, **request["PrimaryContainer"]}
        request = {**DEFAULT_ISOLATION, **request, "PrimaryContainer": container}
        with self._lock:
            MODEL.check_name_is_free(self._models, name)
            self._models[name] = self._new_description(MODEL, request)
            return {"ModelArn": self._models[name]["ModelArn"]}

    def describe_model(self, request: Record) -> Record:
        """DescribeModel."""
        with self._lock:
            return dict(MODEL.find(self._models, request["ModelName"]))

    def delete_model(self, request: Record) -> Record:
        """DeleteModel, also for a model in use: endpoints keep serving it (API reference)."""
        with self._lock:
            self._delete(MODEL, self._models, request["ModelName"])
            return {}

    def list_models(self, request: Record) -> Record:
        """ListModels."""
        with self._lock:
            return MODEL.list(self._models.values(), request)

    # Endpoint configurations

    def create_endpoint_config(self, request: Record) -> Record:
        """CreateEndpointConfig."""
        name = request["EndpointConfigName"]
        check_endpoint_config(request)
        metrics_config = {**DEFAULT_METRICS_CONFIG, **request.get("MetricsConfig", {})}
        # An unset weight is 1.0 (API reference, ProductionVariant).
        variants = [{"InitialVariantWeight": 1.0, **each} for each in request["ProductionVariants"]]
        request = {**DEFAULT_ISOLATION, **request, "ProductionVariants": variants}
        request["MetricsConfig"] = metrics_config
        with self._lock:
            ENDPOINT_CONFIG.check_name_is_free(self._configs, name)
            check_pools(request, self._models_of(request))
            self._configs[name] = self._new_description(ENDPOINT_CONFIG, request)
            return {"EndpointConfigArn": self._configs[name]["EndpointConfigArn"]}

    def describe_endpoint_config(self, request: Record) -> Record:
        """DescribeEndpointConfig."""
        with self._lock:
            return dict(ENDPOINT_CONFIG.find(self._configs, request["EndpointConfigName"]))

    def delete_endpoint_config(self, request: Record) -> Record:
        """DeleteEndpointConfig."""
        with self._lock:
            self._delete(ENDPOINT_CONFIG, self._configs, request["EndpointConfigName"])
            return {}

    def list_endpoint_configs(self, request: Record) -> Record:
        """ListEndpointConfigs."""
        with self._lock:
            return ENDPOINT_CONFIG.list(self._configs.values(), request)

    # Internal methods; callers hold the lock

    def _hosting_plan(self, request: Record) -> HostingPlan:
        config = self.describe_endpoint_config(request)
        return HostingPlan(config, self._models_of(config))

    def _models_of(self, config: Record) -> dict[str, Record]:
        """Return the models of a configuration. Raise `ApiError` if one does not exist.

        Source for CreateEndpoint: aws/sagemaker-python-sdk#2112.
        """
        names = [
            pool.model_name for variant in config["ProductionVariants"] for pool in pools(variant)
        ]
        return {name: MODEL.find(self._models, name) for name in names if name is not None}

    def _new_description(self, kind: ResourceKind, request: Record) -> Record:
        """Return the description of a new resource, and store its tags separately."""
        arn = kind.arn(request[f"{kind.name}Name"])
        self.tags.create(arn, request.get("Tags", []))
        members = {name: value for name, value in request.items() if name != "Tags"}
        return {**members, f"{kind.name}Arn": arn, "CreationTime": time.time()}

    def _delete(self, kind: ResourceKind, records: dict[str, Any], name: str) -> None:
        kind.find(records, name)
        del records[name]
        self.tags.delete(kind.arn(name))
