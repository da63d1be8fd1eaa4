"""The unpacked archives of a multi-model container on an instance's volume."""

import hashlib
import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from local_sagemaker.hosting import archives, packages
from local_sagemaker.hosting.archives import S3Prefix, UnpackedArchive
from local_sagemaker.hosting.connections import in_thread

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


class ModelStore:
    """Unpacked archives by target model, below `folder`, with at most `limit` bytes in total.

    An instance belongs to one event loop; `sizes` is thread-safe.
    """

    def __init__(
        self, s3: "S3Client", *, prefix: S3Prefix, folder: Path, backends: Path, limit: int
    ) -> None:
        self._s3, self._prefix = s3, prefix
        self._folder, self._backends, self.limit = folder, backends, limit
        self._archives: dict[str, UnpackedArchive] = {}  # the least recently used first

    async def fetch(self, target_model: str) -> bool:
        """Download an archive, unless the bucket's current version is on the volume.

        Return whether it was downloaded. Raise `ApiError` as `archives.fetch` does.
        """
        previous = self._archives.pop(target_model, None)
        folder = self._folder / self.path(target_model)
        fetch = partial(
            archives.fetch,
            self._s3,
            bucket=self._prefix.bucket,
            key=f"{self._prefix.key}{target_model.lstrip('/')}",
            to=folder,
            limit=self.limit - sum(self.sizes().values()),
            previous=previous,
        )
        try:
            archive = await in_thread(fetch)
            await in_thread(partial(packages.install_for_stand_ins, folder, self._backends))
        except Exception:
            await self.delete(target_model)  # also deletes an older version
            raise
        self._archives[target_model] = archive  # the most recently used
        return archive is not previous

    def path(self, target_model: str) -> Path:
        """Return a model's path relative to the folder (in a container: to /opt/ml/models)."""
        return Path(model_hash(target_model)) / "model"

    def sizes(self) -> dict[str, int]:
        """Return the size of each model on the volume, the least recently used first."""
        return {target: archive.size for target, archive in self._archives.copy().items()}

    async def delete(self, target_model: str) -> None:
        """Delete a model's files."""
        self._archives.pop(target_model, None)
        folder = self._folder / model_hash(target_model)
        await in_thread(partial(shutil.rmtree, folder, ignore_errors=True))


def model_hash(target_model: str) -> str:
    """Return SageMaker's name for a model in the container: a hash, which is safe in a path."""
    return hashlib.sha256(target_model.encode()).hexdigest()[:32]
