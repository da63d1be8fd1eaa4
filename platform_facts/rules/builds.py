"""The list of the archives that a stage builds for an endpoint: one item a line."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

BUNDLES = 16
"""Maximum number of assets with the small folders of an endpoint's models."""
MAX_BUNDLED_BYTES = 1 << 20
"""Maximum size of the files of a folder that shares an asset with others."""


@dataclass(frozen=True, kw_only=True)
class BuildItem:
    """An archive to build.

    source: key of a ZIP file, by which lists are sorted: in the bucket of the CDK's assets, with
        the model's folder among others; or `sources/DIGEST.zip` in the bucket of archives, with
        the files of the folder.
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

    @property
    def folder(self) -> str:
        """The name of the model's folder, of which there may be alternatives and rows."""
        return self.model.removesuffix(f"-{self.alternative}") if self.alternative else self.model

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


def source_assets(stage: str, folders: Mapping[str, tuple[str, int]]) -> dict[str, str]:
    """Return the key of the asset that has each folder of models of an endpoint.

    `folders` have the digest and the bytes of their files by name. Small folders share assets,
    because each asset takes the cdk CLI time in each deploy.
    """
    bundles = defaultdict[str, dict[str, str]](dict)
    for name, (digest, size) in sorted(folders.items()):
        number = int(hashlib.sha256(name.encode()).hexdigest(), 16) % BUNDLES
        bundle = f"bundle {number}" if size <= MAX_BUNDLED_BYTES else name
        bundles[bundle][name] = digest
    keys = dict[str, str]()
    for digests in bundles.values():
        digest = hashlib.sha256(asset_hash(digests).encode()).hexdigest()
        keys |= dict.fromkeys(digests, f"{asset_prefix(stage)}{digest}.zip")
    return keys


def asset_hash(digests: Mapping[str, str]) -> str:
    """Return the hash of an asset with folders, by name -> digest.

    The CDK names an asset of AssetHashType.CUSTOM by the SHA-256 of its hash (aws-cdk-lib,
    core/lib/asset-staging.ts, calculateHash).
    """
    return json.dumps(digests, sort_keys=True)
