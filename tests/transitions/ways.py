"""Every way of a pair: forth, back, and each of them broken half-way."""

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.transitions.account import Account, accounts
from tests.transitions.faults import FAULTS, What
from tests.transitions.pairs import Pair, State
from tests.transitions.templates import Template, Templates
from tests.transitions.trials import Result, Verdict, deploy

FORTH, BACK = "forth", "back"

Way = tuple[str, str]
"""Forth or back, and what breaks it, if anything does."""

A_BUILD = "a build fails"

_DONE = (Verdict.DONE, Verdict.UNTOUCHED)


def results(pairs: list[Pair], folder: Path) -> dict[Pair, dict[Way, Result]]:
    """Try every way of every pair; a `str` instead of templates is a refusal of the stage file."""
    states = {_key(each): each for pair in pairs for each in (pair.before, pair.after)}
    made = Templates(folder).of(list(states.values()))
    templates = dict(zip(states, made, strict=True))
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # of what is broken on purpose
    try:
        with accounts() as make:
            return {
                each: _until_lost(
                    _ways(make, templates[_key(each.before)], templates[_key(each.after)])
                )
                for each in pairs
            }
    finally:
        logging.disable(level)


def _until_lost(ways: Iterator[tuple[Way, Result]]) -> dict[Way, Result]:
    """Return the results up to a state that nothing can follow."""
    way_results = {}
    for way, result in ways:
        way_results[way] = result
        if result.verdict is Verdict.LOST:
            break
    return way_results


def _ways(
    make: Callable[[], Account], before: Template | str, after: Template | str
) -> Iterator[tuple[Way, Result]]:
    """Yield what each way ends with. What has been built is there from then on."""
    assert not isinstance(before, str)
    if isinstance(after, str):
        yield (FORTH, ""), Result(Verdict.NO_STAGE, after)
        return
    account = _deployed(make, before)
    forth = deploy(account, after, What.BUILD)
    if forth.met:
        yield (FORTH, A_BUILD), forth
        forth = deploy(account, after)
    yield (FORTH, ""), forth
    if forth.verdict not in _DONE:
        account = _deployed(make, after)
    yield from _broken(BACK, account, after, before)
    back = deploy(account, before)
    yield (BACK, ""), back
    if forth.verdict in _DONE:
        if back.verdict not in _DONE:
            account = _deployed(make, before)
        yield from _broken(FORTH, account, before, after)


def _broken(
    direction: str, account: Account, old: Template, new: Template
) -> Iterator[tuple[Way, Result]]:
    """Yield how what goes wrong after the builds ends, unless it is refused; `old` then serves."""
    for name, what in FAULTS.items():
        if name == A_BUILD or (what is not What.AFTER_ALL and _hosted(old) == _hosted(new)):
            continue
        result = deploy(account, new, what)
        if result.verdict is Verdict.REFUSED:
            return
        yield (direction, name), result
        if result.verdict in _DONE:  # the configuration is the same, and serves
            deploy(account, old)


def _deployed(make: Callable[[], Account], template: Template) -> Account:
    account = make()
    account.deploy(template)
    assert (account.status, account.caller.failed) == ("CREATE_COMPLETE", []), account.reason
    return account


def _hosted(template: Template) -> list[Any]:
    """Return what is said of the resources of which a change is one of the endpoint."""
    return [
        resource["Properties"]
        for resource in template["Resources"].values()
        if resource["Type"].startswith("AWS::SageMaker::")
    ]


def _key(state: State) -> str:
    return json.dumps(state, sort_keys=True)
