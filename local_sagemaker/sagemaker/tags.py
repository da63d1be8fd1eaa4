"""The tags of models, endpoint configurations and endpoints, by ARN."""

import threading
from typing import Any

from local_sagemaker.errors import invalid

Record = dict[str, Any]

MAX_TAGS = 50
"""Maximum number of tags of a resource: AWS's general limit."""


class Tags:
    """The tags of all resources. All methods are thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[str, dict[str, str]] = {}

    def born(self, arn: str, tags: list[Record]) -> None:
        """Store the tags of a new resource."""
        self._values[arn] = _unique(tags)

    def gone(self, arn: str) -> None:
        """Delete the tags of a deleted resource."""
        del self._values[arn]

    def add_tags(self, request: Record) -> Record:
        """AddTags: add or overwrite tags."""
        with self._lock:
            changed = {**self._of(request), **_unique(request["Tags"])}
            if len(changed) > MAX_TAGS:
                raise invalid(f"A resource can have at most {MAX_TAGS} tags.")
            self._values[request["ResourceArn"]] = changed
        return self.list_tags({"ResourceArn": request["ResourceArn"]})

    def list_tags(self, request: Record) -> Record:
        """ListTags: all tags in one page."""
        if "NextToken" in request:
            raise invalid("Invalid NextToken: it is for another list.")
        tags = self._of(request).items()
        return {"Tags": [{"Key": key, "Value": value} for key, value in tags]}

    def delete_tags(self, request: Record) -> Record:
        """DeleteTags; ignores keys that do not exist."""
        with self._lock:
            tags, keys = self._of(request), request["TagKeys"]
            kept = {key: value for key, value in tags.items() if key not in keys}
            self._values[request["ResourceArn"]] = kept
        return {}

    def _of(self, request: Record) -> dict[str, str]:
        arn = request["ResourceArn"]
        if arn not in self._values:
            raise invalid(
                f'Could not find "{arn}": the local SageMaker supports tags of models, endpoint '
                "configurations and endpoints."
            )
        return self._values[arn]


def _unique(tags: list[Record]) -> dict[str, str]:
    values = {tag["Key"]: tag["Value"] for tag in tags}
    if len(values) < len(tags):
        # Source: "Tag keys must be unique per resource", the API reference of AddTags.
        raise invalid("Tag keys must be unique per resource.")
    return values
