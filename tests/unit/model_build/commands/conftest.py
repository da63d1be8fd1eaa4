"""The commands, with an AWS in memory and a deployed endpoint."""

import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import stage_record
from model_build.__main__ import main
from stage_record import Event
from tests.unit.model_build.fakes import FakeCloudFormation, FakeS3, FakeSageMaker, FakeSsm, FakeSts

PREFIX = "text/cpu-24.09/"


@dataclass
class FakeAws:
    """The services that commands talk to; `stage` dev has the multi-model endpoint `text`."""

    s3: FakeS3 = field(default_factory=FakeS3)
    ssm: FakeSsm = field(default_factory=FakeSsm)
    sagemaker: FakeSageMaker = field(default_factory=FakeSageMaker)
    cloudformation: FakeCloudFormation = field(default_factory=FakeCloudFormation)
    sts: FakeSts = field(default_factory=FakeSts)

    def client(self, service: str) -> Any:
        result = getattr(self, service, None)
        assert result is not None, service
        return result

    def catalog(self, model: str) -> Any:
        """What clients of the endpoint resolve a model to."""
        return self.ssm.current(f"/triton/dev/text/{model}")

    @property
    def archives(self) -> set[str]:
        """The keys of the bucket but those of the record."""
        return {each for each in self.s3.objects if not each.startswith(stage_record.FOLDER)}

    @property
    def events(self) -> list[Event]:
        """The record, the newest event first."""
        return list(stage_record.read(self.s3.client, "bucket"))

    def deploy(self, model: str, version: str) -> None:
        """Put a version of a model into bucket and catalog, as a deploy does."""
        for suffix in (".tar.gz", ".json"):
            self.s3.objects[f"{PREFIX}{model}-{version}{suffix}"] = {"Body": b'{"archive": {}}'}
        self.ssm.put(
            f"/triton/dev/text/{model}",
            {
                "model": model,
                "version": version,
                "endpoint": "dev-text",
                "target_model": f"{model}-{version}.tar.gz",
                "signature": {},
            },
        )


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def client(service: str) -> None:
        pytest.fail(f"a client of {service} was made")

    monkeypatch.setattr("boto3.client", client)


@pytest.fixture
def aws(_no_network: None, monkeypatch: pytest.MonkeyPatch) -> FakeAws:
    fake = FakeAws()
    fake.sagemaker.host("dev-text", f"s3://bucket/{PREFIX}")
    monkeypatch.setattr("boto3.client", fake.client)
    return fake


Succeed = Callable[..., str]
Data = Callable[..., Any]
Fail = Callable[..., str]


@pytest.fixture
def succeed(capsys: pytest.CaptureFixture[str]) -> Succeed:
    """Run a command that must succeed; return what it prints."""

    def run(*arguments: str | Path) -> str:
        assert main([str(argument) for argument in arguments]) == 0
        return capsys.readouterr().out

    return run


@pytest.fixture
def data_of(succeed: Succeed) -> Data:
    """Run a command with --json; return its data."""

    def run(*arguments: str | Path) -> Any:
        return json.loads(succeed(*arguments, "--json"))

    return run


@pytest.fixture
def fail(capsys: pytest.CaptureFixture[str]) -> Fail:
    """Run a command that must fail, or refuse its arguments; return the error."""

    def run(*arguments: str | Path, code: int = 1) -> str:
        result = None
        with contextlib.suppress(SystemExit):  # argparse's, which is code 2
            result = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert (2 if result is None else result, captured.out) == (code, "")
        return captured.err.partition("error: ")[2].rstrip("\n")

    return run
