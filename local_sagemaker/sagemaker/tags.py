"""The tags of models, endpoint configurations and endpoints, by ARN."""

import threading
from typing import Any

from local_sagemaker.errors import invalid

Record = dict[str, Any]

MOST = 50
"""Tags a resource: AWS's general limit, which botocore's TagList has for a request."""


class Tags:
    """The tags of all resources. Every method is safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[str, dict[str, str]] = {}

    def born(self, arn: str, tags: list[Record]) -> None:
        """Keep the tags of a resource that is created."""
        self._values[arn] = _unique(tags)

    def gone(self, arn: str) -> None:
        """Forget a resource."""
        del self._values[arn]

    def add_tags(self, request: Record) -> Record:
        """AddTags: adds or overwrites."""
        with self._lock:
            changed = {**self._of(request), **_unique(request["Tags"])}
            if len(changed) > MOST:
                raise invalid(f"A resource has at most {MOST} tags.")
            self._values[request["ResourceArn"]] = changed
        return self.list_tags({"ResourceArn": request["ResourceArn"]})

    def list_tags(self, request: Record) -> Record:
        """ListTags, in one page, which has room for the most tags of a resource."""
        if "NextToken" in request:
            raise invalid("Invalid NextToken: it is of another list.")
        tags = self._of(request).items()
        return {"Tags": [{"Key": key, "Value": value} for key, value in tags]}

    def delete_tags(self, request: Record) -> Record:
        """DeleteTags; a key that is not there is no error."""
        with self._lock:
            tags, keys = self._of(request), request["TagKeys"]
            kept = {key: value for key, value in tags.items() if key not in keys}
            self._values[request["ResourceArn"]] = kept
        return {}

    def _of(self, request: Record) -> dict[str, str]:
        arn = request["ResourceArn"]
        if arn not in self._values:
            raise invalid(
                f'Could not find "{arn}": the local SageMaker has tags of models, endpoint '
                "configurations and endpoints."
            )
        return self._values[arn]


def _unique(tags: list[Record]) -> dict[str, str]:
    values = {tag["Key"]: tag["Value"] for tag in tags}
    if len(values) < len(tags):
        # Source: "Tag keys must be unique per resource", the API reference of AddTags.
        raise invalid("Tag keys must be unique per resource.")
    return values
