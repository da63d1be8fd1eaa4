"""Loading of the Python file that a recipe names as source."""

import sys
from pathlib import Path

import pytest

from model_build import BuildError, TorchModel
from model_build.export import torch_source
from tests.unit.model_build.fakes import step_context

WORKING = """
import sys

import torch

from model_build import TorchModel


class Doubled(torch.nn.Module):
    def forward(self, x):
        return x * 2


assert sys.modules[__name__].Doubled is Doubled


def doubled(weights):
    return TorchModel(
        module=Doubled(),
        inputs={"x": torch.float32},
        outputs=("y",),
        axes={},
        sample=lambda sizes, generator: {"x": torch.ones(1)},
    )
"""


def _load(folder: Path, source: str, function: str = "doubled") -> TorchModel:
    folder.mkdir(exist_ok=True)
    (folder / "export.py").write_text(source)
    context = step_context(folder, seed=7)
    return torch_source.load(f"export.py:{function}", context)


def test_module_name_depends_only_on_the_source(tmp_path: Path) -> None:
    names = [
        type(_load(tmp_path / folder, text).module).__module__
        for folder, text in (("a", WORKING), ("b", WORKING), ("c", WORKING + "# other\n"))
    ]
    assert names[0] == names[1] != names[2]
    assert "export" not in names


def test_loading_a_source_writes_no_files(tmp_path: Path) -> None:
    _load(tmp_path, WORKING)
    assert [path.name for path in tmp_path.iterdir()] == ["export.py"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import no_package\n",
         "export.py failed: ModuleNotFoundError: No module named 'no_package'"),
        ("def doubled(weights):\n    return 1 / 0\n",
         "export.py failed: ZeroDivisionError: division by zero"),
        ("other = 1\n", "export.py has no function doubled"),
        ("def doubled(weights): ...\n",
         "export.py:doubled: return a model_build.TorchModel"),
    ],
)  # fmt: skip
def test_error_of_an_unusable_source_has_the_reason(
    tmp_path: Path, source: str, message: str
) -> None:
    modules_before = {name for name in sys.modules if name.startswith("model_source_")}
    with pytest.raises(BuildError) as error:
        _load(tmp_path, source)
    assert str(error.value) == f"{tmp_path}/{message}"
    modules_after = {name for name in sys.modules if name.startswith("model_source_")}
    assert len(modules_after - modules_before) == ("import" not in source)


RANDOM = WORKING.replace("Doubled()", "torch.nn.Linear(2, 2)")


def test_random_weights_follow_the_seed(tmp_path: Path) -> None:
    first, second = (_load(tmp_path, RANDOM).module.state_dict()["weight"] for _ in range(2))
    assert first.equal(second)
