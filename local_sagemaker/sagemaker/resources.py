"""Names, ARNs and lists of SageMaker's hosting resources."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from local_sagemaker.environment import ACCOUNT, REGION
from local_sagemaker.errors import invalid
from local_sagemaker.paging import page

Record = dict[str, Any]

PAGE_SIZE = 10
"""Default of MaxResults (API reference of ListEndpoints; no source was found for other lists)."""


@dataclass(frozen=True)
class ResourceKind:
    """A kind of resource.

    `name` is the prefix of its members in the API, as in ModelName; `label` is its name in
    messages. `summary_members` are additional members in the response of the List operation.
    """

    name: str
    label: str
    arn_path: str
    summary_members: tuple[str, ...] = ()

    def arn(self, name: str) -> str:
        """Return the ARN of a resource, with its name in lower case."""
        return f"arn:aws:sagemaker:{REGION}:{ACCOUNT}:{self.arn_path}/{name.lower()}"

    def find(self, records: Mapping[str, Any], name: str) -> Any:
        """Return the record with a name. Raise `ApiError` if it does not exist."""
        if name not in records:
            # Source of the message: aws/sagemaker-python-sdk#2112,
            # aws/amazon-sagemaker-examples#2339 and #2402.
            raise invalid(f'Could not find {self.label} "{self.arn(name)}".')
        return records[name]

    def check_name_is_free(self, records: Iterable[str], name: str) -> None:
        """Raise `ApiError` if the name exists; case-insensitive (CreateEndpoint's reference)."""
        if name.lower() in {record.lower() for record in records}:
            # Source of the message: aws/sagemaker-python-sdk#101.
            raise invalid(f'Cannot create already existing {self.label} "{self.arn(name)}".')

    def list(self, descriptions: Iterable[Record], request: Record) -> Record:
        """Return the response of the List operation, by default the newest first.

        Source of filters, order and defaults: the API reference of ListModels, ListEndpointConfigs
        and ListEndpoints.
        """
        name, status = f"{self.name}Name", f"{self.name}Status"
        members = (
            name,
            f"{self.name}Arn",
            "CreationTime",
            "LastModifiedTime",
            status,
            *self.summary_members,
        )
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
        sort_member = {"Name": name, "Status": status}.get(
            request.get("SortBy", ""), "CreationTime"
        )
        summaries_page, next_token = page(
            summaries,
            request,
            key=lambda summary: (summary[sort_member], summary[name]),
            size=PAGE_SIZE,
            descending=request.get("SortOrder", "Descending") == "Descending",
        )
        return {f"{self.name}s": summaries_page, **next_token}


MODEL = ResourceKind("Model", "model", "model")
ENDPOINT_CONFIG = ResourceKind("EndpointConfig", "endpoint configuration", "endpoint-config")
ENDPOINT = ResourceKind("Endpoint", "endpoint", "endpoint")
COMPONENT = ResourceKind(
    "InferenceComponent",
    "inference component",
    "inference-component",
    ("EndpointName", "EndpointArn", "VariantName"),
)
