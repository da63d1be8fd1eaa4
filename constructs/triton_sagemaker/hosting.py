"""What a variant serves: many models below a prefix, or one archive."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from triton_sagemaker.model_bucket import ModelBucket
from triton_sagemaker.problems import Problem


@dataclass(frozen=True, kw_only=True)
class MultiModelHosting:
    """Many models below one S3 prefix, each loaded when it is first invoked.

    `prefix` ends in `/`, so that a `TargetModel` is the rest of an archive's key. The endpoint's
    role may read all below the first part of the prefix: while an update moves to another prefix,
    the instances that it replaces still load from theirs. `cache_models` keeps models in memory
    between invocations, which is what one wants unless each is asked for once.
    """

    multi_model: ClassVar[bool] = True

    bucket: ModelBucket
    prefix: str
    cache_models: bool = True

    @property
    def readable(self) -> str:
        """The part of the bucket that belongs to the endpoint, as a key prefix."""
        return self.prefix.split("/")[0] + "/"

    @property
    def url(self) -> str:
        """The Model's ModelDataUrl."""
        return self.bucket.bucket.s3_url_for_object(self.prefix)

    def problems(self) -> Iterator[Problem]:
        """Yield what SageMaker would refuse or misread."""
        if not self.prefix.endswith("/") or self.prefix.startswith("/"):
            yield Problem(
                "prefix",
                f'"{self.prefix}" would make every TargetModel start with a slash, or name no '
                f'folder: write "{self.prefix.strip("/")}/"',
            )


@dataclass(frozen=True, kw_only=True)
class SingleModelHosting:
    """One archive, loaded when an instance starts.

    `key` is the archive's. `default_model` is the directory in it that is served: the ensemble of
    several models. An archive with one directory needs none (serve: SAGEMAKER_TRITON_DEFAULT_MODEL_
    NAME; with several directories and none named, the container ends at once).
    """

    multi_model: ClassVar[bool] = False

    bucket: ModelBucket
    key: str
    default_model: str | None = None

    @property
    def readable(self) -> str:
        """The part of the bucket that belongs to the endpoint, as a key prefix."""
        return self.key.split("/")[0] + "/"

    @property
    def url(self) -> str:
        """The Model's ModelDataUrl."""
        return self.bucket.bucket.s3_url_for_object(self.key)

    def problems(self) -> Iterator[Problem]:
        """Yield what SageMaker would refuse."""
        if not self.key.endswith(".tar.gz") or self.key.startswith("/"):
            yield Problem(
                "key", f'"{self.key}" is no archive: write a key that ends in .tar.gz, without a '
                "slash in front"
            )  # fmt: skip
