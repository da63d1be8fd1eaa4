"""The two SageMaker services, which sign requests with one name and differ by path."""

import asyncio
import re
from typing import Any

from local_aws.api import Answer, JsonService, error_answer
from local_aws.errors import ApiError
from local_aws.sagemaker.hosting_api import Hosting

INVOCATIONS = re.compile(r"/endpoints/(?P<endpoint>[^/]+)/invocations")
MAX_BODY_BYTES = 6_291_456


class SageMaker:
    """Answers `sagemaker` and `sagemaker-runtime`."""

    def __init__(self, hosting: Hosting) -> None:
        self._hosting = hosting
        self.control_plane = JsonService(
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

    async def __call__(
        self, method: str, path: str, headers: dict[str, str], body: bytes, query: Any
    ) -> Answer:
        """Answer one request."""
        match = INVOCATIONS.fullmatch(path)
        if match is None:
            return await self.control_plane(method, path, headers, body, query)
        lowered = {name.lower(): value for name, value in headers.items()}
        try:
            return await asyncio.to_thread(self._invoke, match["endpoint"], lowered, body or b"")
        except ApiError as error:
            return error_answer(error)

    def _invoke(self, endpoint: str, headers: dict[str, str], body: bytes) -> Answer:
        if len(body) > MAX_BODY_BYTES:
            raise ApiError(
                "ValidationError",
                f"The body has {len(body)} bytes; at most {MAX_BODY_BYTES} are allowed.",
                status=413,
            )
        with self._hosting.serving(endpoint) as (fleet, weights):
            variant, response = fleet.invoke(
                weights,
                target_model=headers.get("x-amzn-sagemaker-target-model"),
                target_variant=headers.get("x-amzn-sagemaker-target-variant"),
                body=body,
                headers={"Content-Type": headers.get("content-type", "application/octet-stream")},
            )
        answer = {"x-Amzn-Invoked-Production-Variant": variant}
        if "Content-Type" in response.headers:
            answer["Content-Type"] = response.headers["Content-Type"]
        return 200, answer, response.body
