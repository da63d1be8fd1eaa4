"""Rules about model repositories: what Triton on SageMaker would refuse or misread.

A rule is a function whose docstring says why, and whose name findings cite. It takes a `Repository`
or one `Model`, and yields a place and a message for each thing wrong: the problem, what to write.
The rules of one format are in `model_build.formats`.
"""

import os
from collections.abc import Callable, Iterable
from functools import partial, wraps
from pathlib import Path

import platform_facts
from model_build.checks import backends, batching, layout, recipes, tensors
from model_build.checks.ensemble_maps import ensemble_maps
from model_build.checks.ensemble_settings import ensemble_settings
from model_build.checks.environment_versions import environment_versions
from model_build.findings import Finding, Problems, RepositoryInvalid
from model_build.format import Format
from model_build.formats import FORMATS
from model_build.repository import Model, Repository
from model_build.source import ModelSource
from model_build.target import BuildTarget

Rule = Callable[[Repository], Problems]


def _each_model(rule: Callable[[Model], Problems], backend: str | None = None) -> Rule:
    """Return a rule about every model, or every model of a backend."""

    @wraps(rule)
    def of_all(repository: Repository) -> Problems:
        for model in repository.models.values():
            if backend in (None, model.backend):
                yield from rule(model)

    return of_all


def _each_file(rule: Callable[[Model, Path], Problems], known: Format) -> Rule:
    """Return a rule about every file that is there for a backend to open."""

    @wraps(rule)
    def of_all(model: Model) -> Problems:
        for version in model.versions:
            path = model.directory / version / known.file_of(model.config)
            if os.path.isfile(path):
                yield from rule(model, path)

    return _each_model(of_all, known.backend)


SOURCE_RULES: tuple[Rule, ...] = (
    *(layout.archive_root, layout.no_links, layout.one_entry),
    *map(_each_model, (layout.model_names, backends.known_backends)),
    *map(_each_model, (tensors.tensor_declarations, tensors.tensor_shapes)),
    *map(_each_model, (batching.batch_sizes, batching.instance_groups, batching.model_warmups)),
    *(ensemble_settings, ensemble_maps, _each_model(layout.version_folders)),
    *(_each_model(rule, known.backend) for known in FORMATS for rule in known.config_rules),
)
"""Rules about what people write: they hold before anything is built."""

REPOSITORY_RULES: tuple[Rule, ...] = (
    *SOURCE_RULES,
    _each_model(layout.version_files),
    *(_each_model(rule, known.backend) for known in FORMATS for rule in known.model_rules),
    *(_each_file(rule, known) for known in FORMATS for rule in known.file_rules),
)
"""Rules about a complete repository, which also open the files that backends will open."""

RECIPE_RULES = (recipes.recipe_meets_files, recipes.recipe_imports, recipes.hashed_packages)
"""Rules that hold a recipe against what people write."""

TARGET_RULES = (environment_versions, backends.target_backends)
"""Rules that hold a model as people wrote it against a target that it is built for."""


def rules_for_source(source: ModelSource) -> tuple[Rule, ...]:
    """Return every rule about a model as people wrote it."""
    if source.is_complete:
        return REPOSITORY_RULES
    return (*SOURCE_RULES, *(_named(rule, source) for rule in RECIPE_RULES))


def rules_for_release(release: platform_facts.Release) -> tuple[Rule, ...]:
    """Return every rule about a complete repository that one release of Triton will serve."""
    return (
        *REPOSITORY_RULES,
        _each_model(_named(backends.release_backends, release)),
        *(
            _each_file(_named(rule, release), known)
            for known in FORMATS
            for rule in known.release_rules
        ),
    )


def lint(source: ModelSource) -> list[Finding]:
    """Return every finding in a model's folder. Raises like `read` for files that do not parse."""
    return findings(Repository.read(source.folder), rules_for_source(source))


def read(source: ModelSource) -> Repository:
    """Return the hand-written part of a model's repository, if a build can use it.

    Raises `checked_yaml.InvalidFile` or `RepositoryInvalid`, with every finding at its file.
    """
    repository = Repository.read(source.folder)
    check(repository, rules_for_source(source))
    return repository


def check_target(source: ModelSource, target: BuildTarget) -> None:
    """Raise `RepositoryInvalid` with everything that keeps a model from being built for `target`.

    It needs no file of the build.
    """
    problems = [
        Finding(rule.__name__, place, message)
        for rule in TARGET_RULES
        for place, message in rule(source, target)
    ]
    if problems:
        raise RepositoryInvalid(problems)


def findings(repository: Repository, rules: Iterable[Rule]) -> list[Finding]:
    """Return everything that the rules find, in their order."""
    return [
        Finding(rule.__name__, place, message)
        for rule in rules
        for place, message in rule(repository)
    ]


def check(repository: Repository, rules: Iterable[Rule]) -> None:
    """Raise `RepositoryInvalid` with every finding of every rule, if there is one."""
    if problems := findings(repository, rules):
        raise RepositoryInvalid(problems)


def _named(rule: Callable[..., Problems], first: object) -> Callable[..., Problems]:
    """Return a rule with its first argument given, under its own name."""
    return wraps(rule)(partial(rule, first))
