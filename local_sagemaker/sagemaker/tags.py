"""SageMaker's tag operations."""

import threading
from typing import Any

from local_sagemaker.errors import invalid

Record = dict[str, Any]

MAX_TAGS = 50
"""Maximum number of tags of a resource: AWS's general limit."""


class Tags:
    """The tags of models, endpoint configurations and endpoints. All methods are thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.by_arn: dict[str, dict[str, str]] = {}

    def create(self, arn: str, tags: list[Record]) -> None:
        """Store the tags of a new resource."""
        self.by_arn[arn] = {tag["Key"]: tag["Value"] for tag in tags}

    def delete(self, arn: str) -> None:
        """Delete the tags of a deleted resource."""
        del self.by_arn[arn]

    def add_tags(self, request: Record) -> Record:
        """AddTags: add or overwrite tags."""
        with self._lock:
            tags = dict(self._tags(request))
            tags.update((tag["Key"], tag["Value"]) for tag in request["Tags"])
            if len(tags) > MAX_TAGS:
                raise invalid(f"A resource can have at most {MAX_TAGS} tags.")
            self.by_arn[request["ResourceArn"]] = tags
        return self.list_tags({"ResourceArn": request["ResourceArn"]})

    def list_tags(self, request: Record) -> Record:
        """ListTags: all tags in one page."""
        if "NextToken" in request:
            raise invalid("Invalid NextToken: it is for another list.")
        tags = self._tags(request).items()
        return {"Tags": [{"Key": key, "Value": value} for key, value in tags]}

    def delete_tags(self, request: Record) -> Record:
        """DeleteTags; ignores keys that do not exist."""
        with self._lock:
            tags, keys = self._tags(request), request["TagKeys"]
            self.by_arn[request["ResourceArn"]] = {
                key: value for key, value in tags.items() if key not in keys
            }
        return {}

    def _tags(self, request: Record) -> dict[str, str]:
        arn = request["ResourceArn"]
        if arn not in self.by_arn:
            raise invalid(
                f'Could not find "{arn}": the local SageMaker supports tags of models, endpoint '
                "configurations and endpoints."
            )
        return self.by_arn[arn]
