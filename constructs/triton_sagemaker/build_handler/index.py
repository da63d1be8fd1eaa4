"""Custom resource handlers of `ModelBuilder`: build a list of archives, and wait for them.

No state is kept: each poll compares the list with the objects of the bucket and with CodeBuild's
builds, and starts what is missing. So a repeated event, or a second request for the same list,
starts nothing twice, and a finished archive is never built again. Lambda gets only this
file, so it repeats functions of the other handlers.
"""

import hashlib
import json
import os
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import boto3
from botocore import exceptions
from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from mypy_boto3_codebuild.type_defs import BuildTypeDef

Record = dict[str, Any]
Items = dict[int, Record]
"""Items of a list by the number of their line; the first line is 1."""

LIST_VARIABLE, DIGEST_VARIABLE = "BUILD_LIST", "BUILD_DIGEST"
LINES_VARIABLE = "BUILD_LINES"
"""Variable with the lines of the list that a build builds, such as 1-50,60."""

DEADLINE_VARIABLE = "BUILD_DEADLINE"
"""Variable with the time until which the build waits for engines, in seconds since 1970."""

REQUEST_VARIABLE = "BUILD_REQUEST"
"""Variable with the ID of the CloudFormation request that started the build."""

MAX_BUILD_SECONDS = 8 * 3600
"""Maximum time in the queue and of a build: `QUEUE_TIMEOUT` and `BUILD_TIMEOUT` of the project."""

GRACE_SECONDS = 120
"""Time after the deadline in which a build can still end and report an error."""

MAX_REASON_LENGTH = 1000
"""The response of a custom resource to CloudFormation is limited to 4 KiB."""

MAX_NAMES = 8
"""Number of builds that a reason names."""
MAX_FAILURES = 50
"""Failures in a response: the framework's state machine passes at most 256 KiB on."""

MAX_BUILDS = 4
"""Builds of one list at the same time; builds of engines, which mostly wait, are not counted."""
MAX_ENGINE_BUILDS = 20
MIN_ITEMS, MAX_ITEMS = 25, 250
"""Archives of one build; the first builds of few archives may have fewer.

250 line numbers have at most 1,500 characters; all variables of a build have at most 5,500
(CodeBuild user guide, troubleshooting-build-environment-variables).
"""

PULL_FAILED = "BUILD_CONTAINER_UNABLE_TO_PULL_IMAGE"
"""Status code of a phase in which CodeBuild could not pull the image (aws/aws-cdk#10460)."""

MAX_ATTEMPTS = 2
"""Maximum builds of one archive: a second only if CodeBuild could not pull the image, or if the
build of several archives died, such as for lack of memory, without an error of a model."""

NO_QUOTA = "more than 0 builds in queue"
"""Part of CodeBuild's message if the account's quota is 0 builds: a retry does not help
(rebuy-de/aws-nuke#1209, aws-ia/terraform-aws-control_tower_account_factory#179)."""

UNCHANGED = "The endpoint is unchanged, and archives that are built are not built again."

ARCHIVE_KEY = "{endpoint}/{target}/{model}-{digest:.12}.tar.gz"
"""S3 key of an archive; `digest` is the digest of the model's source."""
MOVES = "{bucket}/lists/*.jsonl"
"""Lists that deliveries write, of archives that the move of an endpoint needs."""


def on_event(event: Record, _context: object) -> Record:
    """Return the deadline of the builds. A Delete request has none, and keeps all archives."""
    physical_id = event.get("PhysicalResourceId") or "archives"
    if event["RequestType"] == "Delete":
        return {"PhysicalResourceId": physical_id}
    # Rounded to minutes: Lambda may deliver an event twice, and both must start the same builds.
    minutes = int(event["ResourceProperties"]["WaitMinutes"])
    return {"PhysicalResourceId": physical_id, "Deadline": 60 * (int(time.time()) // 60 + minutes)}


def is_complete(event: Record, _context: object) -> Record:
    """Return whether all archives exist. Raise `RuntimeError` if builds failed or timed out.

    The provider framework fails the resource on any error, so transient errors, such as a full
    build queue, only wait for the next poll. If the property `OnFailure` is `keep`, models that
    cannot be built are no error. Responses also have the numbers of archives that are `Built`, and
    of all `Archives`, the ids of running `Builds`, and at the end the `Failures`, for callers other
    than the framework.
    """
    if "Deadline" not in event:
        return {"IsComplete": True}
    counts: Record = {}
    try:
        build = ListBuild(event)
        counts = build.counts()
        if not build.missing:
            return {"IsComplete": True, **counts}
        if build.has_ended:
            return {"IsComplete": True, **counts, "Failures": build.kept_failures()}
        error = build.start_builds()
        counts = build.counts()
    except (ClientError, exceptions.HTTPClientError, exceptions.ConnectionError) as failure:
        if not _is_transient(failure):
            raise
        error = str(failure)
    if time.time() > event["Deadline"] + GRACE_SECONDS:
        raise RuntimeError(_timeout_message(event["ResourceProperties"], counts, error))
    return {"IsComplete": False, **counts}


def _timeout_message(properties: Record, counts: Record, error: str) -> str:
    built = f"{counts['Built']:,} of {counts['Archives']:,} archives are built" if counts else ""
    waiting = f"builds are waiting to start: {error}" if error else ""
    names = counts.get("Builds", [])
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    running = f"running: {', '.join(names[:MAX_NAMES])}{more}" if names else ""
    return (
        f"After {properties['WaitMinutes']} minutes, "
        f"{'; '.join(filter(None, (built, waiting, running)))}. {UNCHANGED} "
        "Run make deliver to keep waiting: CloudFormation cannot wait longer."
    )


class ListBuild:
    """A request to build a list, with the state of its archives and builds.

    `missing` are the items without an archive. `running` are builds in progress of the same list,
    also of other requests; `ended` are the ended builds of this request. An item that a build of
    another list builds, such as of the list before a change, waits for that build.
    """

    def __init__(self, event: Record) -> None:
        self._event, self._properties = event, event["ResourceProperties"]
        items = _read_list(self._properties)
        # Before the listing, so that a build that ends in between counts as running.
        all_builds = _list_builds(event)
        own = {name: self._properties[key]
               for name, key in ((LIST_VARIABLE, "List"), (DIGEST_VARIABLE, "Digest"))}  # fmt: skip
        builds = [build for build in all_builds if own.items() <= _variables(build).items()]
        self.running = [build for build in builds if build["buildStatus"] == "IN_PROGRESS"]
        self.ended = [
            build
            for build in builds
            if build["buildStatus"] != "IN_PROGRESS"
            and _variables(build).get(REQUEST_VARIABLE) == event["RequestId"]
        ]
        self._attempts = Counter(line for build in self.ended for line in _lines(build))
        self.missing = _missing(items, self._properties["Bucket"])
        self._total = len(items)
        self._failed = {
            line: build
            for build in sorted(self.ended, key=lambda build: build["startTime"])
            for line in _lines(build)
            if line in self.missing
            and not (self._attempts[line] < MAX_ATTEMPTS and _may_succeed(build))
        }
        building = {line for build in self.running for line in _lines(build)}
        others = [build for build in all_builds if build not in builds]
        keys = set(_building_keys(others)) if self.missing.keys() - building else set[str]()
        building |= {line for line, item in self.missing.items() if item["key"] in keys}
        self._waiting = sorted(self.missing.keys() - self._failed.keys() - building)

    def counts(self) -> Record:
        """Return the members of a response that tell the progress."""
        return {
            "Built": self._total - len(self.missing),
            "Archives": self._total,
            "Builds": [build["id"] for build in self.running],
        }

    @property
    def has_ended(self) -> bool:
        """Whether archives could not be built, and no build runs or should run."""
        return bool(self._failed and not self.running and (self._is_faulty or not self._waiting))

    @property
    def _is_faulty(self) -> bool:
        """Whether a build failed before it built anything, such as without its packages."""
        return any(not _has_run(build) for build in self._failed.values())

    def kept_failures(self) -> list[str]:
        """Return the reasons of failures. Raise `RuntimeError` unless the models are kept."""
        reasons = self._failure_reasons()
        if self._properties.get("OnFailure") == "keep" and not self._is_faulty:
            more = len(reasons) - MAX_FAILURES
            listed = [reason[:MAX_REASON_LENGTH] for reason in reasons[:MAX_FAILURES]]
            return [*listed, f"and {more:,} more"] if more > 0 else listed
        count = f"{len(self._failed):,} of {self._total:,}"
        log = next(iter(self._failed.values())).get("logs", {}).get("deepLink", "in CodeBuild")
        raise RuntimeError(
            f"{count} archives were not built. {_shortened(reasons)}. Log: {log} . {UNCHANGED}"
        )

    def start_builds(self) -> str:
        """Start builds of waiting items; return the error if CodeBuild cannot start more now.

        After a build that failed before it built anything, such as without its packages, no other
        build is started.
        """
        if self._is_faulty:
            return ""
        engines = [line for line in self._waiting if self.missing[line]["engines"]]
        others = [line for line in self._waiting if not self.missing[line]["engines"]]
        running_engines = sum(
            any(line in self.missing and self.missing[line]["engines"] for line in _lines(build))
            for build in self.running
        )
        least = MIN_ITEMS if self.running else 1
        # After a build that died, fewer archives share a build with the model that ended it.
        most = MIN_ITEMS if any(self._attempts[line] for line in others) else MAX_ITEMS
        size = min(most, max(least, -(-len(others) // MAX_BUILDS)))
        batches = [others[start : start + size] for start in range(0, len(others), size)]
        free = max(0, MAX_BUILDS - len(self.running) + running_engines)
        free_engines = max(0, MAX_ENGINE_BUILDS - running_engines)
        for lines in (*([line] for line in engines[:free_engines]), *batches[:free]):
            try:
                self.running.append(self._start_build(lines))
            except ClientError as error:
                if not _is_transient(error):
                    raise
                return str(error)
        return ""

    def _start_build(self, lines: Sequence[int]) -> "BuildTypeDef":
        """Start a build; idempotent for one attempt within five minutes, by the token."""
        deadline, request = self._event["Deadline"], self._event["RequestId"]
        variables = {
            LIST_VARIABLE: self._properties["List"],
            DIGEST_VARIABLE: self._properties["Digest"],
            LINES_VARIABLE: join_lines(lines),
            DEADLINE_VARIABLE: str(deadline),
            REQUEST_VARIABLE: request,
        }
        attempt = max(self._attempts[line] for line in lines) + 1
        batch = hashlib.sha256(variables[LINES_VARIABLE].encode()).hexdigest()[:12]
        return boto3.client("codebuild").start_build(
            projectName=os.environ["PROJECT"],
            idempotencyToken=f"{request}-{deadline}-{batch}-{attempt}",
            environmentVariablesOverride=[
                {"name": name, "value": value, "type": "PLAINTEXT"}
                for name, value in variables.items()
            ],
        )["build"]

    def _failure_reasons(self) -> list[str]:
        """Return the reasons of the failures: own errors of models first, then those of builds."""
        own, others = dict[str, str](), Counter[str]()
        builds = {build["id"]: build for build in self._failed.values()}
        for name, build in builds.items():
            errors = _logged_errors(build)
            lines = [line for line, failed in self._failed.items() if failed["id"] == name]
            general = _general_reason(
                build, errors, {self.missing[line]["model"] for line in lines}
            )
            for line in lines:
                model = self.missing[line]["model"]
                if reasons := [text for text in errors if text.startswith(f"{model}: ")]:
                    own[model] = reasons[-1]
                else:
                    others[f"{model}: {general}" if len(lines) == 1 else general] += 1
        return [
            *own.values(),
            *(text if count == 1 else f"{count:,} others: {text}"
              for text, count in others.items()),
        ]  # fmt: skip


def _shortened(reasons: Sequence[str]) -> str:
    """Return reasons within `MAX_REASON_LENGTH`, with the number of those that are left out."""
    texts, length = list[str](), 0
    share = max(200, MAX_REASON_LENGTH // len(reasons))
    for reason in reasons:
        text = reason[:share].rstrip(" .")
        if texts and length + len(text) > MAX_REASON_LENGTH:
            return "; ".join([*texts, f"and {len(reasons) - len(texts):,} more"])
        texts.append(text)
        length += len(text)
    return "; ".join(texts)


def join_lines(lines: Iterable[int]) -> str:
    """Return sorted line numbers as text, such as 1-50,60."""
    ranges = list[list[int]]()
    for line in lines:
        if ranges and line == ranges[-1][1] + 1:
            ranges[-1][1] = line
        else:
            ranges.append([line, line])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def _lines(build: "BuildTypeDef") -> Iterator[int]:
    """Yield the line numbers of a build."""
    for part in _variables(build)[LINES_VARIABLE].split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def _variables(build: "BuildTypeDef") -> dict[str, str]:
    variables = build["environment"].get("environmentVariables", [])
    return {variable["name"]: variable["value"] for variable in variables}


def _list_builds(event: Record) -> "list[BuildTypeDef]":
    """Return the builds of lists that were started for the event or later, or may be in progress.

    The provider framework passes the same event to each poll: builds of an earlier poll can only be
    recognised by their variables. The default order is newest first; with an explicit order the
    call fails for more than 100 builds (API reference, ListBuildsForProject).
    """
    codebuild, properties = boto3.client("codebuild"), event["ResourceProperties"]
    start = event["Deadline"] - 60 * int(properties["WaitMinutes"])
    list_builds: list[BuildTypeDef] = []
    pages = codebuild.get_paginator("list_builds_for_project")
    for page in pages.paginate(projectName=os.environ["PROJECT"]):
        ids = page.get("ids")
        builds = codebuild.batch_get_builds(ids=ids)["builds"] if ids else []
        list_builds += [build for build in builds if LIST_VARIABLE in _variables(build)]
        if any(build["startTime"].timestamp() < start - MAX_BUILD_SECONDS for build in builds):
            break
    return list_builds


def _building_keys(builds: "list[BuildTypeDef]") -> Iterator[str]:
    """Yield the keys that builds in progress of other lists build, as far as the lists exist."""
    lists: dict[str, list[str]] = {}
    for build in builds:
        if build["buildStatus"] == "IN_PROGRESS":
            location = _variables(build)[LIST_VARIABLE]
            try:
                if location not in lists:
                    texts = _read(location).splitlines()
                    lists[location] = [json.loads(text)["key"] for text in texts]
            except ClientError as error:
                if _is_transient(error):
                    raise  # the next poll reads it again: nothing is built twice
            else:
                yield from (lists[location][line - 1] for line in _lines(build))


def _read(location: str) -> bytes:
    bucket, _, key = location.partition("/")
    content: bytes = boto3.client("s3").get_object(Bucket=bucket, Key=key)["Body"].read()
    return content


def _read_list(properties: Record) -> Items:
    """Return the items of a list. Raise `RuntimeError` if the list or an item is not valid."""
    bucket = os.environ["BUCKET"]
    location = properties.get("List", "A resource of an older version")
    patterns = (f"{os.environ['ASSETS']}*.jsonl", MOVES.format(bucket=bucket))
    if properties["Bucket"] != bucket or not any(fnmatchcase(location, p) for p in patterns):
        raise RuntimeError(
            f"{location} is not a list of archives of {bucket}: nothing is built. Lists are "
            f"{' and '.join(patterns)}"
        )
    content = _read(location)
    if (digest := hashlib.sha256(content).hexdigest()) != properties["Digest"]:
        raise RuntimeError(
            f"s3://{location} has the SHA-256 {digest}, the template another: nothing is built"
        )
    items = {number: json.loads(line) for number, line in enumerate(content.splitlines(), 1)}
    for item in items.values():
        _validate(item)
    return items


def _validate(item: Record) -> None:
    """Raise `RuntimeError` unless key and source match the model and its digest.

    The caller controls the list: any other source would run with the builder's permissions, and
    another key could replace another model's archive. The build verifies the digest of the source.
    """
    key, digest, source = item["key"], item["digest"], item["source"]
    expected = ARCHIVE_KEY.format(
        endpoint=key.partition("/")[0], target=item["target"], model=item["model"], digest=digest
    )
    is_well_formed = re.fullmatch("[0-9a-f]{64}", digest) and key.count("/") == 2
    if key != expected or not is_well_formed:
        raise RuntimeError(
            f"{key} is not the archive of the digest {digest} of {item['model']}, which is "
            f"{expected}: nothing is built"
        )
    patterns = (f"{os.environ['ASSETS'].partition('/')[2]}*.zip", f"sources/{digest}.zip")
    if not any(fnmatchcase(source, pattern) for pattern in patterns):
        raise RuntimeError(
            f"{source} is not a source of {item['model']}: nothing is built. Sources are "
            f"{' and '.join(patterns)}"
        )


def _missing(items: Items, bucket: str) -> Items:
    """Return the items without an archive or without its manifest, which builders write last.

    An archive that is newer than its manifest was perhaps replaced: only such archives are read.
    (S3 API, ListObjectsV2, LastModified; S3 user guide, "Amazon S3 data consistency model".)
    """
    times = dict[str, Any]()
    pages = boto3.client("s3").get_paginator("list_objects_v2")
    for prefix in sorted({item["key"].rpartition("/")[0] for item in items.values()}):
        # With a delimiter, published archives are left out.
        for page in pages.paginate(Bucket=bucket, Prefix=f"{prefix}/", Delimiter="/"):
            times |= {entry["Key"]: entry["LastModified"] for entry in page.get("Contents", ())}
    missing = {}
    for line, item in items.items():
        key, manifest = item["key"], _manifest_key(item["key"])
        if not times.keys() >= {key, manifest}:
            missing[line] = item
        elif times[key] > times[manifest]:
            _verify(item, bucket)
    return missing


def _manifest_key(key: str) -> str:
    return key.removesuffix(".tar.gz") + ".json"


def _verify(item: Record, bucket: str) -> None:
    """Raise `RuntimeError` unless an archive has the checksum and the digest of its manifest.

    Manifests of older versions have no checksum.
    """
    s3, key = boto3.client("s3"), item["key"]
    manifest = json.loads(s3.get_object(Bucket=bucket, Key=_manifest_key(key))["Body"].read())
    head = s3.head_object(Bucket=bucket, Key=key, ChecksumMode="ENABLED")
    checksum = head.get("ChecksumSHA256", "")
    recorded = manifest["archive"].get("checksum", checksum)
    if (checksum, item["digest"]) != (recorded, manifest["digest"]):
        raise RuntimeError(
            f"s3://{bucket}/{key} has the SHA-256 {checksum or '(none)'}, and its manifest "
            f"records {recorded} of the digest {manifest['digest']}: the archive was replaced. "
            "Delete both, and deploy again"
        )


def _is_transient(error: Exception) -> bool:
    """Return whether the same call may succeed later."""
    if not isinstance(error, ClientError):
        return True  # a connection error
    code, message = error.response["Error"]["Code"], error.response["Error"].get("Message", "")
    if code == "AccountLimitExceededException":
        return NO_QUOTA not in message
    status = error.response["ResponseMetadata"]["HTTPStatusCode"]
    return "Throttl" in code or status == 429 or status >= 500


def _has_run(build: "BuildTypeDef") -> bool:
    """Return whether a failed build has reached the phase in which it builds models."""
    return any(phase.get("phaseType") == "BUILD" for phase in build.get("phases", []))


def _may_succeed(build: "BuildTypeDef") -> bool:
    """Return whether another build may build the archives that this one has not built."""
    died = (
        build["buildStatus"] in ("FAILED", "FAULT", "TIMED_OUT")
        and _has_run(build)
        and len([*_lines(build)]) > 1
        and not _logged_errors(build)
    )
    return bool(_pull_error(build)) or died


def _general_reason(build: "BuildTypeDef", errors: Sequence[str], models: set[str]) -> str:
    """Return the reason of a failed build for the models that its log does not name."""
    status = build["buildStatus"].replace("_", " ").lower()
    general = [text for text in errors if text.partition(": ")[0] not in models]
    logged = f": {general[-1]}" if general else ""
    if build["buildStatus"] == "SUCCEEDED":
        return "build succeeded without a manifest"
    return f"build {status}{_pull_error(build) or logged or _failed_phase(build)}"


def _pull_error(build: "BuildTypeDef") -> str:
    """Return the reason that the image could not be pulled, or an empty string."""
    for phase in build.get("phases", []):
        for context in phase.get("contexts", []):
            if context.get("statusCode") == PULL_FAILED:
                return f", its image could not be pulled: {context.get('message', '')}"
    return ""


def _logged_errors(build: "BuildTypeDef") -> list[str]:
    """Return the texts after `error: ` in the build's log; empty if there is no log."""
    log = build.get("logs", {})
    if "groupName" not in log or "streamName" not in log:
        return []  # the build never ran
    try:
        events = boto3.client("logs").get_log_events(
            logGroupName=log["groupName"], logStreamName=log["streamName"], startFromHead=False
        )["events"]
    except ClientError:  # the log is optional in the error message
        return []
    lines = [line for event in events for line in event["message"].splitlines()]
    return [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]


def _failed_phase(build: "BuildTypeDef") -> str:
    for phase in build.get("phases", []):
        if phase.get("phaseStatus") not in (None, "SUCCEEDED"):
            reasons = [f": {context['message']}" for context in phase.get("contexts", ())[:1]]
            return "".join([f" in phase {phase['phaseType']}", *reasons])
    return ""
