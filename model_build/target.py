"""What an archive is built for: a Triton release and, on a GPU, its compute capability."""

import re
from dataclasses import dataclass
from typing import Literal, Self

import platform_facts

_WRITTEN = re.compile(
    r"cpu-(?P<cpu>[0-9]{2}\.[0-9]{2})"
    r"|cuda-(?P<cuda>[0-9]{2}\.[0-9]{2})-sm(?P<sm>[1-9][0-9]{1,2})"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildTarget:
    """One kind of hosting instance, as far as a model's files depend on it.

    `release` is a Triton container release (`25.09`). `compute_capability` is the GPU's (`8.6`),
    and None for CPU instances. `str(target)` is the folder below an endpoint's prefix that holds
    its archives: a new release or GPU is a new prefix, which the endpoint takes over together with
    its new container, so that no engine is ever served by a release it was not compiled for.
    """

    release: str
    compute_capability: str | None = None

    @property
    def processor(self) -> Literal["cpu", "cuda"]:
        """`cuda` when there is a GPU to build for."""
        return "cuda" if self.compute_capability else "cpu"

    @property
    def runs_tensorflow(self) -> bool:
        """Whether a GraphDef can be served: CPU targets are served ONNX files instead."""
        release = platform_facts.release(self.release)
        return self.processor == "cuda" and "tensorflow" in release.backends

    def __str__(self) -> str:
        if self.compute_capability is None:
            return f"cpu-{self.release}"
        return f"cuda-{self.release}-sm{self.compute_capability.replace('.', '')}"

    @classmethod
    def parse(cls, written: str) -> Self:
        """Read what `str` writes: `cpu-24.09`, `cuda-25.09-sm86`. Raises `ValueError`."""
        match = _WRITTEN.fullmatch(written)
        if match is None:
            raise ValueError(
                f"{written!r} is not a build target: write cpu-RELEASE or "
                "cuda-RELEASE-smCAPABILITY, for example cpu-24.09 or cuda-25.09-sm86"
            )
        if match["cpu"]:
            return cls(release=match["cpu"])
        return cls(
            release=match["cuda"], compute_capability=f"{match['sm'][:-1]}.{match['sm'][-1]}"
        )
