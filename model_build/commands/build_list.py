"""`build-list`: build archives of a list in the model bucket, as builds in CodeBuild do."""

import argparse
import hashlib
import json
import shutil
import traceback
import zipfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import boto3

from model_build.build import build
from model_build.commands.arguments import Commands, add_command, add_load
from model_build.commands.outcome import Outcome, error_message
from model_build.engines.provider import Engines
from model_build.errors import BuildError
from model_build.progress import Printer
from model_build.publishing import sources
from model_build.publishing.bucket import publish
from model_build.publishing.engines import bucket_engines
from model_build.source import ModelFolder, ModelSource
from model_build.target import BuildTarget
from model_build.triton_load import Load, load_drawn, loader
from plan.archives import ArchiveBucket
from platform_facts.rules.bucket_keys import source_key
from platform_facts.rules.builds import BuildItem

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "build-list",
        run,
        summary="build archives of a list in the model bucket",
        examples=[
            "build-list assets/prod/0a1b.jsonl --digest 2c3d... --lines 1-50,60 --bucket models"
        ],
    )
    parser.add_argument("list", metavar="BUCKET/KEY", help="the list, with one archive a line")
    parser.add_argument("--digest", required=True, help="the SHA-256 of the list")
    parser.add_argument(
        "--lines", required=True, type=parse_lines, help="the lines to build, such as 1-50,60"
    )
    parser.add_argument("--bucket", required=True, help="the model bucket")
    parser.add_argument(
        "--sources", required=True, metavar="BUCKET", help="the bucket of the models' folders"
    )
    add_load(parser)
    parser.add_argument(
        "--gpu-project",
        metavar="PROJECT",
        help="the CodeBuild project that compiles TensorRT engines; default: this machine's GPU",
    )
    parser.add_argument(
        "--gpu-images",
        type=_parse_images,
        default={},
        metavar="JSON",
        help="copies of NVIDIA's TensorRT images by release, which that project pulls instead",
    )
    parser.add_argument(
        "--deadline",
        type=float,
        metavar="SECONDS",
        help="Unix time at which to stop waiting for engines; their builds continue",
    )


def run(options: argparse.Namespace) -> Outcome:
    """Build the archives that the bucket does not have; continue after a model that fails."""
    s3 = boto3.client("s3")
    bucket = ArchiveBucket(s3, options.bucket)
    items = _read_list(s3, options)
    engines = bucket_engines(
        bucket,
        project=options.gpu_project,
        images=options.gpu_images,
        deadline=options.deadline,
    )
    errors = dict[str, str]()
    with loader(options.no_load) as load, _Folders(s3, options, items, load) as folders:
        for number, item in enumerate(items, 1):
            progress = Printer(item.model)
            progress(f"{number} of {len(items)}")
            try:
                _build_item(item, folders, engines, bucket, progress)
            except Exception as error:  # of a model: the others are built nevertheless
                message = error_message(error)
                if message is None:
                    traceback.print_exc()
                    message = f"{type(error).__name__}: {error}"
                errors[item.key] = f"{item.model}: {message}"
                progress(f"failed: {message}")
    built = [item.key for item in items if item.key not in errors]
    text = f"built {len(built)} of {len(items)} archives"
    return Outcome(text=text, data={"built": built}, errors=[*errors.values()])


def parse_lines(text: str) -> list[int]:
    """Return the numbers of lines that a text such as 1-50,60 has."""
    try:
        ranges = [part.partition("-") for part in text.split(",")]
        return [
            line for first, _, last in ranges for line in range(int(first), int(last or first) + 1)
        ]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: write lines such as 1-50,60") from None


def _read_list(s3: "S3Client", options: argparse.Namespace) -> list[BuildItem]:
    bucket, _, key = options.list.partition("/")
    content = s3.get_object(Bucket=bucket, Key=key)["Body"].read()
    if (digest := hashlib.sha256(content).hexdigest()) != options.digest:
        raise BuildError(f"s3://{options.list} has the SHA-256 {digest}, not {options.digest}")
    lines = content.decode().splitlines()
    if not set(options.lines) <= set(range(1, len(lines) + 1)):
        raise BuildError(f"s3://{options.list} has only {len(lines)} lines")
    return [BuildItem.parse(lines[number - 1]) for number in options.lines]


class _Folders(ExitStack):
    """The unpacked folders of the last source: items of one source follow each other in a list.

    `load` loads an archive of these folders; it does not load all rows of a table.
    """

    def __init__(
        self,
        s3: "S3Client",
        options: argparse.Namespace,
        items: Sequence[BuildItem],
        load_archive: Load,
    ) -> None:
        super().__init__()
        self._s3, self._options, self._items = s3, options, items
        self._load_archive = self.load = load_archive
        self._source, self._folders = "", dict[str, ModelFolder]()

    def model(self, item: BuildItem) -> ModelSource:
        """Return the source of an item. Raise `BuildError` if it has another digest."""
        if item.source != self._source:
            self.close()
            items = [other for other in self._items if other.source == item.source]
            unpacked = self._unpack(item, {other.folder for other in items})
            self._folders = {other.folder: ModelFolder(unpacked / other.folder) for other in items}
            self._source = item.source
            self.load = load_drawn(self._load_archive, map(self._model, items))
        model = self._model(item)
        if model.digest != item.digest:
            raise BuildError(
                f"its source has digest {model.digest}, not {item.digest}: it differs from the one "
                "that the deploy planned, or was planned with another BUILD_FORMAT. Deploy again "
                "from a clean checkout"
            )
        return model

    def _model(self, item: BuildItem) -> ModelSource:
        return self._folders[item.folder].model(item.alternative or None)

    def _unpack(self, item: BuildItem, folders: set[str]) -> Path:
        """Return the path of folders of an item's source, which exist until `close`."""
        scratch = Path(self.enter_context(TemporaryDirectory(prefix="source-")))
        is_stored = item.source == source_key(item.digest)
        bucket = self._options.bucket if is_stored else self._options.sources
        archive, unpacked = scratch / "source.zip", scratch / "source"
        with archive.open("wb") as file:
            shutil.copyfileobj(self._s3.get_object(Bucket=bucket, Key=item.source)["Body"], file)
        with zipfile.ZipFile(archive) as content:
            if is_stored:
                content.extractall(unpacked / item.folder)
            else:
                names = [name for name in content.namelist() if name.partition("/")[0] in folders]
                content.extractall(unpacked, names)
        archive.unlink()
        return unpacked


def _build_item(
    item: BuildItem,
    folders: _Folders,
    engines: Engines,
    bucket: ArchiveBucket,
    progress: Printer,
) -> None:
    if bucket.is_complete(item.key):
        progress(f"s3://{bucket.name}/{item.key} already exists: nothing to build")
        return
    target = BuildTarget.parse(item.target)
    model = folders.model(item)
    with build(model, name=item.model, target=target, progress=progress, engines=engines) as result:
        publish(
            bucket,
            result,
            key=item.key,
            load=folders.load,
            progress=progress,
            source=sources.store_source(bucket, result),
        )


def _parse_images(text: str) -> dict[str, str]:
    """Return images by release. CodeBuild passes an empty string for no images."""
    images: dict[str, str] = json.loads(text or "{}")
    return images
