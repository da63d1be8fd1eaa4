"""ModelBuilder: build project, timeouts and order of builds."""

import json
import re
import sys
from pathlib import Path

from aws_cdk import App
from aws_cdk.assertions import Template

from tests.processes import run_program
from tests.synth.endpoints import model_stack, properties_of, trial_stage
from triton_sagemaker.build_handler import index


def test_build_timeouts_are_below_the_provider_timeout(
    models_template: Template, endpoint_template: Template
) -> None:
    # The provider timeout exceeds the build wait, so that the error of the build is reported, and
    # is below one hour, the timeout of CloudFormation for custom resources.
    (build,) = properties_of(endpoint_template, "Custom::TritonModels")
    (waiter,) = properties_of(models_template, "AWS::StepFunctions::StateMachine", "Builder")
    polls = re.search(
        r'"IntervalSeconds":(\d+),"MaxAttempts":(\d+),"BackoffRate":1[,}]',
        json.dumps(waiter["DefinitionString"]).replace("\\", ""),
    )
    assert polls is not None
    provider_minutes = int(polls[1]) * int(polls[2]) / 60
    wait_minutes = int(build["WaitMinutes"]) + index.GRACE_SECONDS / 60
    assert wait_minutes < provider_minutes <= 55


def test_builder_asset_excludes_prices_and_rules(tmp_path: Path) -> None:
    # Prices change every month, and a changed builder needs a deploy of every stage.
    model_stack(App(outdir=str(tmp_path)), trial_stage())
    (facts,) = tmp_path.glob("asset.*/platform_facts")
    assert (facts / "releases.toml").is_file()
    assert not (facts / "prices.toml").exists()
    assert not (facts / "rules" / "stage.py").exists()
    assert [path.name for path in facts.parent.glob("requirements*/**/*")] == ["build.txt"]
    for command in ("build-list", "publish"):  # with the modules of the asset alone
        arguments = (sys.executable, "-m", "model_build", command, "--help")
        run_program(*arguments, cwd=facts.parent)
