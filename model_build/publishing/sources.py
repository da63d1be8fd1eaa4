"""What archives were made from, kept beside them: a bucket's archives can be built again from it.

    sources/<digest>.zip    the files of a model's folder that its digest counts

Assets of the CDK may be collected as garbage (`cdk gc`). Only builds write here: a published
archive has no source, since nobody is to build what a publisher wrote with a builder's role.
"""

import shutil
import zipfile
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from model_build import digest
from model_build.build import Build
from model_build.manifest import Source
from model_build.publishing.manifests import source_key
from model_build.publishing.upload import KeyTaken, upload
from model_build.source import ModelSource
from model_build.write_once import is_there

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def keep(s3: "S3Client", built: Build, *, bucket: str) -> Source:
    """Write a build's source where it is not kept yet."""
    key = source_key(built.digest)
    if not is_there(s3, bucket=bucket, key=key):
        with TemporaryDirectory(prefix="source-") as scratch, suppress(KeyTaken):
            packed = Path(scratch, "source.zip")
            _pack(built.source, packed)
            # Builds of one digest for several targets write the same.
            upload(
                s3,
                packed,
                bucket=bucket,
                key=key,
                content_type="application/zip",
                has_other_writers=True,
            )
    return Source(model=built.name, alternative=built.source.alternative)


def _pack(model: ModelSource, to: Path) -> None:
    """Write the files that count, without times and modes: the digest knows none."""
    with zipfile.ZipFile(to, "w", compression=zipfile.ZIP_DEFLATED) as packed:
        for path in digest.files(model.folder):
            entry = zipfile.ZipInfo(path.relative_to(model.folder).as_posix())
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.file_size = path.stat().st_size  # or what is above 2 GiB is refused
            with path.open("rb") as file, packed.open(entry, "w") as member:
                shutil.copyfileobj(file, member)
