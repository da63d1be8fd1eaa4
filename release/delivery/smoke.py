"""Ask every model that a stage serves, and compare with what it must answer."""

import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import boto3

from endpoint_client import EndpointClient, EndpointError
from release.delivery import golden
from release.delivery.errors import Unfinished, unanswered
from release.delivery.golden import Golden, Output
from release.delivery.steps import say, step
from release.stage_resources import StackEndpoint

AT_ONCE = 16
"""Endpoints that are asked side by side."""


@dataclass
class ModelAnswers:
    """What models have answered: the wrong ones, a line each, and the models without inputs."""

    wrong: list[str] = field(default_factory=list)
    not_invoked: list[str] = field(default_factory=list)


def invoke_all(
    session: boto3.Session,
    stage: str,
    endpoints: Iterable[StackEndpoint],
    models: Path,
    *,
    declared: Mapping[str, Mapping[str, str]],
    deadline: float,
) -> ModelAnswers:
    """Invoke every model that has a golden file by its name, and compare the answers.

    `declared` has the versions of an endpoint's models, by its short name and theirs. Endpoints are
    invoked side by side; the models of one after each other, since it may have to load each. A
    model whose file has inputs alone must answer, whatever it answers. One without a file is not
    invoked: a request that nobody wrote may do anything in a production stage. Raises `Unfinished`
    where one is left at `deadline`, as `time.monotonic` counts.
    """
    with ThreadPoolExecutor(AT_ONCE) as pool:
        futures = [
            pool.submit(_invoke, endpoint, client, declared[endpoint.short_name], models, deadline)
            for endpoint, client in _clients(session, stage, endpoints)
        ]
    by_endpoint = [future.result() for future in futures]
    return ModelAnswers(
        [line for answers in by_endpoint for line in answers.wrong],
        [model for answers in by_endpoint for model in answers.not_invoked],
    )


def _invoke(
    endpoint: StackEndpoint,
    client: EndpointClient,
    declared: Mapping[str, str],
    models: Path,
    deadline: float,
) -> ModelAnswers:
    answers = ModelAnswers()
    for model, version in declared.items():
        name, path = f"{endpoint.name}/{model}", golden.path_of(models, model)
        expected = Golden.read(path) if path else None
        if expected is None or not (expected.inputs or expected.outputs):
            answers.not_invoked.append(name)
            continue
        if not expected.outputs:
            say(f"! {name} is invoked, and its answer not compared: no outputs in {golden.FILE}")
        if time.monotonic() >= deadline:
            raise Unfinished(f"everything is deployed, and {name} not invoked yet")
        if wrong := _ask(client, model, expected):
            answers.wrong.append(f"{name} {version}: {wrong}")
    return answers


def write_golden(
    session: boto3.Session, stage: str, endpoints: Iterable[StackEndpoint], model: str, path: Path
) -> None:
    """Write what the deployed model answers to the inputs in `path`. Raises `EndpointError`."""
    content = Golden.read(path)
    for endpoint, client in _clients(session, stage, endpoints):
        if model in client.models():
            with step(f"ask {model} of {endpoint.name}"):
                answer = client.invoke(model, _arrays(content))
            outputs = {name: Output.of(array) for name, array in answer.items()}
            path.write_text(content.model_copy(update={"outputs": outputs}).written())
            return
    raise EndpointError(f"no endpoint of {stage} serves {model}: deploy it first")


def _ask(client: EndpointClient, model: str, expected: Golden) -> str:
    try:
        answer = client.invoke(model, _arrays(expected))
    except EndpointError as error:
        if unanswered(error):
            raise
        return str(error)
    return "; ".join(expected.differences(answer))


def _arrays(content: Golden) -> dict[str, golden.Array]:
    return {name: tensor.array() for name, tensor in content.inputs.items()}


def _clients(
    session: boto3.Session, stage: str, endpoints: Iterable[StackEndpoint]
) -> Iterator[tuple[StackEndpoint, EndpointClient]]:
    for it in endpoints:
        yield it, EndpointClient(stage=stage, endpoint=it.short_name, session=session)
