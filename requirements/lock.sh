#!/usr/bin/env bash
# Resolves requirements/app.in into requirements.txt, and of it what builds need: `make lock`.
#
# PyPI's torch names CUDA packages of several GB, which nothing here needs: the locks have the builds
# for CPUs of requirements/torch.txt instead.
set -euo pipefail
compile() {
  uv pip compile --quiet --no-header --generate-hashes --python-version 3.11 "$@"
}
# For the platforms of `environments` in pyproject.toml: what all of them install has no marker.
everywhere() {
  compile --universal "$@" | sed -E "s/python_full_version < '3.13' and implementation_name == 'cpython' and //g
    s/ ; \(sys_platform == 'darwin'\) or \(sys_platform == 'linux'\)//"
}
without_accelerators() {
  # shellcheck disable=SC2046
  "$@" $(printf -- '--no-emit-package %s ' $accelerator) | sed '/^$/d; /^# The following/,$d'
}
accelerator=$(compile --universal --no-annotate requirements/app.in |
  sed -nE 's/^((nvidia-[cn]|cuda-)[^=]*|triton|torch)==.*/\1/p')
{
  echo "# Made by \`make lock\` from requirements/app.in; serves Python 3.11 and 3.12 on Linux and macOS."
  without_accelerators everywhere requirements/app.in
  cat requirements/torch.txt
} > requirements.txt
{
  echo "# Made by \`make lock\` from requirements/cdk.in, with the versions of requirements.txt."
  everywhere requirements/cdk.in --constraint requirements.txt --no-annotate
} > requirements/cdk.txt
{
  echo "# Made by \`make lock\` from requirements/build.in, with the versions of requirements.txt."
  without_accelerators compile --python-platform x86_64-manylinux_2_35 \
    requirements/build.in --constraint requirements.txt --no-annotate
  cat requirements/torch.txt
  echo "# The tritonserver that loads archives. Its Python package, which has dependencies, is not used."
  awk '/^nvidia-pytriton==/ { entry = 1 } /^ *# via/ { entry = 0 } entry' requirements.txt
} > requirements/build.txt
{
  echo "# checkov in an environment of its own: its pins clash with the app's. Made by \`make lock\`."
  echo "checkov==3.3.30" | uv pip compile - --quiet --no-header --no-annotate --generate-hashes --python-version 3.11
} > requirements/checkov.txt
# The clients that tests/clients runs, in two environments: SDK v2 and v3 clash. Of v3 the core
# alone, which invokes: the rest of it trains and deploys.
clients() {
  echo "# Clients for \`make clients-test\`. Made by \`make lock\`."
  printf '%s\n' "$@" |
    uv pip compile - --quiet --no-header --no-annotate --generate-hashes --python-version 3.11
}
clients awscli==1.46.3 boto3==1.44.5 sagemaker==2.257.7 > tests/clients/requirements-v2.txt
clients sagemaker-core==2.27.0 > tests/clients/requirements-v3.txt
{
  echo "# What drives Chromium in \`make browser-test\`. Made by \`make lock\`."
  echo "playwright==1.65.2" | uv pip compile - --quiet --no-header --no-annotate --generate-hashes --python-version 3.11
} > tests/browser/requirements.txt
{
  echo "# What \`make dist-test\` installs with the wheel, for Python 3.13 and 3.14. Made by \`make lock\`."
  uv pip compile pyproject.toml --extra constructs --quiet --no-header --no-annotate --generate-hashes \
    --python-version 3.13
} > tests/distribution/requirements.txt
{
  echo "# What builds the documentation site in \`make docs\`. Made by \`make lock\`."
  printf '%s\n' furo==2025.12.19 matplotlib==3.11.2 myst-parser==5.2.0 sphinx==9.0.4 \
    sphinx-autoapi==3.9.0 sphinxcontrib-mermaid==2.1.1 |
    uv pip compile - --quiet --no-header --no-annotate --generate-hashes --python-version 3.11
} > docs/requirements.txt
{
  echo "# What writes the bill of materials of a release in \`make sbom\`. Made by \`make lock\`."
  echo "cyclonedx-bom==7.5.0" | uv pip compile - --quiet --no-header --no-annotate --generate-hashes --python-version 3.11
} > tests/distribution/requirements-sbom.txt
# Packages of the local Triton's backends: the versions that stand there, with hashes.
for lock in local_sagemaker/hosting/backends/*/requirements.txt; do
  hashed=$(grep -oE '^[a-z0-9-]+==[^ ]+' "$lock" | uv pip compile - --quiet --no-header --no-annotate \
    --no-deps --generate-hashes --python-version 3.11)
  heading=$(grep '^#' "$lock")
  printf '%s\n' "$heading" "$hashed" > "$lock"
done
