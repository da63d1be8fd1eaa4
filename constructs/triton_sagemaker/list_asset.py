"""A list that a Lambda function reads, as an asset: a template has only its location and digest."""

import hashlib
import tempfile
from collections.abc import Iterable
from pathlib import Path

from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

from platform_facts.rules.catalog import list_text

LISTS_REASON = "Lists are assets, whose names change with their content."
"""Reason for the wildcards of statements about lists."""


class ListAsset(s3_assets.Asset):
    """An asset with one JSON text a line; `properties` are those of a custom resource."""

    def __init__(self, scope: Construct, construct_id: str, lines: Iterable[str]) -> None:
        content = list_text(lines).encode()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "list.jsonl")
            path.write_bytes(content)
            super().__init__(scope, construct_id, path=str(path))
        self.properties = {
            "List": f"{self.s3_bucket_name}/{self.s3_object_key}",
            "Digest": hashlib.sha256(content).hexdigest(),
        }
