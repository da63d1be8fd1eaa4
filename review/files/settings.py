"""Changes of JSON, TOML and YAML settings, by field."""

import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from review.files.file_change import FileChange, FileLine, Rule
from review.files.readers import read_json, read_toml, read_yaml
from review.values import ValueDifference, format_value, value_differences

SKIPPED_KEYS = {
    *("ignore_checks", "ignore_templates", "skip-check", "skip-path"),
    *("disable_error_code", "exclude", "extend-exclude", "extend-ignore", "ignore"),
    *("ignore_imports", "per-file-ignores"),
}
"""Settings of cfn-lint, checkov, mypy, ruff and import-linter for skipped checks and files."""

CHECKED_KEYS = {"contracts", "enable_error_code", "extend-select", "select"}
"""Settings that list enabled checks."""

HARMLESS_FIELDS = (
    *("description", "version", "project.description", "project.version"),
    "context.@aws-cdk/*",
)
"""Descriptive fields of package.json and pyproject.toml, and the CDK's feature flags, whose effect
the templates show."""

STYLE_RULES = re.compile(r"(A|ARG|C4|COM|D|E[1-7]|I|N|PERF|PT|PTH|RET|RUF|SIM|T20|TRY|UP|W)\d*")
"""Groups of ruff rules about style, not about bugs or security."""


class SettingsFile(NamedTuple):
    """A reader of a file format, and the rule for every changed value."""

    read: Callable[[bytes], Any]
    rule: Rule = ""

    def describe(self, change: FileChange) -> Iterator[FileLine]:
        """Yield every changed field; a check that is no longer skipped is harmless."""
        before, after = (
            None if side is None else self.read(side) for side in (change.before, change.after)
        )
        for difference in value_differences(before, after):
            harmless = any(fnmatchcase(difference.path, pattern) for pattern in HARMLESS_FIELDS)
            field_line = FileLine(str(difference), rule=self.rule, harmless=harmless)
            yield _check_line(difference) or field_line


def _check_line(difference: ValueDifference) -> FileLine | None:
    """Return the line for a disabled or enabled check, None for another setting."""
    before, after = difference.before, difference.after
    keys = (key for key in difference.key_path if key in SKIPPED_KEYS | CHECKED_KEYS)
    key = next(keys, None)
    if key is None or None not in (before, after):
        return None
    check = format_value(before if after is None else after)
    if (key in SKIPPED_KEYS) == (before is None):
        is_style = "ruff" in difference.key_path and bool(STYLE_RULES.fullmatch(check))
        rule: Rule = "" if is_style else "weakened_checks"
        return FileLine(f"{key}: {check} is no longer checked", rule=rule, harmless=is_style)
    return FileLine(
        f"{key}: {check} is checked {'again' if key in SKIPPED_KEYS else 'now'}", harmless=True
    )


JSON_FILE, TOML_FILE, YAML_FILE = map(SettingsFile, (read_json, read_toml, read_yaml))

LINTER = SettingsFile(read_yaml, "weakened_checks")
"""Settings of linters. This change is linted with the settings of the base."""

NPM_LOCK = SettingsFile(read_json, "changed_npm_packages")
"""The lock file of the cdk CLI: templates do not show a changed version, content (`integrity`) or
origin (`resolved`). Each is a danger; chosen for this project."""
