"""A small PyTorch module, traced for real by a worker, to which our packages are the recipe's."""

import textwrap
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from model_build import BuildError, GateFailed
from model_build.export.gate import GateReport
from model_build.formats.torchscript import TorchScript
from model_build.recipe_values import Gate
from tests.unit.model_build.fakes import step_context

# torch.jit is deprecated, and what this platform of Triton takes
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")

SOURCE = """
import torch

from model_build import TorchModel


class TwoOutputs(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 3)

    def forward(self, x):
        y = self.layer(x)
        return y, -y


class Branching(torch.nn.Module):
    def forward(self, x):
        return x * 2 if x.shape[0] > 1 else x


def _of(module, outputs):
    return TorchModel(
        module=module.eval(),
        inputs={"x": torch.float32},
        outputs=outputs,
        axes={"x": {"batch": (1, 8)}},
        sample=lambda sizes, generator: {
            "x": torch.randn(sizes["batch"], 4, generator=generator)
        },
    )


def two_outputs(weights):
    return _of(TwoOutputs(), ("y", "z"))


def branching(weights):
    return _of(Branching(), ("y",))


def module_alone(weights):
    return Branching()


def what_there_is(weights):
    import model_build

    public = [name for name in vars(model_build) if name[0].isupper()]
    raise RuntimeError(f"given {weights}, {public}, {__name__}")
"""


@pytest.fixture(scope="module", autouse=True)
def environment() -> Iterator[None]:
    """An installed environment, which a recipe's own would take minutes to become."""
    packages = Path(torch.__file__).parents[1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("model_build.export.environments._installed", lambda *_, **__: packages)
        yield


def _export(folder: Path, function: str, **more: Any) -> GateReport:
    folder.mkdir(parents=True)
    (folder / "export.py").write_text(textwrap.dedent(SOURCE))
    context = step_context(folder, scratch=folder.parent, **more)
    step = TorchScript(
        to="torchscript",
        source=f"export.py:{function}",
        environment="pins.txt",
        gate=Gate(max_absolute_difference=1e-5),
    )
    ((what, report),) = step.make(folder / "model.pt", context).gates
    assert what == "TorchScript and PyTorch"
    return report


@dataclass(frozen=True)
class Exported:
    """`two_outputs` from two folders, and once more with another seed."""

    report: GateReport
    first: Path
    again: Path
    other: Path


@pytest.fixture(scope="module")
def exported(environment: None, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    folder = tmp_path_factory.mktemp("exported")
    folders = [folder / "first", folder / "some" / "where" / "else", folder / "other"]
    reports = [
        _export(each, "two_outputs", seed=seed)
        for each, seed in zip(folders, (1, 1, 2), strict=True)
    ]
    return Exported(reports[0], *(each / "model.pt" for each in folders))


def test_a_traced_file_answers_like_its_module_for_every_batch(exported: Exported) -> None:
    assert exported.report.shapes == [{"batch": 1}, {"batch": 2}, {"batch": 4}, {"batch": 8}]
    assert exported.report.max_absolute_difference <= 1e-6
    traced = torch.jit.load(exported.first)  # type: ignore[no-untyped-call]
    first, second = traced(torch.ones(5, 4))
    assert first.shape == (5, 3)
    assert torch.equal(first, -second)


def test_equal_weights_are_equal_bytes_wherever_the_source_lies(exported: Exported) -> None:
    assert exported.first.read_bytes() == exported.again.read_bytes()


def test_what_only_error_messages_need_is_left_out(exported: Exported) -> None:
    with zipfile.ZipFile(exported.first) as content:
        names = content.namelist()
    assert names
    assert not [name for name in names if name.endswith((".debug_pkl", "serialization_id"))]


def test_a_branch_that_tracing_froze_is_found_by_the_gate(tmp_path: Path) -> None:
    with pytest.raises(GateFailed, match=r"^model\.pt differs from PyTorch by "):
        _export(tmp_path / "model", "branching")


@pytest.mark.parametrize(
    ("function", "last"),
    [
        ("module_alone", "return a model_build.TorchModel"),
        (
            "what_there_is",
            "RuntimeError: given /the/weights, ['Callable', 'TYPE_CHECKING', 'TorchModel'], "
            "model_source",
        ),
    ],
)
def test_a_source_that_fails_is_named_with_the_reason(
    tmp_path: Path, function: str, last: str
) -> None:
    folder = tmp_path / "model"
    with pytest.raises(BuildError) as refused:
        _export(folder, function, weights=Path("/the/weights"))
    first, *_, reason = str(refused.value).splitlines()
    pins = folder / "pins.txt"
    assert first == f"{folder}/export.py:{function} failed with the packages of {pins}:"
    assert reason == last
