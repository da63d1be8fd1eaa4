"""An instance's volume: the archives of a multi-model container that are unpacked there."""

import hashlib
import shutil
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from local_sagemaker.hosting import archives, stand_in_packages
from local_sagemaker.hosting.archives import S3Prefix

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


class ModelStore:
    """Unpacked archives below `folder`, of `limit` bytes together, by target model."""

    def __init__(
        self, s3: "S3Client", *, prefix: S3Prefix, folder: Path, backends: Path, limit: int
    ) -> None:
        self._s3, self._prefix = s3, prefix
        self._folder, self._backends, self.limit = folder, backends, limit
        self._lock = threading.Lock()
        self._archives: dict[str, archives.Archive] = {}  # the least recently used first

    def fetch(self, target_model: str) -> bool:
        """Bring an archive to disk unless it is there already, and still the bucket's.

        Returns whether it had to be downloaded. Raises `ApiError` as `archives.fetch` does.
        """
        with self._lock:
            known = self._archives.pop(target_model, None)
            others = sum(archive.size for archive in self._archives.values())
        folder = self._folder / self.path(target_model)
        try:
            archive = archives.fetch(
                self._s3,
                bucket=self._prefix.bucket,
                key=f"{self._prefix.key}{target_model.lstrip('/')}",
                to=folder,
                limit=self.limit - others,
                known=known,
            )
        except BaseException:
            self.forget(target_model)  # also one that was known, and is not the bucket's any more
            raise
        with self._lock:
            self._archives[target_model] = archive  # the most recently used
        stand_in_packages.provide(folder, self._backends)
        return archive is not known

    def path(self, target_model: str) -> Path:
        """Return where a model lies below the folder, as in the container below /opt/ml/models."""
        return Path(name(target_model)) / "model"

    def size(self, target_model: str) -> int:
        """Return the bytes of a model's files."""
        with self._lock:
            return self._archives[target_model].size

    def sizes(self) -> dict[str, int]:
        """Return the bytes of each model that is on disk."""
        with self._lock:
            return {target: archive.size for target, archive in self._archives.items()}

    def used(self) -> int:
        """Return the bytes of all that is on disk."""
        return sum(self.sizes().values())

    def targets(self) -> list[str]:
        """Return what is on disk, the least recently used first."""
        with self._lock:
            return list(self._archives)

    def forget(self, target_model: str) -> None:
        """Delete a model's files."""
        with self._lock:
            self._archives.pop(target_model, None)
        shutil.rmtree(self._folder / name(target_model), ignore_errors=True)


def name(target_model: str) -> str:
    """SageMaker's name for a model inside the container: characters that are safe in a path."""
    return hashlib.sha256(target_model.encode()).hexdigest()[:32]
