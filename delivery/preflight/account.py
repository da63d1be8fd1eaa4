"""The AWS account of a stage, the plan and the templates to deploy to it, and findings about it."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import boto3
from botocore.exceptions import ClientError, NoCredentialsError

from delivery.aws import client
from plan.document import Plan
from release.checkout import Checkout
from release.templates import resources, templates


class Verdict(StrEnum):
    """The result of a check.

    REFUSED: a deploy would fail. UNKNOWN: the check had no result, which stops no delivery.
    """

    OK = "ok"
    REFUSED = "refused"
    UNKNOWN = "unknown"


MARKS = {Verdict.OK: "✓", Verdict.REFUSED: "✗", Verdict.UNKNOWN: "?"}


@dataclass(frozen=True)
class CheckFinding:
    """The result of a check for one subject; `fix` is empty if no fix is needed."""

    verdict: Verdict
    subject: str
    message: str
    fix: str = ""
    check: str = ""


def ok(subject: str, message: str, fix: str = "") -> CheckFinding:
    """Return a finding that does not stop a deploy."""
    return CheckFinding(Verdict.OK, subject, message, fix)


def refused(subject: str, message: str, fix: str) -> CheckFinding:
    """Return a finding that would make a deploy fail."""
    return CheckFinding(Verdict.REFUSED, subject, message, fix)


def unknown(subject: str, message: str, fix: str = "") -> CheckFinding:
    """Return a finding of a check without a result."""
    return CheckFinding(Verdict.UNKNOWN, subject, message, fix)


def table(findings: Sequence[CheckFinding]) -> str:
    """Return one block per check, one line per finding, and the number of each verdict."""
    lines: list[str] = []
    for check, group in groupby(findings, key=lambda finding: finding.check):
        lines.append(check)
        for finding in group:
            lines.append(f"  {MARKS[finding.verdict]} {finding.subject}: {finding.message}")
            if finding.fix:
                lines.append(f"    → {finding.fix}")
        lines.append("")
    counts = Counter(finding.verdict for finding in findings)
    return "\n".join([*lines, ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict)])


def as_json(findings: Sequence[CheckFinding]) -> str:
    """Return `{"findings": [{"check", "subject", "verdict", "message", "fix"}]}`."""
    return json.dumps({"findings": list(map(asdict, findings))}, indent=2, ensure_ascii=False)


class NoCredentials(Exception):
    """Credentials are missing or invalid; the message is from AWS."""


@dataclass(frozen=True)
class Caller:
    """The caller's account and ARN (STS GetCallerIdentity)."""

    account: str
    arn: str


@dataclass(frozen=True)
class Account:
    """The account of a stage.

    `session` is in the stage's region, `tree` the checkout to deploy, `assembly` the folder of its
    cloud assembly.
    """

    session: boto3.Session
    caller: Caller
    tree: Checkout
    stage: str
    assembly: Path
    _clients: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def region(self) -> str:
        """The stage's region."""
        return str(self.session.region_name)

    def client(self, service: str) -> Any:
        """Return a client in the stage's region."""
        if service not in self._clients:
            self._clients[service] = client(self.session, service)
        return self._clients[service]

    @cached_property
    def plan(self) -> Plan:
        """The plan of the stage."""
        return Plan.read(self.assembly)

    def resources(self, resource_type: str) -> Iterator[Any]:
        """Yield the properties of each resource of a type in the templates."""
        for template in templates(self.assembly).values():
            for _, properties in resources(template, resource_type):
                yield properties


def caller(session: boto3.Session) -> Caller:
    """Return the caller. Raise `NoCredentials`, or `BotoCoreError` if AWS cannot be reached."""
    try:
        identity = client(session, "sts").get_caller_identity()
    except NoCredentialsError:
        raise NoCredentials("none found: run aws configure, or set AWS_PROFILE") from None
    except ClientError as error:  # the call needs no permission (STS API reference)
        region = session.region_name
        raise NoCredentials(
            f"{error.response['Error']['Message']} Or {region} is not enabled in this account: "
            f"aws account enable-region --region-name {region}"
        ) from None
    return Caller(identity["Account"], identity["Arn"])


@contextmanager
def account_of(tree: Checkout, stage: str) -> Iterator[Account]:
    """Provide the account of a stage, with the stage's assembly, during the `with` block.

    Raise `CheckoutError`, `NotSynthesised`, `NoCredentials` and `BotoCoreError`.
    """
    session = boto3.Session(region_name=tree.stage(stage).region)
    identity = caller(session)
    with TemporaryDirectory(prefix="preflight-") as folder:
        tree.synthesise(stage, to=Path(folder))
        yield Account(session, identity, tree, stage, Path(folder))
