"""Line and column of each field of a config.pbtxt."""

from typing import Any

import pytest
from google.protobuf import text_format
from google.protobuf.descriptor import FieldDescriptor
from hypothesis import given
from hypothesis import strategies as st
from tritonclient.grpc import model_config_pb2

from model_build.field_places import FieldPath, field_places

names = st.text(max_size=6)
keys = st.text("abz_09", min_size=1, max_size=6)
dims = st.lists(st.integers(-1, 2**40), max_size=3)
tensors = st.builds(
    model_config_pb2.ModelInput,
    name=names,
    data_type=st.sampled_from(model_config_pb2.DataType.values()),
    dims=dims,
    reshape=st.none() | st.builds(model_config_pb2.ModelTensorReshape, shape=dims),
)
steps = st.builds(
    model_config_pb2.ModelEnsembling.Step,
    model_name=names,
    model_version=st.integers(-1, 3),
    input_map=st.dictionaries(keys, names, max_size=2),
    output_map=st.dictionaries(keys, names, max_size=2),
)
configs = st.builds(
    model_config_pb2.ModelConfig,
    name=names,
    max_batch_size=st.integers(0, 64),
    input=st.lists(tensors, max_size=3),
    instance_group=st.lists(
        st.builds(
            model_config_pb2.ModelInstanceGroup,
            count=st.integers(0, 4),
            gpus=st.lists(st.integers(0, 7), max_size=3),
            profile=st.lists(names, max_size=2),
        ),
        max_size=2,
    ),
    ensemble_scheduling=st.none()
    | st.builds(model_config_pb2.ModelEnsembling, step=st.lists(steps, max_size=3)),
    parameters=st.dictionaries(
        keys, st.builds(model_config_pb2.ModelParameter, string_value=names), max_size=3
    ),
    model_warmup=st.lists(
        st.builds(
            model_config_pb2.ModelWarmup,
            inputs=st.dictionaries(
                keys, st.builds(model_config_pb2.ModelWarmup.Input, dims=dims), max_size=2
            ),
        ),
        max_size=2,
    ),
)


def _is_map(field: Any) -> bool:
    return bool(
        field.type == FieldDescriptor.TYPE_MESSAGE and field.message_type.GetOptions().map_entry
    )


def _fields(message: Any, path: FieldPath = ()) -> list[FieldPath]:
    """Return the path of every field of a message, as in `field_places`."""
    paths: list[FieldPath] = []
    for field, value in message.ListFields():
        paths.append((*path, field.name))
        if _is_map(field):
            paths += [(*path, field.name, key) for key in value]
            continue
        values = value if field.is_repeated else [value]
        for index, element in enumerate(values):
            paths.append((*path, field.name, index))
            if field.type == FieldDescriptor.TYPE_MESSAGE:
                paths += _fields(element, (*path, field.name, index))
    return paths


def _line_from(text: str, place: tuple[int, int]) -> str:
    line, column = place
    return text.split("\n")[line - 1][column - 1 :]


@given(configs)
def test_place_of_a_printed_field_is_that_of_its_name(config: Any) -> None:
    text = text_format.MessageToString(config)
    places = field_places(text)
    for path in _fields(config):
        name = next(step for step in reversed(path) if isinstance(step, str))
        if len(path) > 1 and path[-1] == name and not isinstance(path[-2], int):
            name = str(path[-2])  # a map key: its entry starts with the name of the map
        assert _line_from(text, places[path]).startswith(f"{name}"), path


@pytest.mark.parametrize(
    ("text", "path", "place"),
    [
        ('name: "a"', ("name",), (1, 1)),
        ('\n\n  name: "a"', ("name",), (3, 3)),
        ('name:"a"max_batch_size:1', ("max_batch_size",), (1, 9)),
        ('# name: "b"\nname: "a" # c', ("name",), (2, 1)),
        ('name: "# {" max_batch_size: 1', ("max_batch_size",), (1, 13)),
        ("name: '\"' max_batch_size: 1", ("max_batch_size",), (1, 11)),
        ('name: "\\"{" max_batch_size: 1', ("max_batch_size",), (1, 13)),
        ('name: "a"\n  "b" \'c\' max_batch_size: 1', ("max_batch_size",), (2, 11)),
        ('input [ { name: "a" }, { name: "b" } ]', ("input", 1), (1, 24)),
        ('input [ { name: "a" }, { name: "b" } ]', ("input", 1, "name"), (1, 26)),
        ('input: [ { name: "a" } ]', ("input", 0, "name"), (1, 12)),
        ('input { name: "a" } input { name: "b" }', ("input", 1), (1, 21)),
        ('input < name: "a" >', ("input", 0, "name"), (1, 9)),
        ("input: { dims: [ 1,\n -1 ] }", ("input", 0, "dims", 1), (2, 2)),
        ("input { dims: 1 dims: 2 }", ("input", 0, "dims", 1), (1, 17)),
        ("input { dims: 1, dims: 2; reshape { } }", ("input", 0, "reshape"), (1, 27)),
        ('input { dims: [] name: "a" }', ("input", 0, "name"), (1, 18)),
        ('parameters [ { key: "k" value { string_value: "v" } } ]', ("parameters", "k"), (1, 14)),
        ("parameters { value { string_value: \"v\" } key: 'k' }", ("parameters", "k"), (1, 1)),
        ('name: "a"\r\nbackend: "b"\r\n', ("backend",), (2, 1)),
        ('name: "ü" backend: "b"', ("backend",), (1, 11)),
    ],
)
def test_every_text_format_spelling_is_read(
    text: str, path: FieldPath, place: tuple[int, int]
) -> None:
    text_format.Parse(text, model_config_pb2.ModelConfig())  # the text is valid
    assert field_places(text)[path] == place


@pytest.mark.parametrize("key", ["ü", "it's", 'say "a"'])
def test_map_entry_is_read_with_any_key(key: str) -> None:
    config = model_config_pb2.ModelConfig()
    config.parameters[key].string_value = "x"
    assert ("parameters", key) in field_places(text_format.MessageToString(config))
