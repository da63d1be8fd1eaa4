"""Sources of archives in the model bucket, from which archives can be built again.

    sources/<digest>.zip    the files of a model's folder that its digest covers

The CDK's assets are no substitute, since `cdk gc` deletes them. Only builds store sources: a
builder's role must not build sources that a publisher wrote.
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
from model_build.publishing.bucket import stored_checksum
from model_build.publishing.manifests import source_key
from model_build.publishing.upload import KeyTaken, upload
from model_build.source import ModelSource

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def keep(s3: "S3Client", built: Build, *, bucket: str) -> Source:
    """Store a build's source unless the bucket has it."""
    key = source_key(built.digest)
    if stored_checksum(s3, bucket=bucket, key=key) is None:
        with TemporaryDirectory(prefix="source-") as scratch, suppress(KeyTaken):
            packed = Path(scratch, "source.zip")
            _pack(built.source, packed)
            # Builds for several targets may upload the same source at the same time.
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
    """Write the files that the digest covers, without times and modes."""
    with zipfile.ZipFile(to, "w", compression=zipfile.ZIP_DEFLATED) as packed:
        for path in digest.files(model.folder):
            entry = zipfile.ZipInfo(path.relative_to(model.folder).as_posix())
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.file_size = path.stat().st_size  # zipfile needs it for files above 2 GiB
            with path.open("rb") as file, packed.open(entry, "w") as member:
                shutil.copyfileobj(file, member)
