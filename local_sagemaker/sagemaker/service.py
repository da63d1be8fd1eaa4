"""SageMaker's control plane, with the supported operations."""

from botocore import xform_name

from local_sagemaker.api import JsonService
from local_sagemaker.sagemaker.components import Components

OPERATIONS = (
    *(f"{verb}{kind}" for verb in ("Create", "Describe", "Delete")
      for kind in ("Model", "EndpointConfig", "Endpoint", "InferenceComponent")),
    *("ListModels", "ListEndpointConfigs", "ListEndpoints", "AddTags", "ListTags", "DeleteTags"),
    *("UpdateEndpoint", "UpdateEndpointWeightsAndCapacities", "ListInferenceComponents"),
    *("UpdateInferenceComponent", "UpdateInferenceComponentRuntimeConfig"),
)  # fmt: skip


def control_plane(hosting: Components) -> JsonService:
    """Return the service for the operations of `hosting` and its tags."""
    operations = {
        name: getattr(hosting.tags if name.endswith("Tags") else hosting, xform_name(name))
        for name in OPERATIONS
    }
    return JsonService("sagemaker", operations)
