"""Pairs of stage configurations: the states before and after an update."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

State = dict[str, Any]
"""Settings of a stage with one endpoint.

`endpoint` has the settings of the endpoint. `models` maps the name of a model to its version, a
number in the model's code. `unconfirmed` lists features that were not tried on AWS.
"""

CANARY = {"strategy": "canary", "percent": 50, "wait_seconds": 60}
SCALING = {"min_count": 2, "max_count": 4, "max_rps": 60}
GPUS = ["ml.g6.xlarge", "ml.g5.xlarge"]
TWO_VARIANTS = {"Standard": {"weight": 9}, "Large": {"weight": 1, "instance_type": "ml.m5.2xlarge"}}


def state(**endpoint: Any) -> State:
    """Return a state of two models on CPU instances, with other settings of its endpoint."""
    settings = {"instance_type": "ml.m5.xlarge", "instance_count": 2, "update": CANARY}
    return {
        "release": "24.09",
        "models": {"times": 2, "plus": 1},
        "endpoint": {**settings, **endpoint},
    }


COMPONENT = {"copies": {"min": 1, "max": 3, "max_rps": 60}, "memory_mb": 1024}

BASES = {
    "multi-model": state(),
    "multi-model, scaled": state(scaling=SCALING),
    "two variants": state(variants=TWO_VARIANTS),
    "single-model": {**state(hosting="single-model"), "models": {"times": 2}},
    "instance types": {
        **state(hosting="single-model", instance_type=None, instance_types=GPUS),
        "models": {"times": 2},
    },
    "components": {
        **state(
            hosting="components",
            components={"times": COMPONENT, "plus": COMPONENT},
            instances={"min": 1, "max": 8},
            update={**CANARY, "strategy": "rolling"},
        ),
        "unconfirmed": ["components"],
    },
}


WITHOUT_POOLS = ("multi-model", "multi-model, scaled", "two variants", "single-model")


@dataclass(frozen=True, eq=False)
class Change:
    """One changed setting (None removes the key), applied to each state in `bases`.

    Changes with the same `subject` are not combined.
    """

    subject: str
    name: str
    settings: Mapping[str, Any]
    bases: tuple[str, ...] = WITHOUT_POOLS


def _endpoint_change(subject: str, name: str, *bases: str, **settings: Any) -> Change:
    return Change(subject, name, {"endpoint": settings}, bases or WITHOUT_POOLS)


ONE_VARIANT = ("multi-model", "multi-model, scaled", "single-model")
MULTI_MODEL = ("multi-model", "multi-model, scaled", "two variants")

CHANGES = (
    _endpoint_change("type", "another instance type", instance_type="ml.m5.4xlarge"),
    _endpoint_change("type", "more instances", instance_count=3),
    _endpoint_change("type", "two instance types instead of one", "single-model",
                 instance_type=None, instance_types=["ml.m5.xlarge", "ml.c5.xlarge"]),
    _endpoint_change("type", "a third instance type", "instance types",
                 instance_types=[*GPUS, "ml.g6e.xlarge"]),
    _endpoint_change("type", "instance types in another order", "instance types",
                 instance_types=GPUS[::-1]),
    _endpoint_change("type", "one instance type instead of two", "instance types",
                 instance_type=GPUS[0], instance_types=None),
    _endpoint_change("scaling", "scaling of instance types", "instance types", scaling=SCALING),
    Change("release", "another release of instance types", {"release": "25.09"},
           ("instance types",)),
    Change("model", "a new version on instance types", {"models": {"times": 3}},
           ("instance types",)),
    _endpoint_change(
        "variant", "a variant added", *ONE_VARIANT, variants={"AllTraffic": {}, "Second": {}}
    ),
    _endpoint_change("variant", "a variant removed", "two variants", variants={"Large": None}),
    _endpoint_change("variant", "a variant renamed", *ONE_VARIANT, variants={"Renamed": {}}),
    _endpoint_change(
        "weight", "other weights", "two variants", variants={"Standard": {"weight": 1}}
    ),
    _endpoint_change("weight", "weight 0", "two variants", variants={"Large": {"weight": 0}}),
    Change("release", "another release", {"release": "25.09"}),
    _endpoint_change("GPU", "a GPU", instance_type="ml.g5.xlarge"),
    _endpoint_change("GPU", "a GPU for one variant", "two variants",
                 variants={"Large": {"instance_type": "ml.g5.xlarge"}}),
    Change("model", "a new version", {"models": {"times": 3}}),
    Change("model", "a model added", {"models": {"third": 1}}, MULTI_MODEL),
    Change("model", "a model removed", {"models": {"plus": None}}, MULTI_MODEL),
    Change("model", "a model replaced by another", {"models": {"times": None, "third": 3}}),
    Change("hosting", "single-model",
           {"models": {"plus": None}, "endpoint": {"hosting": "single-model"}}, MULTI_MODEL),
    Change("network", "a private network", {"private_network": True}),
    _endpoint_change("policy", "all at once", update={"strategy": "all-at-once"}),
    _endpoint_change("policy", "linear", update={**CANARY, "strategy": "linear"}),
    _endpoint_change("policy", "rolling", *ONE_VARIANT, update={**CANARY, "strategy": "rolling"}),
    _endpoint_change("policy", "another error rate",
                 update={**CANARY, "rollback_error_rate": 0.5}),
    _endpoint_change("scaling", "scaling", "multi-model", "two variants", "single-model",
                 scaling=SCALING),
    _endpoint_change("scaling", "other scaling limits", "multi-model, scaled",
                     scaling={"max_count": 8}),
    _endpoint_change("scaling", "a higher minimum", "multi-model, scaled",
                 instance_count=3, scaling={"min_count": 3}),
    _endpoint_change("scaling", "another scaling metric", "multi-model, scaled",
                 scaling={"max_rps": None, "cpu_percent": 50}),
    _endpoint_change("scaling", "schedules", "multi-model, scaled", scaling={"schedules": {
        "night": {"at": "rate(1 day)", "min_count": 2, "max_count": 3}}}),
    _endpoint_change("server", "other server options", server={"thread_count": 16}),
    _endpoint_change("cache", "no cache of models", *MULTI_MODEL, cache_models=False),
    _endpoint_change("capture", "data capture", data_capture={"percent": 10}),
    *(
        Change("components", name, settings, ("components",))
        for name, settings in dict[str, dict[str, Any]]({
            "a new version of a component": {"models": {"times": 3}},
            "a component added": {
                "models": {"third": 1}, "endpoint": {"components": {"third": COMPONENT}}
            },
            "a component removed": {
                "models": {"plus": None}, "endpoint": {"components": {"plus": None}}
            },
            "another instance type of components": {"endpoint": {"instance_type": "ml.m5.2xlarge"}},
            "more memory for a component": {
                "endpoint": {"components": {"times": {"memory_mb": 2048}}}
            },
            "more copies": {"endpoint": {"components": {"times": {"copies": {"max": 4}}}}},
            "scale in to zero instances": {"endpoint": {"instances": {"min": 0}}},
            "another release of components": {"release": "25.09"},
            "a private network of components": {"private_network": True},
            "multi-model instead of components": {
                "endpoint": {"hosting": None, "components": None, "instances": None,
                             "update": CANARY}
            },
        }).items()
    ),
    Change("production", "production",
           {"production": True, "notify": {"email": ["nobody@example.com"]}}),
)  # fmt: skip

COMBINED = (
    "another instance type", "a variant removed", "other weights", "another release",
    "a GPU for one variant", "a new version", "a model added", "a model removed", "single-model",
    "a private network", "all at once", "scaling", "production",
)  # fmt: skip
"""Changes that are combined pairwise, for the state `two variants`."""


@dataclass(frozen=True, eq=False)
class Pair:
    """A state of a stage, and changes of the state."""

    base: str
    changes: tuple[Change, ...]

    @property
    def name(self) -> str:
        """The names of the changes and of the base."""
        return f"{' and '.join(change.name for change in self.changes)} ({self.base})"

    @property
    def before(self) -> State:
        """The state that is deployed first."""
        return BASES[self.base]

    @property
    def after(self) -> State:
        """The state with the changes."""
        after = self.before
        for change in self.changes:
            after = merge(after, change.settings)
        return after


def pairs() -> Iterator[Pair]:
    """Yield each change of each base, and pairs of changes of `two variants`."""
    for change in CHANGES:
        for base in change.bases:
            yield Pair(base, (change,))
    by_name = {change.name: change for change in CHANGES}
    for first, second in combinations(map(by_name.__getitem__, COMBINED), 2):
        if first.subject != second.subject:
            yield Pair("two variants", (first, second))


def merge(before: Mapping[str, Any], settings: Mapping[str, Any]) -> State:
    """Return `before` with `settings` merged in, at any depth; None removes a key."""
    after = {**before}
    for name, value in settings.items():
        if value is None:
            after.pop(name, None)
        elif isinstance(value, Mapping) and isinstance(before.get(name), Mapping):
            after[name] = merge(before[name], value)
        else:
            after[name] = value
    return after
