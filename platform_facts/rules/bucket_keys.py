"""Keys in the bucket of a stage's archives."""

ENGINE_JOBS = "engine-jobs/"
"""Prefix of engine jobs: each job and its results are below its hash."""
ENGINES, SOURCES = "engines/", "sources/"
"""Prefixes of accepted engines, and of the sources of archives."""
LISTS = "lists/"
"""Prefix of the lists of archives that deliveries build for the moves of endpoints."""
PUBLISHED = "published/"
"""Prefix of published archives, below the prefix that an endpoint loads from; only builds write
outside of it.

A TargetModel is a path below ModelDataUrl (SageMaker developer guide, "Invoke a Multi-Model
Endpoint").
"""
HISTORY = "history/"
"""Prefix of the records of deliveries and published models."""
RELEASES = "releases/"
"""Prefix of the releases that deliveries have deployed."""


def manifest_key(archive: str) -> str:
    """Return the key of an archive's manifest."""
    return archive.removesuffix(".tar.gz") + ".json"


def source_key(digest: str) -> str:
    """Return the key of the source for archives with this digest."""
    return f"{SOURCES}{digest}.zip"
