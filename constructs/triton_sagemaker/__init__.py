"""AWS CDK constructs for NVIDIA Triton on Amazon SageMaker."""

from triton_sagemaker.alarm_thresholds import AlarmThresholds, Severity
from triton_sagemaker.alarm_topic import AlarmTopic
from triton_sagemaker.built_model import BuiltModel
from triton_sagemaker.capture_bucket import CaptureBucket
from triton_sagemaker.data_capture import DataCapture
from triton_sagemaker.endpoint_interface import ITritonEndpoint
from triton_sagemaker.endpoint_log import EndpointLog, metrics_log_name
from triton_sagemaker.endpoint_metrics import EndpointMetrics
from triton_sagemaker.endpoint_monitoring import EndpointMonitoring
from triton_sagemaker.endpoint_variant import EndpointVariant
from triton_sagemaker.engine_builder import EngineBuilder
from triton_sagemaker.hosting_mode import HostingMode
from triton_sagemaker.instances import Instances
from triton_sagemaker.model_bucket import ModelBucket
from triton_sagemaker.model_builder import ModelBuilder
from triton_sagemaker.model_catalog import CatalogEntry, ModelCatalog
from triton_sagemaker.multi_model_hosting import MultiModelHosting
from triton_sagemaker.problems import Problem
from triton_sagemaker.scalable_instance_count import ScalableInstanceCount
from triton_sagemaker.server_options import PublishedMetrics, ServerOptions
from triton_sagemaker.single_model_hosting import SingleModelHosting
from triton_sagemaker.triton_container import TritonContainer
from triton_sagemaker.triton_endpoint import TritonEndpoint
from triton_sagemaker.update_checks import CheckedUpdates, UpdateChecks
from triton_sagemaker.updates import AllAtOnce, Canary, Linear, Rolling
from triton_sagemaker.variant import Variant

__all__ = [
    "AlarmThresholds",
    "AlarmTopic",
    "AllAtOnce",
    "BuiltModel",
    "Canary",
    "CaptureBucket",
    "CatalogEntry",
    "CheckedUpdates",
    "DataCapture",
    "EndpointLog",
    "EndpointMetrics",
    "EndpointMonitoring",
    "EndpointVariant",
    "EngineBuilder",
    "HostingMode",
    "ITritonEndpoint",
    "Instances",
    "Linear",
    "ModelBucket",
    "ModelBuilder",
    "ModelCatalog",
    "MultiModelHosting",
    "Problem",
    "PublishedMetrics",
    "Rolling",
    "ScalableInstanceCount",
    "ServerOptions",
    "Severity",
    "SingleModelHosting",
    "TritonContainer",
    "TritonEndpoint",
    "UpdateChecks",
    "Variant",
    "metrics_log_name",
]
