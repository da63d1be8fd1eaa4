"""The releases of a stage in its model bucket: what a rollback deploys.

`releases/DIGEST.json` is a `release.json`, and `releases/files/SHA256` the files of the stage. The
bucket's policy allows to write each key once. `cdk gc` may delete assets from the bootstrap bucket;
a rollback uploads them again.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from delivery.errors import NotDelivered
from plan.archives import ArchiveBucket
from platform_facts.rules.bucket_keys import RELEASES
from release.artefact import FILE, ReleaseArtefact

FETCHED = Path("live.out")
"""The folder into which `tritonsm release fetch` writes by default."""
FILES = f"{RELEASES}files/"
CONCURRENCY = 16


def save_release(bucket: ArchiveBucket, release: ReleaseArtefact, stage: str) -> None:
    """Write a stage's part of a release to the bucket; `release.json` last, when it is complete.

    Raise `ClientError`, and `InvalidRelease` if a file does not have its digest.
    """
    if bucket.checksum(_key(release.digest)) is not None:
        return
    names = {digest: name for name, digest in release.part(stage).items()}
    with ThreadPoolExecutor(CONCURRENCY) as pool:
        contents = pool.map(release.read, names.values())
        list(pool.map(bucket.write_once, [FILES + digest for digest in names], contents))
    bucket.write_once(_key(release.digest), release.to_json().encode())


@contextmanager
def stored_release(bucket: ArchiveBucket, digest: str, stage: str) -> Iterator[ReleaseArtefact]:
    """Provide a release from the store, with the files of a stage. Raise `NotDelivered`."""
    with TemporaryDirectory(prefix="store-") as folder:
        yield fetch_release(bucket, digest, stage, Path(folder))


def fetch_release(bucket: ArchiveBucket, digest: str, stage: str, folder: Path) -> ReleaseArtefact:
    """Write a release from the store to a folder, with the files of a stage only.

    Raise `NotDelivered` if the store does not have it, `InvalidRelease` if it has another digest.
    """
    _fetch(bucket, _key(digest), folder / FILE)
    release = ReleaseArtefact.load(folder, expected=digest)
    files = release.part(stage)
    with ThreadPoolExecutor(CONCURRENCY) as pool:
        keys = [FILES + digest for digest in files.values()]
        list(pool.map(partial(_fetch, bucket), keys, [folder / name for name in files]))
    return release


def redelivery(stage: str) -> str:
    """Return the command that delivers the live release of a stage again, by the stage's record.

    `make deliver` would deploy what `release.out` has.
    """
    return f"tritonsm release fetch {stage} && tritonsm deliver {stage} --release {FETCHED}"


def has_releases(bucket: ArchiveBucket) -> bool:
    """Return whether the store has a release."""
    page = bucket.s3.list_objects_v2(Bucket=bucket.name, Prefix=RELEASES, MaxKeys=1)
    return bool(page.get("Contents"))


def _key(digest: str) -> str:
    return f"{RELEASES}{digest}.json"


def _fetch(bucket: ArchiveBucket, key: str, path: Path) -> None:
    content = bucket.read(key)
    if content is None:
        raise NotDelivered(
            f"s3://{bucket.name}/{key} does not exist: this release is not in the store of the "
            "stage. Deliver it from the artefact of its workflow, or check its commit out and run: "
            "make release deliver ALLOW_OLDER=1"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
