"""`lint`: report settings that Triton on SageMaker would refuse (errors) or misread (warnings)."""

import argparse
from pathlib import Path

from model_build import checks
from model_build.commands.arguments import Commands, add_command
from model_build.commands.outcome import Outcome
from model_build.errors import BuildError
from model_build.findings import Finding, Location, RepositoryInvalid, errors, level_of
from model_build.recipe import FILE
from model_build.source import NOT_A_MODEL, ModelFolder, contains_models, folders_in, is_model
from platform_facts.rules import checked_yaml


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "lint",
        run,
        summary="check recipes, configurations, folder layouts and Python models",
        examples=["lint models/", "lint models/minilm", "lint --rules"],
    )
    parser.add_argument(
        "--strict", action="store_true", help="exit with 1 for warnings too, not for errors only"
    )
    parser.add_argument(
        "--rules", action="store_true", help="list the rules with level and reason instead"
    )
    parser.add_argument(
        "paths", type=Path, nargs="*", metavar="FOLDER", help="a model, or a folder of models"
    )
    parser.set_defaults(usage_error=parser.error)


def run(options: argparse.Namespace) -> Outcome:
    """Lint all models in the folders. Raise `BuildError` for a missing folder or without models."""
    if options.rules:
        return _list_rules()
    if not options.paths:
        options.usage_error("write the folder of a model, or models/")
    if missing := [str(path) for path in options.paths if not path.is_dir()]:
        raise BuildError(
            f"{', '.join(missing)}: no such folder: write the folder of a model, or models/"
        )
    candidates = {
        folder
        for path in options.paths
        for folder in (folders_in(path) if contains_models(path) else [path])
    }
    folders = sorted(filter(is_model, candidates))
    if not folders:
        raise BuildError(
            f"{', '.join(map(str, options.paths))}: has no model: write a folder with a {FILE}, a "
            "Triton model repository, or a folder of them"
        )
    findings = [finding for folder in folders for finding in _lint(folder)]
    error_count = len(errors(findings))
    counts = [(len(folders), "model"), (error_count, "error")]
    counts.append((len(findings) - error_count, "warning"))
    summary = ", ".join(f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in counts)
    for folder in sorted(candidates.difference(folders)):
        summary += f"\n{folder} {NOT_A_MODEL}"
    return Outcome(
        text="\n".join([*map(str, findings), summary]),
        data=[
            {
                "rule": finding.rule,
                "level": finding.level,
                "path": str(finding.location.path),
                "line": finding.location.line,
                "column": finding.location.column,
                "message": finding.message,
            }
            for finding in findings
        ],
        failed=bool(findings if options.strict else error_count),
    )


def _list_rules() -> Outcome:
    """Return the rules: name, level and the first sentences of their reason."""
    rows = [
        {
            "rule": rule.__name__,
            "level": level_of(rule),
            "reason": " ".join((rule.__doc__ or "").partition("\n\n")[0].split()),
        }
        for rule in checks.all_rules()
    ]
    lines = (f"{row['level']:8}{row['rule']}: {row['reason']}" for row in rows)
    return Outcome(text="\n".join(lines), data=rows)


def _lint(folder: Path) -> list[Finding]:
    try:
        models = ModelFolder(folder).models()
        findings = [finding for model in models for finding in checks.lint(model)]
    except RepositoryInvalid as error:
        return error.findings
    except checked_yaml.InvalidFile as error:
        return [
            Finding(
                "recipe_schema",
                Location(problem.path, problem.line),
                f"{problem.key}: {problem.message}" if problem.key else problem.message,
            )
            for problem in error.problems
        ]
    return list(dict.fromkeys(findings))  # the models of a folder share most files
