"""The versions of torch and DALI with which tests load the shipped TorchScript and DALI files.

Tests cannot load them with the exact versions of the releases: the images have NVIDIA's build of
torch, and PyPI has no wheels of DALI 1.36 to 1.52. Instead, tests load each file with a version
that is no newer than any release's, like the rule `environment_versions`, and TorchScript also with
a newer version:

- torch 2.4.1 of resnet50's environment runs the file in the gate of every build, and this
  repository's torch runs it in the local Triton (`test_resnet50.py`);
- DALI 1.35.0 runs the file in the local Triton (`test_inception.py`). Files for a GPU load only on
  a GPU; they equal DALI's own files (`tests/unit/model_build/formats/test_dali_definition.py`).
"""

import re
from pathlib import Path

import pytest
import torch
from packaging.version import Version

import platform_facts

MODELS = Path(__file__).parent
ROOT = Path(__file__).parents[1]
LOCAL_BACKEND = ROOT / "local_sagemaker" / "hosting" / "backends" / "dali" / "requirements.txt"
RELEASES = [release for release in platform_facts.releases() if release.name >= "24.09"]


def pinned_version(requirements: Path, package: str) -> Version:
    """Return the version that a requirements file pins."""
    match = re.search(rf"^{package}==(\S+)", requirements.read_text(), re.MULTILINE)
    assert match
    return Version(match[1])


@pytest.mark.parametrize("release", RELEASES, ids=lambda value: value.name)
def test_versions_of_tests_include_the_releases(release: platform_facts.Release) -> None:
    assert release.torch
    oldest = pinned_version(MODELS / "resnet50" / "requirements-export.txt", "torch")
    assert oldest <= Version(release.torch) <= Version(torch.__version__)
    if release.dali:  # no source names the DALI of 26.04
        package = "nvidia-dali-cuda120"
        writer = pinned_version(MODELS / "inception" / "requirements-export.txt", package)
        assert writer <= pinned_version(LOCAL_BACKEND, package) <= Version(release.dali)
