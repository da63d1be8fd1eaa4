"""Rules for model repositories: settings that Triton on SageMaker would refuse or misread.

Findings of a rule with `@warning` are warnings: Triton loads the model. All others are errors.
A rule is a function of a `Repository` or a `Model` that yields the location and the message of each
problem: the problem, then the fix. Its docstring states the rule and the reason; findings show its
name. The rules of one backend are in `model_build.formats`.
"""

import os
from collections.abc import Callable, Collection, Iterable
from functools import partial, wraps
from pathlib import Path

import platform_facts
from model_build.checks import backends, batching, layout, recipes, tensors
from model_build.checks.ensemble_maps import ensemble_maps
from model_build.checks.ensemble_settings import (
    ensemble_settings,
    large_ensembles,
    step_versions,
)
from model_build.checks.environment_versions import environment_versions, locked_pythons
from model_build.checks.secrets import exposed_secrets
from model_build.findings import Finding, Problems, RepositoryInvalid, errors, level_of
from model_build.format import Format
from model_build.formats import FORMATS
from model_build.repository import Model, Repository
from model_build.source import ModelSource
from model_build.target import BuildTarget

Rule = Callable[[Repository], Problems]


def _per_model(rule: Callable[[Model], Problems], backend: str | None = None) -> Rule:
    """Apply a rule to every model, or to every model of a backend."""

    @wraps(rule)
    def check_models(repository: Repository) -> Problems:
        for model in repository.models.values():
            if backend in (None, model.backend):
                yield from rule(model)

    return check_models


def _per_file(rule: Callable[[Model, Path], Problems], format_: Format) -> Rule:
    """Apply a rule to every existing file that the format's backend opens."""

    @wraps(rule)
    def check_files(model: Model) -> Problems:
        for version in model.versions:
            path = model.directory / version / format_.model_file_name(model.config)
            if os.path.isfile(path):
                yield from rule(model, path)

    return _per_model(check_files, format_.backend)


SOURCE_RULES: tuple[Rule, ...] = (
    *(layout.archive_root, layout.configurations, layout.left_out_files),
    *(layout.no_links, layout.one_entry),
    *map(_per_model, (layout.model_names, backends.known_backends, backends.implied_backends)),
    *map(_per_model, (tensors.tensor_declarations, tensors.tensor_lists, tensors.tensor_shapes)),
    *map(_per_model, (tensors.tensor_formats, batching.priority_levels, layout.label_files)),
    *map(_per_model, (batching.batch_sizes, batching.unused_batching, batching.model_warmups)),
    *map(_per_model, (batching.ensemble_instances, batching.pinned_gpus)),
    _per_model(batching.response_caches),
    *(ensemble_settings, large_ensembles, ensemble_maps, _per_model(layout.version_folders)),
    *(_per_model(rule, format_.backend) for format_ in FORMATS for rule in format_.config_rules),
)
"""Rules for source files, before the build."""

REPOSITORY_RULES: tuple[Rule, ...] = (
    *SOURCE_RULES,
    *map(_per_model, (layout.version_files, layout.version_policies)),
    step_versions,
    *(_per_model(rule, format_.backend) for format_ in FORMATS for rule in format_.model_rules),
    *(_per_file(rule, format_) for format_ in FORMATS for rule in format_.file_rules),
)
"""Rules for a complete repository, including its model files."""

RECIPE_RULES = (
    *(recipes.recipe_matches_files, recipes.recipe_imports, recipes.hashed_packages),
    *(recipes.row_data_in_folders, recipes.engine_lengths, recipes.engine_batches),
)
"""Rules that compare a recipe with the source files; for a table, once for each distinct code."""
ROW_RULES = (recipes.recipe_sources,)
"""Rules that compare a recipe with the source files; for a table, for each row."""

TARGET_RULES = (
    *(environment_versions, locked_pythons),
    *(backends.target_backends, backends.aoti_targets),
)
"""Rules that compare a model's source with its build target."""


def rules_for_source(source: ModelSource) -> tuple[Rule, ...]:
    """Return all rules for a model's source."""
    if source.is_complete:
        return REPOSITORY_RULES
    return (*SOURCE_RULES, *(_bind_first(rule, source) for rule in RECIPE_RULES))


def rules_for_release(release: platform_facts.Release) -> tuple[Rule, ...]:
    """Return all rules for a complete repository that a Triton release will serve."""
    return (
        *REPOSITORY_RULES,
        _per_model(_bind_first(backends.release_backends, release)),
        *_file_rules(release),
    )


def _file_rules(release: platform_facts.Release) -> list[Rule]:
    """Return the rules for model files that a release opens."""
    return [
        _per_file(_bind_first(rule, release), format_)
        for format_ in FORMATS
        for rule in format_.release_rules
    ]


def all_rules() -> tuple[Callable[..., Problems], ...]:
    """Return every rule of the linter once."""
    release_rules = rules_for_release(platform_facts.releases()[0])
    return (*release_rules, *RECIPE_RULES, *ROW_RULES, *TARGET_RULES, exposed_secrets)


def lint(source: ModelSource) -> list[Finding]:
    """Return all findings in a model's folder. Raises like `read` for syntax errors."""
    folder = source.shared
    if folder.secrets is None:
        folder.secrets = findings(folder.repository, [exposed_secrets])
    return [*source_findings(source), *folder.secrets]


def source_findings(source: ModelSource) -> list[Finding]:
    """Return the findings of a build, which does not look for secrets. Raises like `read`."""
    repository, checked = source.shared.repository, source.shared.checked
    if source.code not in checked:
        checked[source.code] = findings(repository, rules_for_source(source))
    row_problems = [
        Finding(rule.__name__, location, message, level_of(rule))
        for rule in ROW_RULES
        for location, message in rule(source, repository)
    ]
    return [*checked[source.code], *row_problems]


def read(source: ModelSource) -> Repository:
    """Return the source part of a model's repository.

    Raise `checked_yaml.InvalidFile` or `RepositoryInvalid` with all errors.
    """
    if problems := errors(source_findings(source)):
        raise RepositoryInvalid(problems)
    return source.shared.repository


def check_target(
    source: ModelSource, target: BuildTarget, available: Collection[str] | None = None
) -> None:
    """Raise `RepositoryInvalid` with all reasons why a model cannot be built for `target`.

    `available` are the backends of the endpoint's image; None in a build, which does not know them.
    The check needs no build.
    """
    rules: list[Callable[[ModelSource, BuildTarget], Problems]] = [*TARGET_RULES]
    if available is not None:
        rules.append(_bind_first(backends.image_backends, available))
    problems = [
        Finding(rule.__name__, location, message, level_of(rule))
        for rule in rules
        for location, message in rule(source, target)
    ]
    if source.is_complete:
        release = platform_facts.release(target.release)
        problems += findings(source.shared.repository, _file_rules(release))
    if problems := errors(problems):
        raise RepositoryInvalid(problems)


def findings(repository: Repository, rules: Iterable[Rule]) -> list[Finding]:
    """Return the findings of the rules, in their order."""
    return [
        Finding(rule.__name__, location, message, level_of(rule))
        for rule in rules
        for location, message in rule(repository)
    ]


def check(repository: Repository, rules: Iterable[Rule]) -> None:
    """Raise `RepositoryInvalid` if the rules find errors."""
    if problems := errors(findings(repository, rules)):
        raise RepositoryInvalid(problems)


def _bind_first(rule: Callable[..., Problems], argument: object) -> Callable[..., Problems]:
    """Return a rule with its first argument bound and its name kept."""
    return wraps(rule)(partial(rule, argument))
