"""Sources of archives in the model bucket, from which archives can be built again.

    sources/<digest>.zip    the files of a model's folder that its digest covers; for a row of a
                            table, the table has only that row

The CDK's assets are no substitute, since `cdk gc` deletes them. Only builds store sources: a
builder's role must not build sources that a publisher wrote.
"""

import shutil
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

from model_build.build import Build
from model_build.manifest import StoredSource
from model_build.publishing.upload import upload
from model_build.source import ModelSource
from plan.archives import ArchiveBucket
from platform_facts.rules.bucket_keys import source_key


def store_source(bucket: ArchiveBucket, build: Build) -> StoredSource:
    """Store a build's source unless the bucket has it."""
    key = source_key(build.digest)
    if bucket.checksum(key) is None:
        with TemporaryDirectory(prefix="source-") as scratch:
            zip_path = Path(scratch, "source.zip")
            _pack(build.source, zip_path)
            # Builds for several targets may upload the same source at the same time.
            upload(
                bucket,
                zip_path,
                key=key,
                content_type="application/zip",
                has_other_writers=True,
            )
    return StoredSource(model=build.name, alternative=build.source.alternative)


def _pack(model: ModelSource, to: Path) -> None:
    """Write the files that the digest covers, without times and modes; of a table, the row."""
    with zipfile.ZipFile(to, "w", compression=zipfile.ZIP_DEFLATED) as zip_path:
        for path in model.covered_files:
            entry = _entry(path.relative_to(model.folder).as_posix())
            entry.file_size = path.stat().st_size  # zipfile needs it for files above 2 GiB
            with path.open("rb") as file, zip_path.open(entry, "w") as member:
                shutil.copyfileobj(file, member)
        if (table := model.shared.table) and model.alternative:
            zip_path.writestr(_entry(table.path.name), table.row_text(model.alternative))


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry
