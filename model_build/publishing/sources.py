"""What archives were made from, kept beside them: a bucket's archives can be built again from it.

    sources/<digest>.zip    the files of a model's folder that its digest counts

The folder of a model published by hand is on somebody's machine alone, and assets of the CDK may be
collected as garbage (`cdk gc`).
"""

import shutil
import zipfile
from collections.abc import Collection
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any

from model_build import digest
from model_build.build import Build
from model_build.manifest import Source
from model_build.publishing.manifests import manifests_besides, read
from model_build.publishing.upload import KeyTaken, new_object
from model_build.source import ModelSource
from model_build.write_once import is_there

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

PREFIX = "sources/"


def keep(s3: "S3Client", built: Build, *, bucket: str) -> Source:
    """Write a build's source where it is not kept yet."""
    source = _source(built)
    if not is_there(s3, bucket=bucket, key=source.key):
        with TemporaryFile() as packed:
            _pack(built.source, packed)
            packed.seek(0)
            try:
                with new_object(
                    s3, bucket=bucket, key=source.key, content_type="application/zip"
                ) as upload:
                    shutil.copyfileobj(packed, upload)
            except KeyTaken:
                pass  # by another build of the same digest
    return source


def delete_unused(
    s3: "S3Client", bucket: str, sources: set[str], *, retired: Collection[str]
) -> list[str]:
    """Delete those of `sources` that no archive's manifest names; return the deleted keys.

    `retired` are manifests that are about to be deleted.
    """
    if not sources:
        return []
    used = {key for it in manifests_besides(s3, bucket, retired) for key in _keys(it)}
    unused = sorted(sources - used)
    for key in unused:
        s3.delete_object(Bucket=bucket, Key=key)
    return unused


def sources_of(s3: "S3Client", bucket: str, manifest_key: str) -> set[str]:
    """Return the source that a manifest names, of earlier builders none."""
    return _keys(read(s3, bucket, manifest_key))


def _keys(manifest: dict[str, Any]) -> set[str]:
    source = manifest.get("source")
    return {source["key"]} if source else set()


def _source(built: Build) -> Source:
    number = built.copy_number
    return Source(
        key=f"{PREFIX}{built.digest}.zip",
        model=built.name if number is None else built.name.removesuffix(f"-{number}"),
        alternative=built.source.alternative,
        copy_number=number,
    )


def _pack(model: ModelSource, to: IO[bytes]) -> None:
    """Write the files that count, without times and modes: the digest knows none."""
    with zipfile.ZipFile(to, "w", compression=zipfile.ZIP_DEFLATED) as packed:
        for path in digest.files(model.folder):
            entry = zipfile.ZipInfo(path.relative_to(model.folder).as_posix())
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.file_size = path.stat().st_size  # or what is above 2 GiB is refused
            with path.open("rb") as file, packed.open(entry, "w") as member:
                shutil.copyfileobj(file, member)
