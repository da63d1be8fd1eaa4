"""SageMaker's control plane: the operations that the local SageMaker has."""

from local_sagemaker.api import JsonService
from local_sagemaker.sagemaker.hosting_api import Hosting


def control_plane(hosting: Hosting) -> JsonService:
    """Return the service in front of what exists."""
    return JsonService(
        "sagemaker",
        {
            "CreateModel": hosting.create_model,
            "DescribeModel": hosting.describe_model,
            "DeleteModel": hosting.delete_model,
            "ListModels": hosting.list_models,
            "CreateEndpointConfig": hosting.create_endpoint_config,
            "DescribeEndpointConfig": hosting.describe_endpoint_config,
            "DeleteEndpointConfig": hosting.delete_endpoint_config,
            "ListEndpointConfigs": hosting.list_endpoint_configs,
            "CreateEndpoint": hosting.create_endpoint,
            "UpdateEndpoint": hosting.update_endpoint,
            "DescribeEndpoint": hosting.describe_endpoint,
            "DeleteEndpoint": hosting.delete_endpoint,
            "ListEndpoints": hosting.list_endpoints,
            "UpdateEndpointWeightsAndCapacities": hosting.update_weights_and_capacities,
            "AddTags": hosting.add_tags,
            "ListTags": hosting.list_tags,
            "DeleteTags": hosting.delete_tags,
        },
    )
