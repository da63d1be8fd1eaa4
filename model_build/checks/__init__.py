"""What Triton on SageMaker would refuse or misread, found before an archive is made.

One rule is one module with one function of the same name. A rule takes a `Repository` and yields
one line for each thing wrong: the file, what is wrong, what to write instead.
"""

from collections.abc import Callable, Iterator

from model_build.checks.ensemble_maps import ensemble_maps
from model_build.checks.model_names import model_names
from model_build.checks.multi_model_rules import multi_model_rules
from model_build.checks.one_entry import one_entry
from model_build.checks.version_files import version_files
from model_build.errors import RepositoryInvalid
from model_build.repository import Repository

Rule = Callable[[Repository], Iterator[str]]

WRITTEN: tuple[Rule, ...] = (one_entry, model_names, ensemble_maps, multi_model_rules)
"""Rules about what people write: they hold before anything is built."""

BUILT: tuple[Rule, ...] = (*WRITTEN, version_files)
"""Rules about a complete repository."""


def check(repository: Repository, rules: tuple[Rule, ...]) -> None:
    """Raise `RepositoryInvalid` with every finding of every rule, if there is one."""
    findings = [line for rule in rules for line in rule(repository)]
    if findings:
        raise RepositoryInvalid("\n".join(findings))
