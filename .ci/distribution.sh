#!/usr/bin/env bash
# Builds the sdist of a project, and from it the wheel, into a folder: `.ci/distribution.sh . dist`, or
# `.ci/distribution.sh local_sagemaker dist`. The environment's own setuptools builds them from a
# copy of the project, so that the tree stays clean.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
project=$1
mkdir -p "$2"
to=$(cd "$2" && pwd)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
if [ "$project" = . ]; then
  name=triton_sagemaker
  cp -r "$here"/{constructs,endpoint_client,platform_facts,pyproject.toml,README.md,LICENSE} "$copy"
else
  name=$project
  cp -r "$here/$project/." "$copy"
fi
rm -f "$to/$name"-*
find "$copy" -name __pycache__ -prune -exec rm -rf {} +
cd "$copy"
python -c 'import sys; from setuptools.build_meta import build_sdist; build_sdist(sys.argv[1])' "$to" > /dev/null
python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation \
  --wheel-dir "$to" "$to/$name"-*.tar.gz
ls -1 "$to/$name"-*
