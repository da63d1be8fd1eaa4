"""What SageMaker knows of endpoints."""

from collections.abc import Iterator, Mapping
from typing import Any

from botocore.exceptions import ClientError

from cli.status.scope import Scope

Record = Mapping[str, Any]


def described(sagemaker: Any, scope: Scope) -> list[Record]:
    """Return DescribeEndpoint of what is in scope, by name. Raises `ClientError`.

    One that is deleted meanwhile is left out.
    """
    return list(_described(sagemaker, scope))


def _described(sagemaker: Any, scope: Scope) -> Iterator[Record]:
    narrowed = {"NameContains": scope.prefix} if scope.prefix else {}
    pages = sagemaker.get_paginator("list_endpoints")
    for page in pages.paginate(SortBy="Name", SortOrder="Ascending", **narrowed):
        for name in (it["EndpointName"] for it in page["Endpoints"]):
            if scope.has(name):
                try:
                    yield sagemaker.describe_endpoint(EndpointName=name)
                except ClientError as error:
                    if "Could not find" not in error.response["Error"]["Message"]:
                        raise
