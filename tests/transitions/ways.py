"""The ways to deploy a pair: forth and back, each also with every fault."""

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.transitions.account import Account, accounts
from tests.transitions.faults import FAULTS, FaultKind
from tests.transitions.pairs import Pair, State
from tests.transitions.templates import Template, Templates
from tests.transitions.trials import Result, Verdict, deploy

FORTH, BACK = "forth", "back"

Way = tuple[str, str]
"""Direction, and the name of the fault or an empty text."""

BUILD_FAULT = "a build fails"

_DONE = (Verdict.DONE, Verdict.UNTOUCHED)


def results(pairs: list[Pair], folder: Path) -> dict[Pair, dict[Way, Result]]:
    """Return the results of every way of every pair."""
    states = {_key(state): state for pair in pairs for state in (pair.before, pair.after)}
    templates = dict(zip(states, Templates(folder).of(list(states.values())), strict=True))
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # logs of injected faults
    try:
        with accounts() as make:
            return {
                pair: _until_lost(
                    _ways(make, templates[_key(pair.before)], templates[_key(pair.after)])
                )
                for pair in pairs
            }
    finally:
        logging.disable(level)


def _until_lost(ways: Iterator[tuple[Way, Result]]) -> dict[Way, Result]:
    """Return the results up to the first `LOST`."""
    way_results = {}
    for way, result in ways:
        way_results[way] = result
        if result.verdict is Verdict.LOST:
            break
    return way_results


def _ways(
    make: Callable[[], Account], before: Template | str, after: Template | str
) -> Iterator[tuple[Way, Result]]:
    """Yield the result of each way; a template is a `str` if the stage file has an error."""
    assert not isinstance(before, str)
    if isinstance(after, str):
        yield (FORTH, ""), Result(Verdict.NO_STAGE, after)
        return
    account = _deployed(make, before)
    forth = deploy(account, after, FaultKind.BUILD)
    if forth.met:
        yield (FORTH, BUILD_FAULT), forth
        forth = deploy(account, after)
    yield (FORTH, ""), forth
    if forth.verdict not in _DONE:
        account = _deployed(make, after)
    yield from _with_faults(BACK, account, after, before)
    back = deploy(account, before)
    yield (BACK, ""), back
    if forth.verdict in _DONE:
        if back.verdict not in _DONE:
            account = _deployed(make, before)
        yield from _with_faults(FORTH, account, before, after)


def _with_faults(
    direction: str, account: Account, old: Template, new: Template
) -> Iterator[tuple[Way, Result]]:
    """Yield the results with each fault after the builds; stop at a refused deployment."""
    for name, fault in FAULTS.items():
        if name == BUILD_FAULT or (
            fault is not FaultKind.AFTER_ALL and _hosted(old) == _hosted(new)
        ):
            continue
        result = deploy(account, new, fault)
        if result.verdict is Verdict.REFUSED:
            return
        yield (direction, name), result
        if result.verdict in _DONE:  # the configuration is unchanged
            deploy(account, old)


def _deployed(make: Callable[[], Account], template: Template) -> Account:
    account = make()
    account.deploy(template)
    assert (account.status, account.caller.failed) == ("CREATE_COMPLETE", []), account.reason
    return account


def _hosted(template: Template) -> list[Any]:
    """Return the properties of the SageMaker resources."""
    return [
        resource["Properties"]
        for resource in template["Resources"].values()
        if resource["Type"].startswith("AWS::SageMaker::")
    ]


def _key(state: State) -> str:
    return json.dumps(state, sort_keys=True)
