"""Line and column of each field of a config.pbtxt."""

import pytest
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

from model_build.field_locations import FieldPath, field_locations


@pytest.mark.parametrize(
    ("text", "path", "location"),
    [
        ('name: "a"', ("name",), (1, 1)),
        ('\n\n  name: "a"', ("name",), (3, 3)),
        ('name:"a"max_batch_size:1', ("max_batch_size",), (1, 9)),
        ('# name: "b"\nname: "a" # c', ("name",), (2, 1)),
        ("name: '\"' max_batch_size: 1", ("max_batch_size",), (1, 11)),
        ('name: "\\"{" max_batch_size: 1', ("max_batch_size",), (1, 13)),
        ('name: "a"\n  "b" \'c\' max_batch_size: 1', ("max_batch_size",), (2, 11)),
        ('input [ { name: "a" }, { name: "b" } ]', ("input", 1, "name"), (1, 26)),
        ('input: [ { name: "a" } ]', ("input", 0, "name"), (1, 12)),
        ('input { name: "a" } input { name: "b" }', ("input", 1), (1, 21)),
        ('input < name: "a" >', ("input", 0, "name"), (1, 9)),
        ("input: { dims: [ 1,\n -1 ] }", ("input", 0, "dims", 1), (2, 2)),
        ("input { dims: 1, dims: 2; reshape { } }", ("input", 0, "reshape"), (1, 27)),
        ('input { dims: [] name: "a" }', ("input", 0, "name"), (1, 18)),
        ('parameters [ { key: "k" value { string_value: "v" } } ]', ("parameters", "k"), (1, 14)),
        ("parameters { value { string_value: \"v\" } key: 'k' }", ("parameters", "k"), (1, 1)),
        ('name: "a"\r\nbackend: "b"\r\n', ("backend",), (2, 1)),
        ('name: "ü" backend: "b"', ("backend",), (1, 11)),
    ],
)
def test_every_text_format_spelling_is_read(
    text: str, path: FieldPath, location: tuple[int, int]
) -> None:
    text_format.Parse(text, model_config_pb2.ModelConfig())  # the text is valid
    assert field_locations(text)[path] == location


@pytest.mark.parametrize("key", ["ü", "it's", 'say "a"'])
def test_map_entry_is_read_with_any_key(key: str) -> None:
    config = model_config_pb2.ModelConfig()
    config.parameters[key].string_value = "x"
    assert ("parameters", key) in field_locations(text_format.MessageToString(config))
