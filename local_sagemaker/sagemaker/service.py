"""SageMaker's control plane: its supported operations."""

from botocore import xform_name

from local_sagemaker.api import JsonService
from local_sagemaker.sagemaker.component_operations import HostingOperations

OPERATIONS = (
    *(f"{verb}{kind}" for verb in ("Create", "Describe", "Delete")
      for kind in ("Model", "EndpointConfig", "Endpoint", "InferenceComponent")),
    *("ListModels", "ListEndpointConfigs", "ListEndpoints", "AddTags", "ListTags", "DeleteTags"),
    *("UpdateEndpoint", "UpdateEndpointWeightsAndCapacities", "ListInferenceComponents"),
    *("UpdateInferenceComponent", "UpdateInferenceComponentRuntimeConfig"),
)  # fmt: skip


def control_plane(hosting: HostingOperations) -> JsonService:
    """Return the service that calls the methods of `hosting` and of its tags."""
    operations = {
        name: getattr(hosting.tags if name.endswith("Tags") else hosting, xform_name(name))
        for name in OPERATIONS
    }
    return JsonService("sagemaker", operations)
