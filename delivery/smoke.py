"""Invoke the models of a stage and compare their answers with the golden files."""

import json
import os
import re
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import boto3

from delivery.errors import Unfinished, is_caller_error
from delivery.steps import say, step
from endpoint_client import EndpointClient, EndpointError, NoCopies
from endpoint_client._payload import Array, Inputs
from plan import catalog, golden
from plan.golden import Golden

if TYPE_CHECKING:
    from mypy_boto3_sagemaker import SageMakerClient

CONCURRENCY = 16
"""Maximum number of endpoints and inference components that are invoked in parallel."""

WAKE_SECONDS = 900.0
"""Time for an inference component to scale up from zero: on ml.g5.xlarge, the first answer took
9 min 24 s (huggingface/skills, hf-cloud-sagemaker-production-defaults, measured on AWS)."""
WAKE_PAUSE_SECONDS = 2.0
"""Pause between calls of a component without a copy, shorter than a copy without calls serves."""
MAX_LOST_COPIES = 2
"""A component has lost its copies this often before it answered: no wait will help."""

ANSWER_SECONDS = 7 * 60
"""Time for all attempts of the client to invoke the last model after the deadline."""

BACKEND = re.compile(r"""^\s*(?:backend|platform)\s*:\s*["'](\w+)["']""", re.MULTILINE)


class SmokeTestResult(NamedTuple):
    """A message for each wrong answer, and the names of models that were not invoked."""

    wrong_answers: list[str]
    uninvoked_models: list[str]


def invoke_all(
    session: boto3.Session,
    stage: str,
    endpoints: Mapping[str, Mapping[str, str]],
    models: Path,
    *,
    component_endpoints: Collection[str] = (),
    deadline: float,
    wake_seconds: float = WAKE_SECONDS,
) -> SmokeTestResult:
    """Invoke every model that has a golden file, and compare its answer.

    `endpoints` is short name -> model -> version. Endpoints are invoked in parallel. The models of
    an endpoint are invoked one after the other, because the endpoint may have to load each of them.
    The models of endpoints in `component_endpoints` are invoked in parallel, because each component
    may have to scale up, which takes up to `wake_seconds`; one that loses its copies again and
    again is given up. If a file has only inputs, the model must answer, but the answer is not
    compared. A model without a file is not invoked, because a generated request could cause damage
    in production. Raise `Unfinished` if a model was not invoked before `deadline`
    (`time.monotonic` seconds).
    """
    result = SmokeTestResult([], [])

    def invoke(batch: tuple[str, Mapping[str, str]]) -> SmokeTestResult:
        endpoint, versions = batch
        invoke_model: Callable[..., dict[str, Array]]
        if endpoint in component_endpoints:
            client = _client(session, stage, endpoint, wait_until_ready=0)
            sagemaker = session.client("sagemaker")
            invoke_model = partial(_wake_and_invoke, client, sagemaker, wake_seconds)
        else:
            invoke_model = _client(session, stage, endpoint).invoke
        return _invoke(invoke_model, f"{stage}-{endpoint}", versions, models, deadline)

    batches: list[tuple[str, Mapping[str, str]]] = []
    for endpoint, versions in endpoints.items():
        if endpoint in component_endpoints:
            batches += [(endpoint, {model: version}) for model, version in versions.items()]
        else:
            batches.append((endpoint, versions))
    with ThreadPoolExecutor(CONCURRENCY) as pool:
        for batch_result in pool.map(invoke, batches):
            result.wrong_answers.extend(batch_result.wrong_answers)
            result.uninvoked_models.extend(batch_result.uninvoked_models)
    return result


def write_golden(session: boto3.Session, stage: str, model: str, path: Path) -> None:
    """Invoke a deployed model with the inputs in `path`; add its outputs to the file.

    Raise `EndpointError` if no endpoint of the stage's catalog serves the model.
    """
    content = Golden.read(path)
    for revision in catalog.listed(session.client("dynamodb"), stage):
        if revision.model == model:
            with step(f"invoke {model} of {stage}-{revision.endpoint}"):
                client = _client(session, stage, revision.endpoint)
                answer = client.invoke(model, content.arrays())
            stand_ins = local_stand_ins(path.parents[1])
            path.write_text(content.with_outputs(answer, stand_ins).to_json())
            return
    raise EndpointError(f"no endpoint of {stage} serves {model}: deploy it first")


def local_stand_ins(model: Path) -> str | None:
    """Return the stand-ins of the local SageMaker that compute a model's outputs, None on AWS.

    `tritonsm env` and `--local` set `TRITON_STAND_INS`. `model` is the model's folder.
    """
    stand_ins = os.environ.get("TRITON_STAND_INS")
    if not stand_ins or "AWS_ENDPOINT_URL" not in os.environ:
        return None
    configs = [path.read_text(errors="replace") for path in sorted(model.rglob("config.pbtxt"))]
    # The platforms are onnxruntime_onnx and pytorch_libtorch.
    used = {name.partition("_")[0] for config in configs for name in BACKEND.findall(config)}
    frameworks = [name for backend, name in json.loads(stand_ins).items() if backend in used]
    return f"local SageMaker: {', '.join(frameworks)}" if frameworks else None


def _wake_and_invoke(
    client: EndpointClient,
    sagemaker: "SageMakerClient",
    wake_seconds: float,
    model: str,
    inputs: Inputs,
    *,
    timeout: float,
) -> dict[str, Array]:
    """Return the outputs of an inference component; wait while it starts a copy.

    Raise `NoCopies` after `wake_seconds`, or if it has lost its copies `MAX_LOST_COPIES` times.
    """
    component = client.resolve(model).inference_component or model
    end, lost, had_copies = time.monotonic() + wake_seconds, 0, False
    while True:
        try:
            return client.invoke(model, inputs, timeout=timeout)
        except NoCopies:
            if time.monotonic() >= end:
                raise
        described = sagemaker.describe_inference_component(InferenceComponentName=component)
        has_copies = described["RuntimeConfig"].get("CurrentCopyCount", 0) > 0
        lost, had_copies = lost + (had_copies and not has_copies), has_copies
        if lost >= MAX_LOST_COPIES:
            raise NoCopies(
                f"{component} started copies and lost them {lost} times before it answered: read "
                f"why in its log (aws logs tail /aws/sagemaker/InferenceComponents/{component}) "
                "and in aws application-autoscaling describe-scaling-activities "
                f"--service-namespace sagemaker --resource-id inference-component/{component}"
            )
        time.sleep(WAKE_PAUSE_SECONDS)


def _invoke(
    invoke_model: Callable[..., dict[str, Array]],
    endpoint: str,
    versions: Mapping[str, str],
    models: Path,
    deadline: float,
) -> SmokeTestResult:
    result = SmokeTestResult([], [])
    for model, version in versions.items():
        name, path = f"{endpoint}/{model}", golden.golden_path(models, model)
        expected = Golden.read(path) if path else None
        if expected is None or not (expected.inputs or expected.outputs):
            result.uninvoked_models.append(name)
            continue
        if not expected.outputs:
            say(f"! the answer of {name} is not compared: no outputs in {golden.FILE}")
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            raise Unfinished(f"everything is deployed, but {name} was not invoked in time")
        try:
            answer = invoke_model(model, expected.arrays(), timeout=remaining + ANSWER_SECONDS)
            differences = expected.differences(answer)
        except EndpointError as error:
            if is_caller_error(error):
                raise
            differences = [str(error)]
        if differences:
            result.wrong_answers.append(f"{name} {version}: {'; '.join(differences)}")
    return result


def _client(
    session: boto3.Session, stage: str, endpoint: str, *, wait_until_ready: float = WAKE_SECONDS
) -> EndpointClient:
    return EndpointClient(
        stage=stage, endpoint=endpoint, session=session, wait_until_ready=wait_until_ready
    )
