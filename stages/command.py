"""List the stages and their endpoints; with --schema, print the JSON Schema of a stage."""

import argparse
import json
import sys

from platform_facts.rules import checked_yaml
from platform_facts.rules.stage_files import UnknownStage
from stages.load import load_stage, stage_names
from stages.schema.stage import StageConfig


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command `stages`; its `run` returns the exit code."""
    parser = commands.add_parser("stages", description=__doc__)
    parser.add_argument("--schema", action="store_true", help="print the JSON Schema")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command; return its exit code, 1 if a stage is invalid."""
    if options.schema:
        print(json.dumps(StageConfig.model_json_schema(), indent=2))
        return 0
    code = 0
    for name in stage_names():
        try:
            stage = load_stage(name)
        except (UnknownStage, checked_yaml.InvalidFile) as error:
            print(f"error: {error}", file=sys.stderr)
            code = 1
        else:
            print(f"{name:10} {stage.region:15} {stage.release}  {', '.join(stage.endpoints)}")
    return code
