"""Invoke the models of a stage and compare their answers with the golden files."""

import time
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import boto3

from endpoint_client import EndpointClient, EndpointError
from release.delivery import golden
from release.delivery.errors import Unfinished, unanswered
from release.delivery.golden import Golden
from release.delivery.steps import say, step

AT_ONCE = 16
"""Endpoints, and inference components, that are invoked in parallel."""

WAKE_SECONDS = 900.0
"""For an inference component that has scaled to zero: on ml.g5.xlarge, the first answer came after
9 min 24 s (huggingface/skills, hf-cloud-sagemaker-production-defaults, measured on AWS)."""

ANSWER_SECONDS = 7 * 60
"""For the last model, once the time is over: all attempts of the client."""


class ModelAnswers(NamedTuple):
    """A line for each wrong answer, and the models that were not invoked."""

    wrong: list[str]
    not_invoked: list[str]


def invoke_all(
    session: boto3.Session,
    stage: str,
    endpoints: Mapping[str, Mapping[str, str]],
    models: Path,
    *,
    components: Collection[str] = (),
    deadline: float,
) -> ModelAnswers:
    """Invoke every model that has a golden file, and compare its answer.

    `endpoints` is short name -> model -> version. Endpoints are invoked in parallel, the models of
    an endpoint one after the other, because it may have to load each; those of endpoints in
    `components` in parallel, because each may have to wake up, which takes minutes. A model whose
    file has only inputs must answer, and its answer is not compared. A model without a file is not
    invoked: a generated request may do anything in production. Raise `Unfinished` if a model is
    left at `deadline`, in `time.monotonic` seconds.
    """
    answers = ModelAnswers([], [])

    def invoke(turn: tuple[str, Mapping[str, str]]) -> ModelAnswers:
        endpoint, versions = turn
        client = _client(session, stage, endpoint)
        return _invoke(client, f"{stage}-{endpoint}", versions, models, deadline)

    turns = [
        (endpoint, versions)
        for endpoint, all_versions in endpoints.items()
        for versions in (_apart(all_versions) if endpoint in components else [all_versions])
    ]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for wrong, not_invoked in pool.map(invoke, turns):
            answers.wrong.extend(wrong)
            answers.not_invoked.extend(not_invoked)
    return answers


def write_golden(
    session: boto3.Session, stage: str, endpoints: Iterable[str], model: str, path: Path
) -> None:
    """Write the answer of the deployed model to the inputs in `path`. Raise `EndpointError`."""
    content = Golden.read(path)
    for endpoint in endpoints:
        client = _client(session, stage, endpoint)
        if model in client.models():
            with step(f"invoke {model} of {stage}-{endpoint}"):
                answer = client.invoke(model, content.arrays())
            path.write_text(content.with_outputs(answer).written())
            return
    raise EndpointError(f"no endpoint of {stage} serves {model}: deploy it first")


def _apart(versions: Mapping[str, str]) -> list[Mapping[str, str]]:
    return [{model: version} for model, version in versions.items()]


def _invoke(
    client: EndpointClient,
    endpoint: str,
    versions: Mapping[str, str],
    models: Path,
    deadline: float,
) -> ModelAnswers:
    answers = ModelAnswers([], [])
    for model, version in versions.items():
        name, path = f"{endpoint}/{model}", golden.path_of(models, model)
        expected = Golden.read(path) if path else None
        if expected is None or not (expected.inputs or expected.outputs):
            answers.not_invoked.append(name)
            continue
        if not expected.outputs:
            say(f"! {name} is invoked, and its answer not compared: no outputs in {golden.FILE}")
        left = deadline - time.monotonic()
        if left <= 0:
            raise Unfinished(f"everything is deployed, and {name} not invoked yet")
        try:
            answer = client.invoke(model, expected.arrays(), timeout=left + ANSWER_SECONDS)
            differences = expected.differences(answer)
        except EndpointError as error:
            if unanswered(error):
                raise
            differences = [str(error)]
        if differences:
            answers.wrong.append(f"{name} {version}: {'; '.join(differences)}")
    return answers


def _client(session: boto3.Session, stage: str, endpoint: str) -> EndpointClient:
    return EndpointClient(
        stage=stage, endpoint=endpoint, session=session, wait_until_ready=WAKE_SECONDS
    )
