"""A tree with an app of a few lines."""

import json
from pathlib import Path

import pytest

from release.tree import CheckoutError, NotSynthesised, StageFile, Tree, templates

APP = """
import json, os, pathlib
import triton_sagemaker
seen = {"context": json.loads(os.environ["CDK_CONTEXT_JSON"]), "from": triton_sagemaker.__file__}
path = pathlib.Path(os.environ["CDK_OUTDIR"], "prod-text.template.json")
path.write_text(json.dumps(seen))
"""


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    (tmp_path / "stages").mkdir()
    for name in ("prod", "dev"):
        (tmp_path / "stages" / f"{name}.yaml").write_text("region: us-east-1\n")
    (tmp_path / "cdk.json").write_text('{"context": {"flag": true}}')
    (tmp_path / "constructs" / "triton_sagemaker").mkdir(parents=True)
    (tmp_path / "constructs" / "triton_sagemaker" / "__init__.py").touch()
    return Tree(tmp_path)


def test_a_tree_names_its_stages(tree: Tree) -> None:
    (tree.root / "stages" / "schema.py").touch()
    assert tree.stages() == ["dev", "prod"]


def test_a_stage_says_where_it_is_and_whether_it_is_production(tree: Tree) -> None:
    assert tree.stage("dev") == StageFile(region="us-east-1", production=False)
    (tree.root / "stages" / "prod.yaml").write_text("region: eu-west-1\nproduction: true\n")
    assert tree.stage("prod") == StageFile(region="eu-west-1", production=True)


def test_a_stage_that_is_not_there_is_named(tree: Tree) -> None:
    with pytest.raises(CheckoutError) as refused:
        tree.stage("pord")
    assert str(refused.value) == (
        "no stage 'pord': did you mean prod? stages are dev, prod (one YAML file each in stages/)"
    )
    with pytest.raises(CheckoutError, match=r"^no stage 'zzz': stages are dev, prod "):
        tree.stage("zzz")


@pytest.mark.parametrize(
    "content", ["release: '25.09'\n", "region: ''\n", "region:\n", "", "- a\n", "a: [\n"]
)
def test_a_stage_without_a_region_is_named(tree: Tree, content: str) -> None:
    (tree.root / "stages" / "prod.yaml").write_text(content)
    with pytest.raises(CheckoutError, match=r"stages/prod\.yaml has no region"):
        tree.stage("prod")


def test_an_app_runs_with_its_own_packages_and_the_context_of_the_cli(
    tree: Tree, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (tree.root / "app.py").write_text(APP)
    out = tmp_path_factory.mktemp("out")
    tree.synthesise("prod", to=out)
    assert templates(out) == {
        "prod-text": {
            "context": {
                "flag": True,
                "aws:cdk:enable-asset-metadata": True,
                "aws:cdk:enable-path-metadata": True,
                "stage": "prod",
            },
            "from": str(tree.root / "constructs" / "triton_sagemaker" / "__init__.py"),
        }
    }
    assert not list(tree.root.rglob("__pycache__"))


@pytest.mark.parametrize(
    ("app", "reason"),
    [
        (
            "import sys; sys.exit('error: stages/prod.yaml:3\\n  no models')",
            "stages/prod.yaml:3\n  no models",
        ),
        ("{}['name']", "KeyError: 'name'"),
        (
            "import sys\nprint('ERROR no flow log', file=sys.stderr)\nraise OSError('a\\n  b')",
            "ERROR no flow log\nOSError: a\n  b",
        ),
        ("import sys; sys.exit(4)", "exit code 4"),
    ],
    ids=["its own error", "a traceback", "a finding and a traceback", "nothing"],
)
def test_an_app_that_fails_is_quoted_without_its_traceback(
    tree: Tree, app: str, reason: str
) -> None:
    (tree.root / "app.py").write_text(app)
    with pytest.raises(NotSynthesised) as raised:
        tree.synthesise("prod", to=tree.root)
    assert str(raised.value) == reason


REFUSED = """
import json, os, pathlib, sys
out = pathlib.Path(os.environ["CDK_OUTDIR"])
role = {"Type": "AWS::IAM::Role", "Metadata": {"aws:cdk:path": "a/Role/Resource"}}
(out / "prod-text.template.json").write_text(json.dumps({"Resources": {"Role1": role}}, indent=1))
found = {
    "ruleName": "AwsSolutions-IAM5",
    "description": "A wildcard.",
    "severity": "error",
    "violatingConstructs": [{"constructPath": "a/Role/Resource"}, {"constructPath": "a"}],
}
minor = {**found, "severity": "warning"}
report = {"pluginReports": [{"violations": [found, minor]}]}
(out / "validation-report.json").write_text(json.dumps(report))
raise RuntimeError("Validation failed. A copy of this report can be found in: ../gone")
"""


def test_what_cdk_nag_refuses_is_told_by_rule_resource_and_line(tree: Tree, tmp_path: Path) -> None:
    (tree.root / "app.py").write_text(REFUSED)
    with pytest.raises(NotSynthesised) as raised:
        tree.synthesise("prod", to=tmp_path)
    assert str(raised.value).splitlines() == [
        "AwsSolutions-IAM5: a/Role/Resource (line 3 of prod-text.template.json): A wildcard.",
        "AwsSolutions-IAM5: a: A wildcard.",
    ]


@pytest.mark.parametrize("content", [None, "{"])
def test_a_tree_without_the_settings_of_the_cdk_is_not_synthesised(
    tree: Tree, tmp_path: Path, content: str | None
) -> None:
    (tree.root / "cdk.json").unlink()
    if content is not None:
        (tree.root / "cdk.json").write_text(content)
    with pytest.raises(NotSynthesised, match=r"cdk\.json: "):
        tree.synthesise("prod", to=tmp_path)


def test_an_assembly_has_a_template_for_each_stack(tmp_path: Path) -> None:
    (tmp_path / "prod-text.template.json").write_text('{"Resources": {}}')
    (tmp_path / "manifest.json").write_text(json.dumps({}))
    assert templates(tmp_path) == {"prod-text": {"Resources": {}}}
