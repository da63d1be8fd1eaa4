"""One short build on CodeBuild's GPU, which says what no document says."""

import json
import re
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

import platform_facts
from release.preflight.account import Account, NotDeployed
from release.preflight.removing import Made
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
STOP_SECONDS = 120
"""How long a stopped build may take to end: our choice."""
_VERSION = re.compile(r"\d+(\.\d+)+")

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
TRUST = {
    "Version": "2012-10-17",
    "Statement": {
        "Effect": "Allow",
        "Principal": {"Service": "codebuild.amazonaws.com"},
        "Action": "sts:AssumeRole",
    },
}
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

    @property
    def was_seen(self) -> bool:
        """Whether driver and CUDA are versions, not what nvidia-smi failed with."""
        return all(_VERSION.fullmatch(it) for it in (self.driver, self.cuda))


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


def probe(account: Account, left: list[Row]) -> tuple[Gpu, str]:
    """Run the build; return what it saw, and with which image. Raises `ProbeFailed`.

    It is a build of the stage's own GPU project, or of one that is made for it and removed, with
    its role. What cannot be removed is added to `left`.
    """
    for stack, name, project in account.resources(PROJECT):
        if project["Environment"]["Type"] == GPU:
            image = str(project["Environment"]["Image"])
            try:
                own = account.deployed(stack)[name]
            except (NotDeployed, KeyError):
                with _own_project(account, project["Environment"], left) as made:
                    return _built(account, made, left), image
            return _built(account, own, left), image
    raise ProbeFailed("the stage has no GPU project")


def _cuda_needed(image: str) -> str | None:
    tag = image.rpartition(":")[2]
    for release in platform_facts.releases():
        if release.builder_tag == tag:
            return release.cuda
    return None


def _built(account: Account, project: str, left: list[Row]) -> Gpu:
    codebuild = account.client("codebuild")
    build = codebuild.start_build(
        projectName=project,
        sourceTypeOverride="NO_SOURCE",
        buildspecOverride=BUILDSPEC,
        timeoutInMinutesOverride=WAIT_MINUTES // 2,
        queuedTimeoutInMinutesOverride=WAIT_MINUTES,
    )["build"]["id"]
    with Made(TOPIC, left) as running:
        do = f"aws codebuild stop-build --id {build}"
        running.remove(f"build {build}", do, partial(_stop, codebuild, build))
        record = _ended(codebuild, build, 2 * WAIT_MINUTES * 60)
        running.stay()
    if record["buildStatus"] != "SUCCEEDED":
        contexts = [it for phase in record.get("phases", ()) for it in phase.get("contexts", ())]
        reasons = [it["message"] for it in contexts if it.get("message")]
        raise ProbeFailed(f"{build} is {record['buildStatus']}: {'; '.join(reasons)}")
    return _seen(account, record["logs"])


def _stop(codebuild: Any, build: str) -> None:
    """Stop a build, and wait for its end: until then it writes its log, and makes the log's group.

    Raises what AWS answers where it cannot be stopped.
    """
    codebuild.stop_build(id=build)
    with suppress(ProbeFailed, BotoCoreError, ClientError):
        _ended(codebuild, build, STOP_SECONDS)


def _ended(codebuild: Any, build: str, seconds: float) -> Any:
    deadline = time.monotonic() + seconds
    while True:
        (record,) = codebuild.batch_get_builds(ids=[build])["builds"]
        if record["buildStatus"] != "IN_PROGRESS":
            return record
        if time.monotonic() > deadline:
            raise ProbeFailed(f"{build} has not ended in {seconds / 60:.0f} minutes")
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
def _own_project(account: Account, environment: Any, left: list[Row]) -> Iterator[str]:
    """Make a project with its role, for the length of the `with` block.

    The log group, which a build makes, goes when the role that could make it again is gone.
    """
    name = f"triton-preflight-{uuid.uuid4().hex[:8]}"
    group = f"/aws/codebuild/{name}"
    iam, codebuild, logs = (account.client(it) for it in ("iam", "codebuild", "logs"))
    with Made(TOPIC, left) as made:

        def remove(what: str, do: str, delete: Callable[..., object], **named: str) -> None:
            made.remove(what, f"aws {do}", partial(_delete, delete, **named))

        iam.create_role(
            RoleName=name,
            Description="One build of triton-sagemaker's preflight, which removes it",
            AssumeRolePolicyDocument=json.dumps(TRUST),
        )
        remove(
            f"log group {group}",
            f"logs delete-log-group --log-group-name {group}",
            logs.delete_log_group,
            logGroupName=group,
        )
        remove(
            f"role {name}", f"iam delete-role --role-name {name}", iam.delete_role, RoleName=name
        )
        document = json.dumps(_may_write(account, group))
        iam.put_role_policy(RoleName=name, PolicyName=name, PolicyDocument=document)
        remove(
            f"policy {name} of the role {name}",
            f"iam delete-role-policy --role-name {name} --policy-name {name}",
            iam.delete_role_policy,
            RoleName=name,
            PolicyName=name,
        )
        role = iam.get_role(RoleName=name)["Role"]["Arn"]
        _create_project(codebuild, name, role, environment)
        remove(
            f"project {name}",
            f"codebuild delete-project --name {name}",
            codebuild.delete_project,
            name=name,
        )
        yield name


def _may_write(account: Account, group: str) -> Any:
    """Return the policy of who may write a log group's logs."""
    arn = (
        f"arn:{account.caller.partition}:logs:{account.region}:{account.caller.account}:"
        f"log-group:{group}"
    )
    actions = ["logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents"]
    statement = {"Effect": "Allow", "Action": actions, "Resource": [arn, f"{arn}:*"]}
    return {"Version": "2012-10-17", "Statement": statement}


def _delete(delete: Callable[..., object], **named: str) -> None:
    """Delete what may not be there."""
    try:
        delete(**named)
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
