"""What Triton on SageMaker would refuse or misread, found before an archive is made.

One rule is one module with one function of the same name, whose docstring says why. A rule takes a
`Repository` and yields a place and a message for each thing wrong: what is there, what to write.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import platform_facts
from model_build.checks.archive_root import archive_root
from model_build.checks.batch_sizes import batch_sizes
from model_build.checks.bls_calls import bls_calls
from model_build.checks.dali_tensors import dali_tensors
from model_build.checks.engine_profiles import engine_profiles
from model_build.checks.ensemble_maps import ensemble_maps
from model_build.checks.ensemble_settings import ensemble_settings
from model_build.checks.environment_versions import environment_versions
from model_build.checks.execution_accelerators import execution_accelerators
from model_build.checks.fil_settings import fil_settings
from model_build.checks.fil_versions import fil_versions
from model_build.checks.hashed_packages import hashed_packages
from model_build.checks.instance_groups import instance_groups
from model_build.checks.known_backends import known_backends
from model_build.checks.label_files import label_files
from model_build.checks.model_names import model_names
from model_build.checks.model_warmups import model_warmups
from model_build.checks.no_links import no_links
from model_build.checks.one_entry import one_entry
from model_build.checks.onnx_tensors import onnx_tensors
from model_build.checks.onnx_versions import onnx_versions
from model_build.checks.python_imports import python_imports
from model_build.checks.python_models import python_models
from model_build.checks.python_parameters import python_parameters
from model_build.checks.pytorch_parameters import pytorch_parameters
from model_build.checks.queue_policies import queue_policies
from model_build.checks.recipe_imports import recipe_imports
from model_build.checks.recipe_meets_files import recipe_meets_files
from model_build.checks.release_backends import release_backends
from model_build.checks.response_cache import response_cache
from model_build.checks.sequence_batching import sequence_batching
from model_build.checks.target_backends import target_backends
from model_build.checks.tensor_declarations import tensor_declarations
from model_build.checks.tensor_shapes import tensor_shapes
from model_build.checks.torchscript_names import torchscript_names
from model_build.checks.torchscript_tensors import torchscript_tensors
from model_build.checks.torchscript_versions import torchscript_versions
from model_build.checks.version_files import version_files
from model_build.checks.version_folders import version_folders
from model_build.checks.version_policies import version_policies
from model_build.findings import Finding, Place, RepositoryInvalid
from model_build.repository import Repository
from model_build.source import ModelSource
from model_build.target import BuildTarget

Rule = Callable[[Repository], Iterator[tuple[Place, str]]]

WRITTEN: tuple[Rule, ...] = (
    archive_root,
    no_links,
    one_entry,
    model_names,
    known_backends,
    tensor_declarations,
    tensor_shapes,
    batch_sizes,
    queue_policies,
    sequence_batching,
    response_cache,
    instance_groups,
    execution_accelerators,
    ensemble_settings,
    ensemble_maps,
    version_folders,
    version_policies,
    model_warmups,
    label_files,
    python_models,
    python_parameters,
    bls_calls,
    pytorch_parameters,
    torchscript_names,
    fil_settings,
)
"""Rules about what people write: they hold before anything is built."""

BUILT: tuple[Rule, ...] = (
    *WRITTEN,
    version_files,
    python_imports,
    onnx_tensors,
    torchscript_tensors,
    dali_tensors,
)
"""Rules about a complete repository, which also open the files that backends will open."""


FOR_RECIPE = (recipe_meets_files, recipe_imports, hashed_packages, engine_profiles)
"""Rules that hold a recipe against what people write."""

FOR_RELEASE = (release_backends, onnx_versions, torchscript_versions, fil_versions)
"""Rules that also depend on the release of Triton that will serve the repository."""

FOR_TARGET = (environment_versions, target_backends)
"""Rules that hold a model as people wrote it against a target that it is built for."""


def of_source(source: ModelSource) -> tuple[Rule, ...]:
    """Return every rule about a model as people wrote it."""
    if source.is_complete:
        return BUILT
    return (*WRITTEN, *(partial(rule, source) for rule in FOR_RECIPE))


def of_release(release: platform_facts.Release) -> tuple[Rule, ...]:
    """Return every rule about a complete repository that one release of Triton will serve."""
    return (*BUILT, *(partial(rule, release) for rule in FOR_RELEASE))


def lint(source: ModelSource) -> list[Finding]:
    """Return every finding in a model's folder. Raises like `read` for files that do not parse."""
    return findings(Repository.read(source.folder), of_source(source))


def read(source: ModelSource) -> Repository:
    """Return the hand-written part of a model's repository, if a build can use it.

    Raises `checked_yaml.InvalidFile` or `RepositoryInvalid`, with every finding at its file.
    """
    repository = Repository.read(source.folder)
    check(repository, of_source(source))
    return repository


def check_target(source: ModelSource, target: BuildTarget) -> None:
    """Raise `RepositoryInvalid` with everything that keeps a model from being built for `target`.

    It needs no file of the build.
    """
    found = [
        Finding(rule.__name__, place, message)
        for rule in FOR_TARGET
        for place, message in rule(source, target)
    ]
    if found:
        raise RepositoryInvalid(found)


def findings(repository: Repository, rules: Iterable[Rule]) -> list[Finding]:
    """Return everything that the rules find, in their order."""
    return [
        Finding(rule_name(rule), place, message)
        for rule in rules
        for place, message in rule(repository)
    ]


def check(repository: Repository, rules: Iterable[Rule]) -> None:
    """Raise `RepositoryInvalid` with every finding of every rule, if there is one."""
    if found := findings(repository, rules):
        raise RepositoryInvalid(found)


def rule_name(rule: Rule) -> str:
    """Return the name under which findings cite a rule."""
    return rule.func.__name__ if isinstance(rule, partial) else rule.__name__
