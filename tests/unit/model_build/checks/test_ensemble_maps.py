"""An ensemble `both` of `first` (X to M) and `second` (M to Y), and what can be wrong with it."""

from typing import TYPE_CHECKING

import pytest

from model_build.checks.ensemble_maps import ensemble_maps
from model_build.repository import Repository

if TYPE_CHECKING:
    from tests.unit.model_build.conftest import WriteConfigs

FIRST = """
input [ { name: "A" data_type: TYPE_STRING dims: [ 1 ] } ]
output [ { name: "B" data_type: TYPE_INT64 dims: [ -1, 4 ] } ]
"""
SECOND = """
input [
  { name: "C" data_type: TYPE_INT64 dims: [ 3, 4 ] },
  { name: "hint" data_type: TYPE_FP32 dims: [ 1 ] optional: true }
]
output [ { name: "D" data_type: TYPE_FP32 dims: [ 2 ] } ]
"""
BOTH = """
name: "both"
platform: "ensemble"
input [ { name: "X" data_type: TYPE_STRING dims: [ 1 ] } ]
output [ { name: "Y" data_type: TYPE_FP32 dims: [ -1 ] } ]
ensemble_scheduling { step [
  {
    model_name: "first"
    input_map { key: "A" value: "X" }
    output_map { key: "B" value: "M" }
  },
  {
    model_name: "second"
    input_map { key: "C" value: "M" }
    output_map { key: "D" value: "Y" }
  }
] }
"""


def _findings(repository: Repository) -> list[str]:
    path = repository.folder / "both" / "config.pbtxt"
    found = list(ensemble_maps(repository))
    assert all(line.startswith(f"{path}: ") for line in found)
    return [line.removeprefix(f"{path}: ") for line in found]


def test_tensors_that_meet_are_right(write_configs: "WriteConfigs") -> None:
    assert _findings(write_configs(both=BOTH, first=FIRST, second=SECOND)) == []


def test_steps_may_stand_in_any_order(write_configs: "WriteConfigs") -> None:
    head, first, second = BOTH.partition("step [")[0] + "step [", *BOTH.split("  {\n")[1:]
    swapped = f"{head}  {{\n{second.replace('] }', ',', 1)}  {{\n{first.rstrip().rstrip(',')}\n] }}"
    assert swapped.index('"second"') < swapped.index('"first"')
    assert _findings(write_configs(both=swapped, first=FIRST, second=SECOND)) == []


def test_a_model_that_is_no_ensemble_has_no_maps(write_configs: "WriteConfigs") -> None:
    assert _findings(write_configs(first=FIRST, second=SECOND)) == []


@pytest.mark.parametrize(
    ("written", "instead", "told"),
    [
        (
            'model_name: "first"',
            'model_name: "frist"',
            [
                'step "frist" is no other model of this archive: write one of first, second',
                'step "second" uses tensor "M", which no step makes',
            ],
        ),
        (
            'key: "A"',
            'key: "a"',
            [
                '"first" has no input "a": write one of A',
                'step "first" gives no tensor for its input "A"',
            ],
        ),
        (
            'key: "B"',
            'key: "b"',
            [
                '"first" has no output "b": write one of B',
                'step "second" uses tensor "M", which no step makes',
            ],
        ),
        (
            'key: "C" value: "M"',
            'key: "C" value: "N"',
            ['step "second" uses tensor "N", which no step makes'],
        ),
        (
            'input_map { key: "C" value: "M" }',
            "",
            ['step "second" gives no tensor for its input "C"'],
        ),
        (
            'key: "D" value: "Y"',
            'key: "D" value: "M"',
            [
                'tensor "M" is made twice: give one of them another name',
                'output "Y" is made by no step: map a step\'s output to it',
            ],
        ),
        (
            'key: "D" value: "Y"',
            'key: "D" value: "X"',
            [
                'tensor "X" is made twice: give one of them another name',
                'output "Y" is made by no step: map a step\'s output to it',
            ],
        ),
        (
            'name: "X" data_type: TYPE_STRING',
            'name: "X" data_type: TYPE_UINT8',
            ['first: "A" is BYTES, what it is given is UINT8'],
        ),
        (
            'name: "X" data_type: TYPE_STRING dims: [ 1 ]',
            'name: "X" data_type: TYPE_STRING dims: [ 2 ]',
            ['first: "A" has dims [1], given [2]'],
        ),
        (
            'name: "Y" data_type: TYPE_FP32 dims: [ -1 ]',
            'name: "Y" data_type: TYPE_FP16 dims: [ -1 ]',
            ['the ensemble\'s output: "Y" is FP16, what it is given is FP32'],
        ),
        (
            'name: "Y" data_type: TYPE_FP32 dims: [ -1 ]',
            'name: "Y" data_type: TYPE_FP32 dims: [ -1, 2 ]',
            ['the ensemble\'s output: "Y" has dims [-1, 2], given [2]'],
        ),
        (
            'name: "Y"',
            'name: "Z"',
            ['output "Z" is made by no step: map a step\'s output to it'],
        ),
    ],
)
def test_a_broken_ensemble_is_told_every_place(
    write_configs: "WriteConfigs", written: str, instead: str, told: list[str]
) -> None:
    assert BOTH.count(written) == 1
    broken = BOTH.replace(written, instead)
    assert _findings(write_configs(both=broken, first=FIRST, second=SECOND)) == told


@pytest.mark.parametrize(
    ("dims", "told"),
    [
        ("[ -1, 4 ]", []),
        ("[ 3, 4 ]", []),
        ("[ -1, -1 ]", []),
        ("[ 5, 4 ]", ['second: "C" has dims [3, 4], given [5, 4]']),
        ("[ -1, 5 ]", ['second: "C" has dims [3, 4], given [-1, 5]']),
        ("[ 3 ]", ['second: "C" has dims [3, 4], given [3]']),
    ],
)
def test_a_dimension_agrees_with_itself_and_with_a_variable_one(
    write_configs: "WriteConfigs", dims: str, told: list[str]
) -> None:
    first = FIRST.replace("[ -1, 4 ]", dims)
    assert _findings(write_configs(both=BOTH, first=first, second=SECOND)) == told


def test_a_step_may_take_an_optional_input(write_configs: "WriteConfigs") -> None:
    hinted = BOTH.replace(
        'input_map { key: "C"', 'input_map { key: "hint" value: "X" }\n input_map { key: "C"'
    )
    assert _findings(write_configs(both=hinted, first=FIRST, second=SECOND)) == [
        'second: "hint" is FP32, what it is given is BYTES'
    ]


def test_an_ensemble_is_no_step_of_its_own(write_configs: "WriteConfigs") -> None:
    unnamed = BOTH.replace('name: "both"\n', "", 1).replace('"first"', '"both"')
    first, *_ = _findings(write_configs(both=unnamed, second=SECOND))
    assert first == 'step "both" is no other model of this archive: write one of second'


def test_where_there_is_nothing_to_write_nothing_is_offered(write_configs: "WriteConfigs") -> None:
    alone = _findings(write_configs(both=BOTH))
    assert alone[0] == (
        'step "first" is no other model of this archive: there is none, remove it or add one'
    )
    silent = _findings(write_configs(both=BOTH, first="", second=SECOND))
    assert silent[:2] == [
        '"first" has no output "B": there is none, remove it or add one',
        '"first" has no input "A": there is none, remove it or add one',
    ]


def test_inputs_without_a_tensor_are_told_in_the_order_of_their_names(
    write_configs: "WriteConfigs",
) -> None:
    inputs = "".join(
        f', {{ name: "{name}" data_type: TYPE_FP32 dims: [ 1 ] }}' for name in "zgqbwkdx"
    )
    wanting = SECOND.replace("optional: true }", "optional: true }" + inputs)
    assert _findings(write_configs(both=BOTH, first=FIRST, second=wanting)) == [
        f'step "second" gives no tensor for its input "{name}"' for name in "bdgkqwxz"
    ]


def test_tensors_that_come_out_of_each_other_are_refused(write_configs: "WriteConfigs") -> None:
    passing = """
input [ { name: "A" data_type: TYPE_FP32 dims: [ 1 ] } ]
output [ { name: "B" data_type: TYPE_FP32 dims: [ 1 ] } ]
"""
    steps = ", ".join(
        f'''{{
            model_name: "passing"
            input_map {{ key: "A" value: "{taken}" }}
            output_map {{ key: "B" value: "{given}" }}
        }}'''
        for taken, given in (("N", "M"), ("M", "N"), ("M", "Y"))
    )
    both = f"""
platform: "ensemble"
output [ {{ name: "Y" data_type: TYPE_FP32 dims: [ 1 ] }} ]
ensemble_scheduling {{ step [ {steps} ] }}
"""
    assert _findings(write_configs(both=both, passing=passing)) == [
        'tensor "M" is used before it is made (M -> N -> M): give one of these steps a tensor '
        "that does not come out of it"
    ]


@pytest.mark.parametrize(
    ("batches", "dims", "told"),
    [
        (8, "[ 4 ]", []),  # [-1, 4] with the batch axis, which the other has spelt out
        (8, "[ -1, 4 ]", []),  # Triton takes what agrees without it, too
        (8, "[ 5 ]", ['second: "C" has dims [-1, 4], given [5]']),
        (0, "[ 4 ]", ['second: "C" has dims [-1, 4], given [4]']),
    ],
)
def test_a_batch_axis_may_be_spelt_out_where_only_one_side_batches(
    write_configs: "WriteConfigs", batches: int, dims: str, told: list[str]
) -> None:
    first = f"max_batch_size: {batches}\n{FIRST.replace('[ -1, 4 ]', dims)}"
    second = SECOND.replace("[ 3, 4 ]", "[ -1, 4 ]")
    assert _findings(write_configs(both=BOTH, first=first, second=second)) == told
