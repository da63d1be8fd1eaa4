"""Between which versions the shipped TorchScript and DALI files are loaded here.

With a release's own version none can be: the images' torch is NVIDIA's build, and of DALI 1.36 to
1.52 PyPI has no wheels; a TorchScript file is not worth a third torch of several gigabytes. So each
file is loaded by a version that is no newer than any release's, which is the promise that
`environment_versions` holds recipes to, and TorchScript by a newer one too:

- torch 2.4.1 of resnet50's environment runs the file in the gate of every build, and our own runs
  it in the local Triton (`test_resnet50.py`);
- DALI 1.35.0 runs the file in the local Triton (`test_inception.py`). Files for a GPU load only on
  one: they are what DALI itself writes (`tests/unit/model_build/formats/test_dali_definition.py`).
"""

import re
from pathlib import Path

import pytest
import torch
from packaging.version import Version

import platform_facts

MODELS = Path(__file__).parent
ROOT = Path(__file__).parents[1]
STAND_IN = ROOT / "local_sagemaker" / "hosting" / "backends" / "dali" / "requirements.txt"
RELEASES = [each for each in platform_facts.releases() if each.name >= "24.09"]


def pinned(requirements: Path, package: str) -> Version:
    """Return the version that a requirements file pins."""
    text = re.search(rf"^{package}==(\S+)", requirements.read_text(), re.MULTILINE)
    assert text
    return Version(text[1])


@pytest.mark.parametrize("release", RELEASES, ids=lambda value: value.name)
def test_torchscript_is_loaded_by_an_older_and_a_newer_torch_than_the_release_s(
    release: platform_facts.Release,
) -> None:
    assert release.torch
    oldest = pinned(MODELS / "resnet50" / "requirements-export.txt", "torch")
    assert oldest <= Version(release.torch) <= Version(torch.__version__)


@pytest.mark.parametrize("release", RELEASES, ids=lambda value: value.name)
def test_dali_files_are_loaded_by_no_newer_dali_than_the_release_s(
    release: platform_facts.Release,
) -> None:
    assert release.dali
    written = pinned(MODELS / "inception" / "requirements-export.txt", "nvidia-dali-cuda120")
    assert written <= pinned(STAND_IN, "nvidia-dali-cuda120") <= Version(release.dali)
