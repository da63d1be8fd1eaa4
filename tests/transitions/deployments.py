"""The deployments of a pair of states: forward and back, each also with every fault."""

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.transitions.account import Account, account_factory
from tests.transitions.faults import FAULTS, FaultKind
from tests.transitions.pairs import Pair, State
from tests.transitions.templates import Template, Templates
from tests.transitions.trials import Result, Verdict, deploy

FORWARD, BACK = "forward", "back"

Deployment = tuple[str, str]
"""The direction of a deployment, and the name of its fault or an empty text."""

BUILD_FAULT = "a build fails"

_DONE = (Verdict.DONE, Verdict.ENDPOINT_UNCHANGED)


def deployment_results(pairs: list[Pair], folder: Path) -> dict[Pair, dict[Deployment, Result]]:
    """Return the results of every deployment of every pair."""
    states = {_state_key(state): state for pair in pairs for state in (pair.before, pair.after)}
    assemblies = Templates(folder)
    templates = dict(zip(states, assemblies.without_imports(list(states.values())), strict=True))
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # logs of injected faults
    try:
        with account_factory(assemblies.app) as make_account:
            return {
                pair: _results_until_wrong(
                    _pair_results(
                        make_account,
                        templates[_state_key(pair.before)],
                        templates[_state_key(pair.after)],
                    )
                )
                for pair in pairs
            }
    finally:
        logging.disable(level)


def _results_until_wrong(
    deployments: Iterator[tuple[Deployment, Result]],
) -> dict[Deployment, Result]:
    """Return the results up to the first `WRONG` result."""
    results_until_wrong = {}
    for deployment, result in deployments:
        results_until_wrong[deployment] = result
        if result.verdict is Verdict.WRONG:
            break
    return results_until_wrong


def _pair_results(
    make_account: Callable[[], Account], before: Template | str, after: Template | str
) -> Iterator[tuple[Deployment, Result]]:
    """Yield the result of each deployment; `after` is a message if the stage file has an error."""
    assert not isinstance(before, str)
    if isinstance(after, str):
        yield (FORWARD, ""), Result(Verdict.INVALID_STAGE, after)
        return
    account = _deployed(make_account, before)
    forward_result = deploy(account, after, FaultKind.BUILD)
    if forward_result.fault_happened:
        yield (FORWARD, BUILD_FAULT), forward_result
        forward_result = deploy(account, after)
    yield (FORWARD, ""), forward_result
    if forward_result.verdict not in _DONE:
        account = _deployed(make_account, after)
    yield from _with_faults(BACK, account, after, before)
    back_result = deploy(account, before)
    yield (BACK, ""), back_result
    if forward_result.verdict in _DONE:
        if back_result.verdict not in _DONE:
            account = _deployed(make_account, before)
        yield from _with_faults(FORWARD, account, before, after)


def _with_faults(
    direction: str, account: Account, old: Template, new: Template
) -> Iterator[tuple[Deployment, Result]]:
    """Yield the results with each fault after the builds; stop at a refused deployment."""
    for name, fault in FAULTS.items():
        if name == BUILD_FAULT or (
            fault is not FaultKind.AFTER_ALL
            and _sagemaker_properties(old) == _sagemaker_properties(new)
        ):
            continue
        result = deploy(account, new, fault)
        if result.verdict is Verdict.REFUSED:
            return
        yield (direction, name), result
        if result.verdict in _DONE:  # the configuration is unchanged
            deploy(account, old)


def _deployed(make_account: Callable[[], Account], template: Template) -> Account:
    account = make_account()
    account.deploy(template)
    assert (account.status, account.caller.failed_calls) == ("CREATE_COMPLETE", []), account.reason
    return account


def _sagemaker_properties(template: Template) -> list[Any]:
    """Return the properties of the SageMaker resources."""
    return [
        resource["Properties"]
        for resource in template["Resources"].values()
        if resource["Type"].startswith("AWS::SageMaker::")
    ]


def _state_key(state: State) -> str:
    return json.dumps(state, sort_keys=True)
