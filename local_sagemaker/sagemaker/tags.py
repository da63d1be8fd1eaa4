"""The tags of models, endpoint configurations and endpoints, by ARN."""

from typing import Any

from local_sagemaker.errors import ApiError

Record = dict[str, Any]

MOST = 50
"""Tags a resource: AWS's general limit, which botocore's TagList has for a request."""


class Tags:
    """Keeps tags; who calls holds the lock, and says which resources there are."""

    def __init__(self) -> None:
        self._values: dict[str, dict[str, str]] = {}

    def born(self, arn: str, tags: list[Record]) -> None:
        """Keep the tags of a resource that is created."""
        self._values[arn] = _unique(tags)

    def gone(self, arn: str) -> None:
        """Forget a resource."""
        del self._values[arn]

    def add(self, request: Record) -> Record:
        """AddTags: adds or overwrites."""
        changed = {**self._of(request), **_unique(request["Tags"])}
        if len(changed) > MOST:
            raise ApiError("ValidationException", f"A resource has at most {MOST} tags.")
        self._values[request["ResourceArn"]] = changed
        return {"Tags": _listed(changed)}

    def list(self, request: Record) -> Record:
        """ListTags: in one page, which has room for all that a resource may have."""
        if "NextToken" in request:
            raise ApiError("ValidationException", "Invalid NextToken: it is of another list.")
        return {"Tags": _listed(self._of(request))}

    def delete(self, request: Record) -> Record:
        """DeleteTags; a key that is not there is no error."""
        kept = self._of(request)
        for key in request["TagKeys"]:
            kept.pop(key, None)
        return {}

    def _of(self, request: Record) -> dict[str, str]:
        arn = request["ResourceArn"]
        if arn not in self._values:
            raise ApiError(
                "ValidationException",
                f'Could not find "{arn}": the local SageMaker has tags of models, endpoint '
                "configurations and endpoints.",
            )
        return self._values[arn]


def _unique(tags: list[Record]) -> dict[str, str]:
    values = {it["Key"]: it["Value"] for it in tags}
    if len(values) < len(tags):
        # Source: "Tag keys must be unique per resource", the API reference of AddTags.
        raise ApiError("ValidationException", "Tag keys must be unique per resource.")
    return values


def _listed(values: dict[str, str]) -> list[Record]:
    return [{"Key": key, "Value": value} for key, value in values.items()]
