"""One short build on CodeBuild's GPU, which says what no document says."""

import json
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

import platform_facts
from release.preflight.account import Account, NotDeployed
from release.preflight.rows import Row, Topic

TOPIC = Topic("GPU build")
PROJECT = "AWS::CodeBuild::Project"
GPU = "LINUX_GPU_CONTAINER"
MARK = "gpu-probe:"
"""What the one line of the log that counts begins with; JSON follows."""

POLL_SECONDS = 10
WAIT_MINUTES = 30
"""For a place in the queue, the image of some 10 GB, and the commands."""
ROLE_SECONDS = 60
"""How long a new role may take until CodeBuild can assume it; no source was found for a bound."""

COMMAND = f"""python3 - <<'END'
import json, subprocess
def asked(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=120).stdout.strip()
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
found = {{}}
names = ("driver", "gpu", "memory")
said = asked("nvidia-smi", "--query-gpu=driver_version,name,memory.total", "--format=csv,noheader")
found.update(zip(names, (it.strip() for it in said.splitlines()[0].split(","))) if said else ())
about = asked("nvidia-smi")
found["cuda"] = about.split("CUDA Version:")[1].split()[0] if "CUDA Version:" in about else ""
try:
    import tensorrt
    found["tensorrt"] = tensorrt.__version__
except Exception as error:
    found["tensorrt"] = str(error)
print("{MARK}" + json.dumps(found), flush=True)
END
"""
BUILDSPEC = json.dumps({"version": "0.2", "phases": {"build": {"commands": [COMMAND]}}})


@dataclass(frozen=True)
class Gpu:
    """What a GPU build saw; a field is empty where it did not see it.

    `cuda` is the newest that the driver carries, `tensorrt` that of the image.
    """

    driver: str
    gpu: str
    cuda: str
    tensorrt: str


class ProbeFailed(Exception):
    """The build did not say what it was asked."""


def rows(found: Gpu, image: str) -> Iterator[Row]:
    """Yield what a probe with an image has found."""
    yield TOPIC.ok("GPU", f"{found.gpu or 'none seen'}, driver {found.driver or 'none'}")
    yield TOPIC.ok("TensorRT", f"{found.tensorrt} in {image}")
    needed = _cuda_needed(image)
    if not found.cuda:
        yield TOPIC.refused(
            "CUDA",
            "nvidia-smi named none: a build sees no GPU",
            "compile engines on a machine of your own: docs/models.md",
        )
    elif needed is None:
        yield TOPIC.ok("CUDA", f"the driver carries {found.cuda}")
    elif platform_facts.cuda_satisfies(offered=found.cuda, needed=needed):
        yield TOPIC.ok("CUDA", f"the driver carries {found.cuda}; the image is built with {needed}")
    else:
        yield TOPIC.refused(
            "CUDA",
            f"the driver carries {found.cuda}, and the image is built with {needed}",
            "take an older release, or compile engines on a machine of your own: docs/models.md",
        )


def probe(account: Account) -> tuple[Gpu, str]:
    """Run the build; return what it saw, and with which image. Raises `ProbeFailed`.

    It is a build of the stage's own GPU project, or of one that is made for it and removed, with
    its role.
    """
    for stack, name, project in account.resources(PROJECT):
        if project["Environment"]["Type"] == GPU:
            image = str(project["Environment"]["Image"])
            try:
                return _built(account, account.deployed(stack)[name]), image
            except (NotDeployed, KeyError):
                with _own_project(account, project["Environment"]) as own:
                    return _built(account, own), image
    raise ProbeFailed("the stage has no GPU project")


def _cuda_needed(image: str) -> str | None:
    tag = image.rpartition(":")[2]
    for release in platform_facts.releases():
        if release.builder_tag == tag:
            return release.cuda
    return None


def _built(account: Account, project: str) -> Gpu:
    codebuild = account.client("codebuild")
    build = codebuild.start_build(
        projectName=project,
        sourceTypeOverride="NO_SOURCE",
        buildspecOverride=BUILDSPEC,
        timeoutInMinutesOverride=WAIT_MINUTES // 2,
        queuedTimeoutInMinutesOverride=WAIT_MINUTES,
    )["build"]["id"]
    try:
        record = _ended(codebuild, build)
    except BaseException:
        codebuild.stop_build(id=build)
        raise
    if record["buildStatus"] != "SUCCEEDED":
        contexts = [it for phase in record.get("phases", ()) for it in phase.get("contexts", ())]
        reasons = [it["message"] for it in contexts if it.get("message")]
        raise ProbeFailed(f"{build} is {record['buildStatus']}: {'; '.join(reasons)}")
    return _seen(account, record["logs"])


def _ended(codebuild: Any, build: str) -> Any:
    deadline = time.monotonic() + 2 * WAIT_MINUTES * 60
    while True:
        (record,) = codebuild.batch_get_builds(ids=[build])["builds"]
        if record["buildStatus"] != "IN_PROGRESS":
            return record
        if time.monotonic() > deadline:
            raise ProbeFailed(f"{build} has not ended in {2 * WAIT_MINUTES} minutes")
        time.sleep(POLL_SECONDS)


def _seen(account: Account, logs: Any) -> Gpu:
    if not logs.get("streamName"):
        raise ProbeFailed("the build has no log in CloudWatch")
    events = account.client("logs").get_log_events(
        logGroupName=logs["groupName"], logStreamName=logs["streamName"], startFromHead=True
    )["events"]
    for event in events:
        line = event["message"].strip()
        if line.startswith(MARK):
            found = json.loads(line.removeprefix(MARK))
            return Gpu(*(found.get(it, "") for it in ("driver", "gpu", "cuda", "tensorrt")))
    raise ProbeFailed("the build's log has no line of what it saw")


@contextmanager
def _own_project(account: Account, environment: Any) -> Iterator[str]:
    """Make a project with its role, for the length of the `with` block."""
    name = f"triton-preflight-{uuid.uuid4().hex[:8]}"
    group = f"/aws/codebuild/{name}"
    iam, codebuild = account.client("iam"), account.client("codebuild")
    iam.create_role(
        RoleName=name,
        Description="One build of triton-sagemaker's preflight, which removes it",
        AssumeRolePolicyDocument=json.dumps(
            {
                "Version": "2012-10-17",
                "Statement": {
                    "Effect": "Allow",
                    "Principal": {"Service": "codebuild.amazonaws.com"},
                    "Action": "sts:AssumeRole",
                },
            }
        ),
    )
    try:
        arn = (
            f"arn:{account.caller.partition}:logs:{account.region}:{account.caller.account}:"
            f"log-group:{group}:*"
        )
        actions = ["logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents"]
        statement = {
            "Effect": "Allow",
            "Action": actions,
            "Resource": [arn.removesuffix(":*"), arn],
        }
        document = {"Version": "2012-10-17", "Statement": statement}
        iam.put_role_policy(RoleName=name, PolicyName=name, PolicyDocument=json.dumps(document))
        role = iam.get_role(RoleName=name)["Role"]["Arn"]
        _create_project(codebuild, name, role, environment)
        yield name
    finally:
        codebuild.delete_project(name=name)
        with _if_there():
            account.client("logs").delete_log_group(logGroupName=group)
        with _if_there():
            iam.delete_role_policy(RoleName=name, PolicyName=name)
        iam.delete_role(RoleName=name)


@contextmanager
def _if_there() -> Iterator[None]:
    """Delete what may not be there."""
    try:
        yield
    except ClientError as error:
        if error.response["Error"]["Code"] not in ("NoSuchEntity", "ResourceNotFoundException"):
            raise


def _create_project(codebuild: Any, name: str, role: str, environment: Any) -> None:
    """Create the project as soon as its new role can be assumed."""
    deadline = time.monotonic() + ROLE_SECONDS
    keys = {"Type": "type", "ComputeType": "computeType", "Image": "image"}
    while True:
        try:
            codebuild.create_project(
                name=name,
                source={"type": "NO_SOURCE", "buildspec": BUILDSPEC},
                artifacts={"type": "NO_ARTIFACTS"},
                environment={
                    **{api: environment[of] for of, api in keys.items()},
                    "imagePullCredentialsType": "SERVICE_ROLE",
                },
                serviceRole=role,
            )
        except ClientError as error:
            if error.response["Error"]["Code"] != "InvalidInputException" or (
                time.monotonic() > deadline
            ):
                raise
            time.sleep(POLL_SECONDS)
        else:
            return
