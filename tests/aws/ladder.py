"""The stages of the ladder: deployed by the commands that a user runs, and removed."""

import json
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import boto3
import numpy as np
from botocore.exceptions import BotoCoreError, ClientError

from endpoint_client import EndpointClient, EndpointError
from local_sagemaker.tests.support import tiny_models
from tests.app_copy import copy_app
from tests.processes import output_of, run_program

ROOT = Path(__file__).parents[2]
REGION, INSTANCE_TYPE = "us-east-1", "ml.c5.xlarge"
"""The cheapest CPU type whose price platform_facts/prices.toml has."""
STAGE, GPU_STAGE, ENDPOINT = "triton-ladder", "triton-ladder-gpu", "triton-ladder-cpu"
TAG = "triton-ladder"
MODELS = tuple(f"probe-{number}" for number in range(4))
STAGE_FILE = f"""
region: {REGION}
release: "25.09"
log_retention_days: 1
tags: {{ {TAG}: temporary }}
endpoints:
  cpu:
    models: [{", ".join(MODELS)}]
    instance_type: {INSTANCE_TYPE}
"""
KEY_DELETION_DAYS = 7
"""The shortest waiting period of KMS (API reference, ScheduleKeyDeletion)."""
PAUSE = 0.5 if "AWS_ENDPOINT_URL" in os.environ else 15.0
"""Seconds between two questions about an operation in progress: our choice."""

T = TypeVar("T")


class NotRemoved(Exception):
    """Resources remain; the message names them, each with the reason."""


def wait_for(condition: Callable[[], T], seconds: float = 3600) -> T:
    """Return the first true result of `condition`, or the last result after `seconds`."""
    deadline = time.monotonic() + seconds
    while not (result := condition()) and time.monotonic() < deadline:
        time.sleep(PAUSE)
    return result


def client() -> EndpointClient:
    session = boto3.Session(region_name=REGION)
    return EndpointClient(stage=STAGE, endpoint="cpu", session=session, wait_until_ready=120)


def predict(model: str) -> float:
    outputs = client().invoke(model, {"X": np.array([[7]], np.float32)})
    return float(outputs["Y"][0, 0])


@contextmanager
def traffic() -> Iterator[Counter[str]]:
    """Invoke all models in turn on two threads until the block ends; count the results."""
    results, stop = Counter[str](), threading.Event()

    def call() -> None:
        caller = client()
        while not stop.wait(0.1):
            for model in MODELS:
                try:
                    caller.invoke(model, {"X": np.array([[7]], np.float32)})
                    results["answered"] += 1
                except EndpointError as error:
                    results[f"{type(error).__name__}: {error}"] += 1

    threads = [threading.Thread(target=call) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        yield results
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@dataclass(frozen=True)
class Ladder:
    """The account of a session, and a copy of the app with its stages, in the folder `path`."""

    path: Path
    account: str

    @classmethod
    def create(cls, path: Path, account: str) -> "Ladder":
        """Write the app, the stage of a CPU endpoint, and its models."""
        copy_app(ROOT, path)
        ladder = cls(path, account)
        ladder.write(f"stages/{STAGE}.yaml", STAGE_FILE)
        for name in MODELS:
            ladder.write(f"models/{name}/{name}/config.pbtxt", tiny_models.CONFIG)
            ladder.write(f"models/{name}/{name}/1/model.py", tiny_models.times(2))
        run_program("git", "init", "--quiet", cwd=path)
        return ladder

    def write(self, name: str, text: str) -> None:
        """Write a file of the app."""
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        (self.path / name).write_text(text)

    def configure(self, settings: str) -> None:
        """Write the stage with further lines of its endpoint."""
        self.write(f"stages/{STAGE}.yaml", f"{STAGE_FILE}    {settings}\n")

    def client(self, service: str) -> Any:
        """Return a boto3 client."""
        session: Any = boto3.Session(region_name=REGION)  # its stubs accept literal names only
        return session.client(service)

    def tritonsm(self, *arguments: str, code: int | None = 0) -> str:
        """Run a command in the app; return its output. The exit code must be `code`, unless None.

        The app's modules are those of the copy.
        """
        imports = os.pathsep.join(map(str, (self.path, self.path / "constructs", ROOT)))
        return output_of(
            sys.executable,
            "-m",
            "cli",
            *arguments,
            code=code,
            cwd=self.path,
            env={**os.environ, "PYTHONPATH": imports, "NO_COLOR": "1", "COLUMNS": "200"},
        )

    def templates(self) -> dict[str, Any]:
        """Return stack -> template of the CPU stage."""
        cdk, out = ROOT / "node_modules" / ".bin" / "cdk", self.path / "cdk.out"
        command = [str(cdk), "synth", "--quiet", "--output", str(out), "-c", f"stage={STAGE}"]
        run_program(*command, cwd=self.path)
        files = out.glob("*.template.json")
        return {file.name.partition(".")[0]: json.loads(file.read_text()) for file in files}

    def endpoint(self) -> Any:
        """Return the description of the endpoint."""
        return self.client("sagemaker").describe_endpoint(EndpointName=ENDPOINT)

    def endpoint_is_idle(self) -> bool:
        """Return whether no operation of the endpoint is in progress."""
        return str(self.endpoint()["EndpointStatus"]) in {"InService", "Failed", "OutOfService"}

    def stack_status(self, name: str) -> str:
        """Return the status of a stack, empty if there is none."""
        try:
            (stack,) = self.client("cloudformation").describe_stacks(StackName=name)["Stacks"]
        except ClientError:
            return ""
        return str(stack["StackStatus"])

    def role(self) -> str:
        """Return the name of the endpoint's role."""
        pages = self.client("cloudformation").describe_stack_resources(StackName=ENDPOINT)
        (role,) = (
            resource["PhysicalResourceId"]
            for resource in pages["StackResources"]
            if resource["ResourceType"] == "AWS::IAM::Role"
        )
        return str(role)

    def remove_everything(self) -> None:
        """Delete everything that any session made. Raise `NotRemoved` at the end."""
        problems = []
        for name, remove in self._remains():
            try:
                remove()
            except (AssertionError, BotoCoreError, ClientError) as error:
                problems.append(f"{name}: {error}")
        if problems:
            raise NotRemoved("\n".join(problems))

    def _remains(self) -> Iterator[tuple[str, Callable[[], object]]]:
        """Yield name and deletion of every resource, those with charges first."""
        for stage in (STAGE, GPU_STAGE):
            stacks = [f"{stage}-{name}" for name in ("cpu", "gpu", "models")]
            if any(map(self.stack_status, stacks)):
                wait_for(partial(self._are_idle, stacks))
                yield stage, partial(self.tritonsm, "destroy", stage, "--yes")
        sagemaker, logs = self.client("sagemaker"), self.client("logs")
        for kind in ("endpoint_config", "model"):
            member = kind.title().replace("_", "")
            listed = getattr(sagemaker, f"list_{kind}s")(NameContains=STAGE)[f"{member}s"]
            for name in (resource[f"{member}Name"] for resource in listed):
                yield name, partial(getattr(sagemaker, f"delete_{kind}"), **{f"{member}Name": name})
        functions = self.client("lambda")
        for page in functions.get_paginator("list_functions").paginate():
            for function in page["Functions"]:
                if (name := function["FunctionName"]).startswith(STAGE):
                    yield name, partial(functions.delete_function, FunctionName=name)
        iam = self.client("iam")
        for page in iam.get_paginator("list_roles").paginate():
            for role in page["Roles"]:
                if role["RoleName"].startswith(STAGE):
                    yield role["RoleName"], partial(self._remove_role, iam, role["RoleName"])
        for bucket in self.client("s3").list_buckets()["Buckets"]:
            if bucket["Name"].startswith(STAGE):
                yield bucket["Name"], partial(self._remove_bucket, bucket["Name"])
        for key in self._tagged_keys():
            yield key, partial(self._remove_key, key)
        for page in logs.get_paginator("describe_log_groups").paginate():
            for group in page["logGroups"]:
                if STAGE in (name := group["logGroupName"]):
                    yield name, partial(logs.delete_log_group, logGroupName=name)

    def _are_idle(self, stacks: list[str]) -> bool:
        return not any(self.stack_status(stack).endswith("IN_PROGRESS") for stack in stacks)

    def _remove_role(self, iam: Any, name: str) -> None:
        for policy in iam.list_role_policies(RoleName=name)["PolicyNames"]:
            iam.delete_role_policy(RoleName=name, PolicyName=policy)
        iam.delete_role(RoleName=name)

    def _remove_bucket(self, name: str) -> None:
        """Delete a bucket with all versions of its objects."""
        resource: Any = boto3.resource("s3", region_name=REGION)
        resource.Bucket(name).object_versions.delete()
        resource.Bucket(name).delete()

    def _tagged_keys(self) -> list[str]:
        filters = {"TagFilters": [{"Key": TAG}], "ResourceTypeFilters": ["kms:key"]}
        tagged = self.client("resourcegroupstaggingapi").get_resources(**filters)
        return [resource["ResourceARN"] for resource in tagged["ResourceTagMappingList"]]

    def _remove_key(self, key: str) -> None:
        kms = self.client("kms")
        if kms.describe_key(KeyId=key)["KeyMetadata"]["KeyState"] != "PendingDeletion":
            kms.schedule_key_deletion(KeyId=key, PendingWindowInDays=KEY_DELETION_DAYS)
