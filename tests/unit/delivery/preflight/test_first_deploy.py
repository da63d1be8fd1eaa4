"""Tests of the version of `cdk bootstrap` in a fresh account."""

import json
from typing import Any

import pytest

from delivery.preflight.account import Account, CheckFinding, Verdict
from delivery.preflight.checks import check_bootstrap
from tests.unit.delivery.preflight.conftest import Aws, error

PARAMETER = "/cdk-bootstrap/hnb659fds/version"


def bootstrap(account: Account, *parameters: str) -> list[CheckFinding]:
    """Return the findings for stacks with these bootstrap parameters, which need version 6."""
    artifacts: dict[str, Any] = {"tree": {"type": "cdk:tree"}}
    for number, parameter in enumerate(parameters):
        required = {"requiresBootstrapStackVersion": 6}
        properties = {**required, "bootstrapStackVersionSsmParameter": parameter}
        artifacts[str(number)] = {"properties": properties}
    (account.assembly / "manifest.json").write_text(json.dumps({"artifacts": artifacts}))
    return list(check_bootstrap(account))


@pytest.mark.parametrize(("version", "verdict"), [("6", Verdict.OK), ("5", Verdict.REFUSED)])
def test_bootstrap_is_compared_with_the_stacks(aws: Aws, version: str, verdict: Verdict) -> None:
    aws.answers["ssm.GetParameter"] = {"Parameter": {"Value": version}}
    (finding,) = bootstrap(aws.account(), PARAMETER, PARAMETER)
    assert finding.verdict is verdict
    assert aws.requests("ssm.GetParameter") == [{"Name": PARAMETER}]


def test_missing_bootstrap_names_its_command(aws: Aws) -> None:
    aws.answers["ssm.GetParameter"] = error("ParameterNotFound")
    (finding,) = bootstrap(aws.account(), "/cdk-bootstrap/team1/version")
    assert finding.verdict is Verdict.REFUSED
    command = "cdk bootstrap aws://111122223333/us-east-1"
    assert finding.fix == f"{command} --qualifier team1 --toolkit-stack-name CDKToolkit-team1"
    (finding,) = bootstrap(aws.account(), PARAMETER)
    assert finding.fix == command
