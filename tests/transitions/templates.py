"""Templates of many states of one stage, synthesised by one app."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from aws_cdk import App, Environment
from pydantic import ValidationError

from local_sagemaker.environment import ACCOUNT, REGION
from local_sagemaker.tests.support.tiny_models import times, write_python
from model_build import CheckedModel, check_model, find_model
from plan.document import TimeBudget
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


def stage_content(state: State) -> dict[str, Any]:
    """Return a state as the content of a stage's file."""
    endpoint = {**state["endpoint"], "models": list(state["models"])}
    settings = {key: value for key, value in state.items() if key not in ("endpoint", "models")}
    return {"account": ACCOUNT, "region": REGION, **settings, "endpoints": {ENDPOINT: endpoint}}


class Templates:
    """Templates of endpoint stacks.

    `folder` has a folder of models for each version, `app` is the folder of the cloud assembly.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self.app = folder, folder / "cdk.out"
        self._models: dict[tuple[str, int], CheckedModel] = {}

    def without_imports(self, states: Sequence[State]) -> list[Template | str]:
        """Return the template of each state with resolved imports, or the error of the state."""
        app = App(context=CONTEXT, outdir=str(self.app), stack_traces=False)
        env = Environment(account=ACCOUNT, region=REGION)
        # Endpoint stacks use only the name of the model stack, so the first state is enough.
        any_stage = StageConfig.model_validate(stage_content(states[0]))
        planned = self._planned_stage(states[0], any_stage)
        models = ModelStack(app, f"{STAGE}-models", stage=planned, env=env)
        network = NetworkStack(app, f"{STAGE}-network", env=env, models=models.bucket).network
        content_with_capture = merge(
            stage_content(states[0]), {"endpoints": {ENDPOINT: {"data_capture": {}}}}
        )
        capture = CaptureStack(
            app, f"{STAGE}-capture", stage=StageConfig.model_validate(content_with_capture), env=env
        )
        results: list[EndpointStack | str] = []
        for number, state in enumerate(states):
            try:
                stage = StageConfig.model_validate(stage_content(state))
                stack = EndpointStack(
                    app,
                    f"stack-{number}",
                    stage=self._planned_stage(state, stage),
                    endpoint=ENDPOINT,
                    models=models,
                    network=network if stage.private_network else None,
                    captured=capture.bucket if stage.captures else None,
                    env=env,
                )
            except ValidationError as error:
                results.append("; ".join(detail["msg"] for detail in error.errors()))
                continue
            results.append(stack)
        assembly = app.synth()
        return [
            result
            if isinstance(result, str)
            else _resources(assembly.get_stack_by_name(result.stack_name).template)
            for result in results
        ]

    def _planned_stage(self, state: State, stage: StageConfig) -> plan.PlannedStage:
        # Updates that take longer than a delivery are judged too.
        budget = TimeBudget(rows={}, build_minutes=0)
        with patch.multiple(
            plan,
            checked_model=lambda name: self._model(name, state["models"][name]),
            time_budget=lambda *_, **__: budget,
        ):
            return plan.PlannedStage.of(STAGE, stage)

    def _model(self, name: str, version: int) -> CheckedModel:
        if (name, version) not in self._models:
            folder = self._folder / str(version)
            write_python(folder / name, times(version))
            self._models[name, version] = check_model(find_model(folder, name))
        return self._models[name, version]


def _resources(template: Template) -> Template:
    """Return a template with resources only, without the check of the bootstrap version."""
    return {"Resources": _resolve_imports(template["Resources"])}


def _resolve_imports(value: Any) -> Any:
    """Return a part of a template with fake values for imports."""
    match value:
        case {"Fn::ImportValue": str(name)}:
            if "RefModelsBucket" in name:
                return BUCKET
            arn = f"arn:aws:any:{REGION}:{ACCOUNT}:one"
            return arn if "Arn" in name else f"of-{name[-12:].lower()}"
        case dict():
            return {name: _resolve_imports(part) for name, part in value.items()}
        case list():
            return [_resolve_imports(part) for part in value]
    return value
