"""The list of the archives that a stage builds for an endpoint: one item a line."""

import hashlib
import json
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, kw_only=True)
class BuildItem:
    """An archive to build.

    source: key of the ZIP file with the model's folder, in the bucket of the CDK's assets, or
        `sources/DIGEST.zip` in the bucket of archives. Lists are sorted by it.
    alternative: an alternative of the recipe, empty for the model itself.
    digest: the SHA-256 of the model's source.
    key: ENDPOINT/TARGET/MODEL-DIGEST.tar.gz, with the first 12 digits of the digest.
    engines: whether TensorRT compiles a file of the archive, in a build of its own.
    """

    source: str
    model: str
    alternative: str = ""
    digest: str
    target: str
    key: str
    engines: bool = False

    @classmethod
    def parse(cls, line: str) -> Self:
        """Return the item of a line."""
        return cls(**json.loads(line))

    def as_json(self) -> str:
        """Return the line of the item."""
        return json.dumps(vars(self), separators=(",", ":"))


def asset_prefix(stage: str) -> str:
    """Return the key prefix of a stage's assets in the CDK's asset bucket."""
    return f"{stage}/"


def source_asset_key(stage: str, digest: str) -> str:
    """Return the key of the asset of a model's folder, whose files have this digest.

    The CDK names an asset of AssetHashType.CUSTOM by the SHA-256 of its hash (aws-cdk-lib,
    core/lib/asset-staging.ts, calculateHash).
    """
    return f"{asset_prefix(stage)}{hashlib.sha256(digest.encode()).hexdigest()}.zip"
