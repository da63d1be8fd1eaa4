"""Fixtures that run the commands against a fake AWS with a multi-model endpoint."""

import contextlib
import hashlib
import io
import json
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from model_build.__main__ import main
from model_build.digest import compute_digest, model_files
from model_build.source import ModelFolder
from plan import stage_record
from plan.catalog import Catalog, Entry, Revision
from plan.stage_record import Event
from platform_facts.rules.bucket_keys import HISTORY
from platform_facts.rules.builds import BuildItem
from platform_facts.rules.catalog import list_text, table_name
from tests.catalog_items import create_table, memory_dynamodb, write_entry
from tests.unit.model_build.fakes import FakeCloudFormation, FakeS3, FakeSageMaker, FakeSts

PREFIX = "text/cpu-24.09/"
ENDPOINT = ("dev", "text")
NO_LOAD = ("--no-load", "the test needs only an archive")
VERSIONS = ("1" * 12, "2" * 12, "3" * 12)


@dataclass
class FakeAws:
    """Fake AWS services; the stage dev has the multi-model endpoint `text`."""

    s3: FakeS3 = field(default_factory=FakeS3)
    sagemaker: FakeSageMaker = field(default_factory=FakeSageMaker)
    cloudformation: FakeCloudFormation = field(default_factory=FakeCloudFormation)
    sts: FakeSts = field(default_factory=FakeSts)
    dynamodb: Any = field(default_factory=memory_dynamodb)

    def __post_init__(self) -> None:
        create_table(self.dynamodb, "dev")

    def client(self, service: str) -> Any:
        return getattr(self, service)

    def catalog(self, model: str) -> Any:
        """Return the catalog entry of a model."""
        return self.text.current()[model].entry

    @property
    def text(self) -> Catalog:
        """The catalog of the endpoint."""
        return Catalog(self.dynamodb, "dev", "text")

    def put(self, entry: Entry) -> None:
        """Make an entry current, as a deploy does."""
        write_entry(self.text, {"signature": {}, **entry})

    @property
    def writes(self) -> list[Revision]:
        """Revisions that commands have written."""
        items = self.dynamodb.scan(TableName=table_name("dev"))["Items"]
        revisions = [Revision.of_item(item) for item in items if "latest" not in item]
        caller = self.sts.get_caller_identity()["Arn"]
        return [revision for revision in revisions if revision.caller == caller]

    @property
    def archives(self) -> set[str]:
        """Keys of the bucket, without the stage record."""
        return {key for key in self.s3.objects if not key.startswith(HISTORY)}

    @property
    def events(self) -> list[Event]:
        """Events of the stage record, newest first."""
        return list(stage_record.read(self.s3.client, "bucket"))

    def deploy(self, model: str, version: str) -> None:
        """Write archive, manifest and catalog entry of a model version, as a deploy does."""
        for suffix in (".tar.gz", ".json"):
            self.s3.objects[f"{PREFIX}{model}-{version}{suffix}"] = {"Body": b'{"archive": {}}'}
        archive = f"{model}-{version}.tar.gz"
        names = {"model": model, "version": version, "endpoint": "dev-text"}
        self.put({**names, "target_model": archive})


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def client(service: str) -> None:
        pytest.fail(f"boto3.client({service!r}) was called")

    monkeypatch.setattr("boto3.client", client)


@pytest.fixture
def aws(_no_network: None, monkeypatch: pytest.MonkeyPatch) -> FakeAws:
    fake = FakeAws()
    fake.sagemaker.host("dev-text", f"s3://bucket/{PREFIX}")
    monkeypatch.setattr("boto3.client", fake.client)
    return fake


@pytest.fixture
def deployed_minilm(aws: FakeAws) -> FakeAws:
    """The endpoint with three versions of the model minilm; the last one is current."""
    for version in VERSIONS:
        aws.deploy("minilm", version)
    return aws


def store_list(aws: FakeAws, items: Iterable[BuildItem]) -> list[str]:
    """Write a list of archives into the asset bucket; return the arguments of its build."""
    content = list_text(item.as_json() for item in items).encode()
    aws.s3.objects["prod/list.jsonl"] = {"Body": content}
    digest = hashlib.sha256(content).hexdigest()
    lines = f"1-{len(content.splitlines())}"
    buckets = ("--bucket", "bucket", "--sources", "bucket")
    return ["build-list", "bucket/prod/list.jsonl", "--digest", digest, "--lines", lines, *buckets]


def make_item(
    aws: FakeAws, folder: Path, *, prefix: str = PREFIX, alternative: str = ""
) -> BuildItem:
    """Store the source of a model, and return its archive below a prefix."""
    (item,) = make_items(aws, folder, prefix=prefix, alternative=alternative)
    return item


def make_items(
    aws: FakeAws, *folders: Path, prefix: str = PREFIX, alternative: str = ""
) -> list[BuildItem]:
    """Store the sources of models in one asset, and return their archives below a prefix."""
    digest = hashlib.sha256("".join(map(compute_digest, folders)).encode()).hexdigest()
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for folder in folders:
            for path in model_files(folder):
                archive.write(path, path.relative_to(folder.parent))
    aws.s3.objects[f"prod/{digest}.zip"] = {"Body": content.getvalue()}
    sources = [ModelFolder(folder).model(alternative or None) for folder in folders]
    return [
        BuildItem(
            source=f"prod/{digest}.zip",
            model=source.name,
            alternative=alternative,
            digest=source.digest,
            target=prefix.split("/")[1],
            key=f"{prefix}{source.name}-{source.digest[:12]}.tar.gz",
        )
        for source in sources
    ]


def succeed(*arguments: str | Path) -> str:
    """Run a command, which must succeed; return its stdout."""
    with contextlib.redirect_stdout(io.StringIO()) as output:
        assert main([str(argument) for argument in arguments]) == 0
    return output.getvalue()


def run_json(*arguments: str | Path) -> Any:
    """Run a command with --json; return the parsed output."""
    return json.loads(succeed(*arguments, "--json"))


def fail(*arguments: str | Path, code: int = 1) -> str:
    """Run a command, which must exit with `code`; return its error message."""
    exit_code = 2  # of argparse, which raises SystemExit
    with (
        contextlib.redirect_stdout(io.StringIO()) as output,
        contextlib.redirect_stderr(io.StringIO()) as errors,
        contextlib.suppress(SystemExit),
    ):
        exit_code = main([str(argument) for argument in arguments])
    assert (exit_code, output.getvalue()) == (code, "")
    return errors.getvalue().partition("error: ")[2].rstrip("\n")
