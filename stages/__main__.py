"""`python -m stages`: list the stages; with --schema, print the JSON Schema for editors."""

import argparse
import json

from stages import Stage, load_stage, stage_names

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m stages", description=__doc__)
    parser.add_argument("--schema", action="store_true", help="print the JSON Schema")
    if parser.parse_args().schema:
        print(json.dumps(Stage.model_json_schema(), indent=2))
    else:
        for name in stage_names():
            stage = load_stage(name)
            print(f"{name:10} {stage.region:15} {stage.release}  {', '.join(stage.endpoints)}")
