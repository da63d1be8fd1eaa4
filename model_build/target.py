"""The target of a build: a Triton release, its Python and the GPU's compute capability."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, Self

import platform_facts
from model_build.errors import BuildError

PYTHON_VARIABLE = "TRITON_PYTHON"
"""Environment variable for `cdk synth`: the Python version that runs models, if it differs from the
release's image, as on the local SageMaker."""

_TARGET = re.compile(
    r"(cpu-(?P<cpu>[0-9]{2}\.[0-9]{2})"
    r"|cuda-(?P<cuda>[0-9]{2}\.[0-9]{2})-sm(?P<sm>[1-9][0-9]{1,2}))"
    r"(-py3(?P<python>0|[1-9][0-9]?))?"
)
_PYTHON = re.compile(r"3\.(0|[1-9][0-9]?)")


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildTarget:
    """The properties of hosting instances that affect a model's files.

    `release` is a Triton container release (`25.09`). `compute_capability` is the GPU's (`8.6`),
    None for CPU instances. `python` is the version that runs Python models (`3.11`), None for the
    version of the release's image, as on AWS. `str(target)` is a part of the S3 prefix of the
    archives: an endpoint with another release, GPU or Python loads archives from another prefix.
    """

    release: str
    compute_capability: str | None = None
    python: str | None = None

    @property
    def processor(self) -> Literal["cpu", "cuda"]:
        """`cuda` for GPU instances, `cpu` for others."""
        return "cuda" if self.compute_capability else "cpu"

    @property
    def runs_tensorflow(self) -> bool:
        """Whether the target can serve a GraphDef; CPU targets serve ONNX files instead."""
        release = platform_facts.release(self.release)
        return self.processor == "cuda" and "tensorflow" in release.backends

    def with_python(self, python: str) -> Self:
        """Return the target with another Python version (`3.11`). Raise `BuildError`.

        The image's own version becomes None, so that equal targets have equal names.
        """
        if not _PYTHON.fullmatch(python):
            raise BuildError(
                f"{PYTHON_VARIABLE} is {python!r}, not a Python version: write one such as 3.11, "
                "or unset it to build for the Python of the release's image"
            )
        image_python = platform_facts.release(self.release).python
        is_default = image_python.split(".")[:2] == python.split(".")
        return replace(self, python=None if is_default else python)

    def __str__(self) -> str:
        python = f"-py{self.python.replace('.', '')}" if self.python else ""
        if self.compute_capability is None:
            return f"cpu-{self.release}{python}"
        return f"cuda-{self.release}-sm{self.compute_capability.replace('.', '')}{python}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the target of a string such as `cpu-24.09` or `cuda-25.09-sm86-py311`.

        Raise `ValueError`.
        """
        match = _TARGET.fullmatch(text)
        if match is None:
            raise ValueError(
                f"{text!r} is not a build target: write cpu-RELEASE or "
                "cuda-RELEASE-smCAPABILITY, for example cpu-24.09 or cuda-25.09-sm86, with -py311 "
                "at the end if Python is not the release's"
            )
        return cls(
            release=match["cpu"] or match["cuda"],
            compute_capability=f"{match['sm'][:-1]}.{match['sm'][-1]}" if match["sm"] else None,
            python=f"3.{match['python']}" if match["python"] else None,
        )


def newer_release_hint(accepts: Callable[[platform_facts.Release], bool]) -> str:
    """Return the end of a message that names the oldest accepted release, or an empty string."""
    oldest = platform_facts.oldest_release(accepts)
    return f", or choose Triton {oldest.name} or newer" if oldest else ""
