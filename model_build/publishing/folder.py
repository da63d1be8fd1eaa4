"""Archives in local folders."""

from pathlib import Path

from model_build import archive
from model_build.build import Build
from model_build.manifest import Manifest
from model_build.progress import Progress
from model_build.triton_load import Load
from platform_facts.rules.bucket_keys import manifest_key


def save_archive(build: Build, path: Path, *, load: Load, progress: Progress) -> Manifest:
    """Write the archive `path` and its manifest, after `load` has accepted the archive.

    An interrupted run leaves no partial archive.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial_file = path.with_name(f".{path.name}.partial")
    progress(f"packing {path}")
    try:
        packed_archive = archive.pack(build.folder, partial_file)
        record = load(build, partial_file, progress)
        partial_file.replace(path)
    finally:
        partial_file.unlink(missing_ok=True)
    manifest = build.manifest(packed_archive, load=record)
    path.with_name(manifest_key(path.name)).write_bytes(manifest.json_bytes())
    return manifest
