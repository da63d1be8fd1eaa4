"""Names, ARNs and lists of SageMaker's hosting resources."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from local_sagemaker.environment import ACCOUNT, REGION
from local_sagemaker.errors import invalid
from local_sagemaker.paging import page

Record = dict[str, Any]

PAGE_SIZE = 10
"""Default of MaxResults. Source for ListEndpoints: the API reference; for other lists no source was
found."""


@dataclass(frozen=True)
class ResourceKind:
    """A kind of resource: prefix of the API's members, words in messages, and path in the ARN.

    `more` are additional members of summaries.
    """

    name: str
    words: str
    path: str
    more: tuple[str, ...] = ()

    def arn(self, name: str) -> str:
        """Return the ARN of a resource, with its name in lower case."""
        return f"arn:aws:sagemaker:{REGION}:{ACCOUNT}:{self.path}/{name.lower()}"

    def born(self, name: str) -> Record:
        """Return the first members of a new resource's description."""
        return {f"{self.name}Arn": self.arn(name), "CreationTime": time.time()}

    def find(self, records: Mapping[str, Any], name: str) -> Any:
        """Return a record by name. Raise `ApiError`."""
        if name not in records:
            # Source of the message: aws/sagemaker-python-sdk#2112,
            # aws/amazon-sagemaker-examples#2339 and #2402.
            raise invalid(f'Could not find {self.words} "{self.arn(name)}".')
        return records[name]

    def check_name_is_free(self, records: Iterable[str], name: str) -> None:
        """Raise `ApiError` if the name exists; case-insensitive (CreateEndpoint's reference)."""
        if name.lower() in {record.lower() for record in records}:
            # Source of the message: aws/sagemaker-python-sdk#101.
            raise invalid(
                f'Cannot create already existing {self.words} "{self.arn(name)}".',
            )

    def list(self, descriptions: Iterable[Record], request: Record) -> Record:
        """Return the response of the List operation, by default the newest first.

        Source of filters, order and defaults: the API reference of ListModels, ListEndpointConfigs
        and ListEndpoints.
        """
        name, status = f"{self.name}Name", f"{self.name}Status"
        members = (name, f"{self.name}Arn", "CreationTime", "LastModifiedTime", status, *self.more)
        filters = (
            ("StatusEquals", status),
            ("EndpointNameEquals", "EndpointName"),
            ("VariantNameEquals", "VariantName"),
        )
        summaries = [
            {member: description[member] for member in members if member in description}
            for description in descriptions
            if request.get("NameContains", "") in description[name]
            and all(request.get(key) in (None, description.get(member)) for key, member in filters)
        ]
        by = {"Name": name, "Status": status}.get(request.get("SortBy", ""), "CreationTime")
        listed, more = page(
            summaries,
            request,
            key=lambda summary: (summary[by], summary[name]),
            size=PAGE_SIZE,
            descending=request.get("SortOrder", "Descending") == "Descending",
        )
        return {f"{self.name}s": listed, **more}


MODEL = ResourceKind("Model", "model", "model")
ENDPOINT_CONFIG = ResourceKind("EndpointConfig", "endpoint configuration", "endpoint-config")
ENDPOINT = ResourceKind("Endpoint", "endpoint", "endpoint")
COMPONENT = ResourceKind(
    "InferenceComponent",
    "inference component",
    "inference-component",
    ("EndpointName", "EndpointArn", "VariantName"),
)
