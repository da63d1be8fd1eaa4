"""The custom resources of a stack that CloudFormation calls at once."""

from collections import Counter
from functools import cache

from release.stage_resources import references
from release.tree import Template


def starting_together(before: Template | None, after: Template) -> int:
    """Return the most custom resources that CloudFormation calls at once in a stack.

    It calls those that change, each when those are done that it depends on. `before` is what the
    stack was deployed with.
    """
    resources, old = after["Resources"], (before or {}).get("Resources", {})

    def is_called(name: str) -> bool:
        properties = resources[name].get("Properties", {})
        return "ServiceToken" in properties and properties != old.get(name, {}).get("Properties")

    @cache
    def round_of(name: str) -> int:
        """Return after how many calls, one after the other, a resource is done."""
        depends_on = resources[name].get("DependsOn", [])
        names = [depends_on] if isinstance(depends_on, str) else depends_on
        needs = {*names, *references(resources[name].get("Properties", {}))} & resources.keys()
        return max(map(round_of, needs), default=0) + is_called(name)

    rounds = Counter(round_of(name) for name in resources if is_called(name))
    return max(rounds.values(), default=0)
