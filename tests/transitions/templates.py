"""The templates of many states of one stage, synthesised by one app."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from aws_cdk import App, Environment
from pydantic import ValidationError

from local_sagemaker.environment import ACCOUNT, REGION
from local_sagemaker.tests.support.tiny_models import times, write_python
from model_build import ModelPlan, find_model, plan_model
from stacks.capture_stack import CaptureStack
from stacks.endpoint_stack import EndpointStack
from stacks.model_stack import ModelStack
from stacks.network_stack import NetworkStack
from stages import StageConfig, plan
from tests.transitions.pairs import State, merge

ROOT = Path(__file__).parents[2]
CONTEXT = json.loads((ROOT / "cdk.json").read_text())["context"]
STAGE, ENDPOINT, BUCKET = "trial", "text", "models"

Template = dict[str, Any]


def stage_of(state: State) -> dict[str, Any]:
    """Return a state as a stage's file has it."""
    endpoint = {**state["endpoint"], "models": list(state["models"])}
    rest = {name: each for name, each in state.items() if name not in ("endpoint", "models")}
    return {"account": ACCOUNT, "region": REGION, **rest, "endpoints": {ENDPOINT: endpoint}}


class Templates:
    """Templates of endpoint stacks; below `folder`, models are in folders named by their versions.

    `app` is where the assembly with all stacks is.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self.app = folder, folder / "cdk.out"
        self._plans: dict[tuple[str, int], ModelPlan] = {}

    def of(self, states: Sequence[State]) -> list[Template | str]:
        """Return each state's template, or why it has none.

        What other stacks export is filled in.
        """
        return [each if isinstance(each, str) else _imported(each) for each in self.alone(states)]

    def alone(self, states: Sequence[State]) -> list[Template | str]:
        """Return each state's template, or why it has none; the others' are in `app`."""
        app = App(context=CONTEXT, outdir=str(self.app), stack_traces=False)
        env = Environment(account=ACCOUNT, region=REGION)
        # What the stack that stays is called is all that the others take of it.
        any_stage = StageConfig.model_validate(stage_of(states[0]))
        models = ModelStack(app, f"{STAGE}-models", stage_name=STAGE, stage=any_stage, env=env)
        network = NetworkStack(app, f"{STAGE}-network", env=env)
        records = merge(stage_of(states[0]), {"endpoints": {ENDPOINT: {"data_capture": {}}}})
        capture = CaptureStack(
            app, f"{STAGE}-capture", stage=StageConfig.model_validate(records), env=env
        )
        made: list[EndpointStack | str] = []
        for number, state in enumerate(states):
            try:
                stage = StageConfig.model_validate(stage_of(state))
                name = f"stack-{number}"
                stack = self._stack(app, name, state, stage, models, network, capture, env)
            except ValidationError as error:
                made.append("; ".join(each["msg"] for each in error.errors()))
                continue
            problems = stack.endpoint.problems
            if problems:
                app.node.try_remove_child(name)
            made.append("; ".join(map(str, problems)) if problems else stack)
        assembly = app.synth()
        return [
            each
            if isinstance(each, str)
            else _resources(assembly.get_stack_by_name(each.stack_name).template)
            for each in made
        ]

    def _stack(
        self,
        app: App,
        construct_id: str,
        state: State,
        stage: StageConfig,
        models: ModelStack,
        network: NetworkStack,
        capture: CaptureStack,
        env: Environment,
    ) -> EndpointStack:
        with patch.object(
            plan, "planned_model", lambda name: self._plan(name, state["models"][name])
        ):
            planned = plan.StagePlan.of(STAGE, stage).endpoints[ENDPOINT]
        return EndpointStack(
            app,
            construct_id,
            stage_name=STAGE,
            stage=stage,
            plan=planned,
            models=models,
            network=network if stage.private_network else None,
            captured=capture.bucket if stage.captures else None,
            env=env,
        )

    def _plan(self, name: str, version: int) -> ModelPlan:
        if (name, version) not in self._plans:
            folder = self._folder / str(version)
            write_python(folder / name, times(version))
            self._plans[name, version] = plan_model(find_model(folder, name))
        return self._plans[name, version]


def _resources(template: Template) -> Template:
    """Return a template without what asks which version of the bootstrap stack there is."""
    return {"Resources": template["Resources"]}


def _imported(value: Any) -> Any:
    """Return a template with something in the place of what the stacks that stay export."""
    match value:
        case {"Fn::ImportValue": str(name)}:
            if "RefModelsBucket" in name:
                return BUCKET
            arn = f"arn:aws:any:{REGION}:{ACCOUNT}:one"
            return arn if "Arn" in name else f"of-{name[-12:].lower()}"
        case dict():
            return {name: _imported(each) for name, each in value.items()}
        case list():
            return [_imported(each) for each in value]
    return value
