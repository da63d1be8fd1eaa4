"""The target of a build: a Triton release, its Python and the GPU's compute capability."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, Self

import platform_facts
from model_build.errors import BuildError

PYTHON_VARIABLE = "TRITON_PYTHON"
"""The environment variable that names the Python of models to `cdk synth`, where the hosts to be
deployed to have another than the release's image: the local SageMaker may."""

_WRITTEN = re.compile(
    r"(cpu-(?P<cpu>[0-9]{2}\.[0-9]{2})"
    r"|cuda-(?P<cuda>[0-9]{2}\.[0-9]{2})-sm(?P<sm>[1-9][0-9]{1,2}))"
    r"(-py3(?P<python>0|[1-9][0-9]?))?"
)
_PYTHON = re.compile(r"3\.(0|[1-9][0-9]?)")


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildTarget:
    """A kind of hosting instance, as far as a model's files depend on it.

    `release` is a Triton container release (`25.09`). `compute_capability` is the GPU's (`8.6`),
    and None for CPU instances. `python` is the version that Python models run in (`3.11`) and their
    packages are packed for, and None where it is that of the release's image, as on AWS.
    `str(target)` is the folder below an endpoint's prefix that holds its archives: a new release,
    GPU or Python is a new prefix, which the endpoint takes over together with its new container, so
    that no archive is ever served by what it was not built for.
    """

    release: str
    compute_capability: str | None = None
    python: str | None = None

    @property
    def processor(self) -> Literal["cpu", "cuda"]:
        """`cuda` when there is a GPU to build for."""
        return "cuda" if self.compute_capability else "cpu"

    @property
    def runs_tensorflow(self) -> bool:
        """Whether a GraphDef can be served: CPU targets are served ONNX files instead."""
        release = platform_facts.release(self.release)
        return self.processor == "cuda" and "tensorflow" in release.backends

    def with_python(self, python: str) -> Self:
        """Return the target with Python models run in that version (`3.11`).

        The image's own is not named, so that there is one name for one target. Raises `BuildError`.
        """
        if not _PYTHON.fullmatch(python):
            raise BuildError(
                f"{PYTHON_VARIABLE} is {python!r}, no version of Python: write one such as 3.11, "
                "or unset it to build for the Python of the release's image"
            )
        image = platform_facts.release(self.release).python
        is_images = image is not None and image.split(".")[:2] == python.split(".")
        return replace(self, python=None if is_images else python)

    def __str__(self) -> str:
        python = f"-py{self.python.replace('.', '')}" if self.python else ""
        if self.compute_capability is None:
            return f"cpu-{self.release}{python}"
        return f"cuda-{self.release}-sm{self.compute_capability.replace('.', '')}{python}"

    @classmethod
    def parse(cls, written: str) -> Self:
        """Read what `str` writes: `cpu-24.09`, `cuda-25.09-sm86-py311`. Raises `ValueError`."""
        match = _WRITTEN.fullmatch(written)
        if match is None:
            raise ValueError(
                f"{written!r} is not a build target: write cpu-RELEASE or "
                "cuda-RELEASE-smCAPABILITY, for example cpu-24.09 or cuda-25.09-sm86, and -py311 "
                "behind it where Python is not the release's"
            )
        return cls(
            release=match["cpu"] or match["cuda"],
            compute_capability=f"{match['sm'][:-1]}.{match['sm'][-1]}" if match["sm"] else None,
            python=f"3.{match['python']}" if match["python"] else None,
        )


def newer_release_hint(accepts: Callable[[platform_facts.Release], bool]) -> str:
    """Return the end of a message: the oldest release that would do, if there is one."""
    oldest = platform_facts.oldest_release(accepts)
    return f", or choose Triton {oldest.name} or newer" if oldest else ""
