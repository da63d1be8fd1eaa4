"""Ask every model that a stage serves, and compare with what it must answer."""

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import boto3

from endpoint_client import EndpointClient, EndpointError
from release.delivery import golden
from release.delivery.assembly import StackEndpoint
from release.delivery.credentials import expired
from release.delivery.errors import Unfinished
from release.delivery.golden import Golden, Output
from release.delivery.steps import say, step

AT_ONCE = 16
"""Endpoints that are asked side by side."""

Served = dict[str, str]
"""`endpoint/model` -> the version that clients are sent to."""


def served(session: boto3.Session, stage: str, endpoints: Iterable[StackEndpoint]) -> Served:
    """Return what the catalog of a stage names."""
    return {
        f"{endpoint.short_name}/{model}": client.resolve(model).version
        for endpoint, client in _clients(session, stage, endpoints)
        for model in client.models()
    }


def wrong_answers(
    session: boto3.Session,
    stage: str,
    endpoints: Iterable[StackEndpoint],
    models: Path,
    *,
    declared: Mapping[str, Mapping[str, str]],
    deadline: float,
) -> list[str]:
    """Invoke every model by its name; return what is wrong, one line a model.

    `declared` has the versions of an endpoint's models, by its short name and theirs. Endpoints are
    asked side by side; the models of one after each other, since it may have to load each. A model
    without a golden file is named in a warning, and not asked. Raises `Unfinished` where one is
    left at `deadline`, as `time.monotonic` counts.
    """
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = [
            pool.submit(
                _wrong_answers, endpoint, client, declared[endpoint.short_name], models, deadline
            )
            for endpoint, client in _clients(session, stage, endpoints)
        ]
    return [line for it in found for line in it.result()]


def _wrong_answers(
    endpoint: StackEndpoint,
    client: EndpointClient,
    declared: Mapping[str, str],
    models: Path,
    deadline: float,
) -> list[str]:
    wrong = []
    for model, version in declared.items():
        path = golden.path_of(models, model)
        expected = Golden.read(path) if path else None
        if expected is None or not expected.outputs:
            say(f"! {endpoint.name}/{model} is not asked: no models/{model}/{golden.FILE}")
            continue
        if time.monotonic() >= deadline:
            raise Unfinished(f"everything is deployed, and {endpoint.name}/{model} not asked yet")
        said = _ask(client, model, expected)
        if said:
            wrong.append(f"{endpoint.name}/{model} {version}: {said}")
    return wrong


def write_golden(
    session: boto3.Session, stage: str, endpoints: Iterable[StackEndpoint], model: str, path: Path
) -> None:
    """Write what the deployed model answers to the inputs in `path`. Raises `EndpointError`."""
    asked = Golden.read(path)
    for endpoint, client in _clients(session, stage, endpoints):
        if model in client.models():
            with step(f"ask {model} of {endpoint.name}"):
                answer = client.invoke(model, _arrays(asked))
            outputs = {name: Output.of(array) for name, array in answer.items()}
            path.write_text(_written(asked.model_copy(update={"outputs": outputs})))
            return
    raise EndpointError(f"no endpoint of {stage} serves {model}: deploy it first")


def _written(content: Golden) -> str:
    """Return JSON with a line a tensor."""
    tensors = {
        kind: ",\n".join(
            f"    {json.dumps(name)}: {json.dumps(it.model_dump(), ensure_ascii=False)}"
            for name, it in of.items()
        )
        for kind, of in (("inputs", content.inputs), ("outputs", content.outputs))
    }
    fields = [f'  "{kind}": {{\n{lines}\n  }}' for kind, lines in tensors.items()]
    fields.append(f'  "max_relative_difference": {content.max_relative_difference}')
    return "{\n" + ",\n".join(fields) + "\n}\n"


def _ask(client: EndpointClient, model: str, expected: Golden) -> str:
    try:
        answer = client.invoke(model, _arrays(expected))
    except EndpointError as error:
        if expired(error):
            raise
        return str(error)
    return "; ".join(expected.differences(answer))


def _arrays(content: Golden) -> dict[str, golden.Array]:
    return {name: it.array() for name, it in content.inputs.items()}


def _clients(
    session: boto3.Session, stage: str, endpoints: Iterable[StackEndpoint]
) -> Iterator[tuple[StackEndpoint, EndpointClient]]:
    for it in endpoints:
        yield it, EndpointClient(stage=stage, endpoint=it.short_name, session=session)
