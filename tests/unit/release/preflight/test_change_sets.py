"""Change sets that the cdk CLI makes, and what a finding says of them."""

import sys
from collections.abc import Callable
from typing import Any

import pytest

import cdk_cli
from release.preflight import change_sets
from release.preflight.findings import Verdict
from tests.unit.release.preflight.conftest import Aws, MakeAccount

Cli = Callable[..., list[tuple[str, ...]]]
MODELS: dict[str, Any] = {"Bucket": ("AWS::S3::Bucket", {})}
IMPORTS = {
    "Model": ("AWS::SageMaker::Model", {"Url": {"Fn::ImportValue": "prod-models:Bucket"}}),
}


@pytest.fixture
def cli(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Return a function that lets the CLI fail with these reasons, and returns its runs."""
    aws.answers["cloudformation.ListExports"] = {"Exports": []}
    runs: list[tuple[str, ...]] = []

    def prepare(*reasons: str) -> list[tuple[str, ...]]:
        def run(*arguments: str, **_: Any) -> cdk_cli.Result:
            runs.append(arguments)
            sys.stdout.write("the difference")
            return cdk_cli.Result(not reasons, reasons)

        monkeypatch.setattr(cdk_cli, "run", run)
        return runs

    return prepare


def test_a_change_set_of_each_stack_is_made_by_the_cli_which_uploads_templates_alone(
    make: MakeAccount, cli: Cli, capsys: pytest.CaptureFixture[str]
) -> None:
    runs, account = cli(), make(prod_models=MODELS)
    (finding,) = change_sets.check(account)
    assert (finding.verdict, finding.subject) == (Verdict.OK, "prod-models")
    options = "--exclusively", "--method=change-set"
    assert runs == [("diff", "prod-models", "--app", str(account.assembly), *options)]
    assert capsys.readouterr().out == "", "JSON alone is on stdout"


def test_what_cloudformation_refuses_is_refused_with_its_reasons(
    make: MakeAccount, cli: Cli
) -> None:
    cli("Early validation failed", "prod-models/Bucket: it exists")
    (finding,) = change_sets.check(make(prod_models=MODELS))
    assert finding.verdict is Verdict.REFUSED
    assert finding.message == "Early validation failed; prod-models/Bucket: it exists"


def test_a_stack_whose_imports_are_not_exported_yet_is_unknown(
    make: MakeAccount, aws: Aws, cli: Cli
) -> None:
    runs, account = cli(), make(prod_text=IMPORTS)
    (finding,) = change_sets.check(account)
    assert finding.verdict is Verdict.UNKNOWN
    assert finding.message == "depends on prod-models, which is not deployed"
    assert runs == []
    exports = [{"Name": "prod-models:Bucket"}]
    aws.answers["cloudformation.ListExports"] = {"Exports": exports}
    (finding,) = change_sets.check(account)
    assert finding.verdict is Verdict.OK


@pytest.mark.parametrize(
    "template",
    [
        {"Resources": {}, "Transform": "AWS::Serverless-2016-10-31"},
        {"Resources": {"A": {"Type": "T", "Properties": {"Fn::Transform": {"Name": "Any"}}}}},
    ],
)
def test_a_transform_is_refused_and_not_run(
    make: MakeAccount, cli: Cli, template: dict[str, Any]
) -> None:
    runs = cli()
    (finding,) = change_sets.check(make(prod_text=template))
    assert finding.verdict is Verdict.REFUSED
    assert runs == []
