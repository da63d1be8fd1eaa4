"""The YAML and Python blocks of the README and of the docs."""

import ast
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml

from model_build.recipe import Recipe
from platform_facts.rules import checked_yaml
from review.acknowledged import Acknowledgements
from stages.load import load_stage
from stages.plan import PlannedStage
from stages.schema.endpoint import EndpointConfig
from stages.schema.stage import StageConfig
from tests.processes import run_program
from tests.unit.test_repository import ROOT

PAGES = [ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("local_sagemaker/**/*.md")]
ENDPOINT = {"models": ["minilm"], "instance_type": "ml.g5.xlarge"}
STAGE = {"region": "us-east-1", "release": "25.09", "endpoints": {"text": ENDPOINT}}
ONLY_IN_TRITON = {"triton_python_backend_utils"}


def _blocks(language: str) -> list[Any]:
    """Return the blocks of a language with ids such as `docs/stages.md:101`."""
    blocks = []
    for page in PAGES:
        text = page.read_text()
        for match in re.finditer(rf"^```{language}\n(.*?)^```", text, re.M | re.S):
            line = text.count("\n", 0, match.start()) + 1
            name = str(page.relative_to(ROOT))
            blocks.append(pytest.param(name, match[1], id=f"{name}:{line}"))
    assert blocks
    return blocks


@pytest.mark.parametrize(("page", "block"), _blocks("yaml"))
def test_yaml_block_is_valid_as_what_its_keys_say(page: str, block: str, tmp_path: Path) -> None:
    content = yaml.safe_load(block)
    keys = content.keys()
    if keys <= Acknowledgements.model_fields.keys():
        Acknowledgements.model_validate(content)
        return
    if keys <= Recipe.model_fields.keys():
        text = yaml.safe_dump({"description": "x"} | content)
        checked_yaml.parse(Path("recipe.yaml"), text.encode(), Recipe)
        return
    if keys <= StageConfig.model_fields.keys():
        region = re.search(r"[a-z]{2}-[a-z]+-[0-9]", block)  # that of ARNs and images in it
        stage = STAGE | ({"region": region[0]} if region else {}) | content
    else:
        assert keys <= EndpointConfig.model_fields.keys()
        pools = {"instance_type": None} if "instance_types" in content else {}
        endpoint = {key: value for key, value in (ENDPOINT | content | pools).items() if value}
        stage = STAGE | {"endpoints": {"text": endpoint}}
    # `churn` is the reader's own model, which start.md makes.
    text = yaml.safe_dump(stage).replace("churn", "minilm")
    (tmp_path / "docs.yaml").write_text(text)
    PlannedStage.of("docs", load_stage("docs", tmp_path))


@pytest.mark.parametrize(("page", "block"), _blocks("python"))
def test_names_of_a_python_block_exist(page: str, block: str) -> None:
    if page == "docs/constructs.md":  # its blocks continue the example
        block = (ROOT / "docs" / "examples" / "own_app.py").read_text() + block
    modules: dict[str, Any] = {}
    tree = ast.parse(block)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [name for name in node.names if name.name not in ONLY_IN_TRITON]
            modules |= {name.asname or name.name: import_module(name.name) for name in names}
        elif isinstance(node, ast.ImportFrom):
            module = import_module(str(node.module))
            modules |= {name.asname or name.name: getattr(module, name.name) for name in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            root, *attributes = ast.unparse(node).split(".")
            value = modules.get(root)
            for attribute in attributes if value is not None else ():
                assert hasattr(value, attribute), f"{ast.unparse(node)} does not exist"
                value = getattr(value, attribute)
    command = [
        str(Path(sys.executable).with_name("ruff")),
        "check",
        "--isolated",
        "--select=F",
        "-",
    ]
    run_program(*command, input=block)
