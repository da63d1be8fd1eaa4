#!/usr/bin/env bash
# Builds the sdist, and of it the wheel, into a folder: `distribution.sh dist`. The environment's
# own setuptools builds them, from a copy: nothing is left in the tree.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
to=$(cd "$1" && pwd)
rm -f "$to"/triton_sagemaker-*
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r "$here"/{constructs,endpoint_client,platform_facts,pyproject.toml,README.md,LICENSE} "$copy"
find "$copy" -name __pycache__ -prune -exec rm -rf {} +
cd "$copy"
python -c 'import sys; from setuptools.build_meta import build_sdist; build_sdist(sys.argv[1])' "$to" > /dev/null
python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation \
  --wheel-dir "$to" "$to"/*.tar.gz
ls -1 "$to"
