"""A `tensorrt` with exactly the API of one version that records its calls.

record_api.py wrote the api-VERSION.json files from the bindings of NVIDIA: classes, methods with
parameters, properties, and enum entries with numbers. Unknown names raise AttributeError and
invalid arguments TypeError, as in the real module.
"""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

VERSIONS = ("10.16.1.11", "11.4.0.106")

Surface = dict[str, dict[str, int | str]]


class RecordedTensorRt:
    """The module. `calls` has every call in order, `properties` the assigned properties.

    `answers` overrides results of methods and values of properties, by CLASS.MEMBER. A function is
    called in place of the method.
    """

    def __init__(self, version: str) -> None:
        file = Path(__file__).parent / f"api-{version}.json"
        self.surface: Surface = json.loads(file.read_text())
        self.calls: list[str] = []
        self.answers: dict[str, Any] = {}
        self.properties: dict[str, Any] = {}
        self.__version__ = version
        self.__spec__: Any = None

    def __getattr__(self, name: str) -> Any:
        if name not in self.surface:
            raise AttributeError(f"module 'tensorrt' has no attribute '{name}'")
        members = self.surface[name]
        if members and all(isinstance(member, int) for member in members.values()):
            entries = {
                member: _EnumEntry(name, member, int(number)) for member, number in members.items()
            }
            return SimpleNamespace(**entries)
        if name in ("ILogger", "IProgressMonitor"):  # classes that users subclass
            severities = SimpleNamespace(INTERNAL_ERROR=0, ERROR=1, WARNING=2, INFO=3, VERBOSE=4)
            return type(name, (), {"Severity": severities})
        return _Class(self, name)

    def _make(self, name: str) -> "_Object":
        """Return an object of a class, as a method would."""
        return _Object(self, name)


class _Class:
    """A class of the module; calling it creates an object."""

    def __init__(self, module: RecordedTensorRt, name: str) -> None:
        self._module, self._name = module, name

    def __getattr__(self, member: str) -> "_EnumEntry":
        if member not in self._module.surface[self._name]:
            raise AttributeError(f"type object 'tensorrt.{self._name}' has no '{member}'")
        return _EnumEntry(self._name, member, 0)

    def __call__(self, *arguments: Any) -> "_Object":
        self._module.calls.append(f"{self._name}({', '.join(map(_text, arguments))})")
        return _Object(self._module, self._name)


class _EnumEntry(int):
    """An enum entry: an int with a name for recorded calls."""

    _text: str

    def __new__(cls, enum: str, name: str, number: int) -> "_EnumEntry":
        entry = super().__new__(cls, number)
        entry._text = f"{enum}.{name}"
        return entry


class _Object:
    """An object of the module; `_name` is its class."""

    def __init__(self, module: RecordedTensorRt, name: str) -> None:
        object.__setattr__(self, "_module", module)
        object.__setattr__(self, "_name", name)

    def __getattr__(self, member: str) -> Any:
        module, name = self._module, self._name
        if member not in module.surface[name]:
            raise AttributeError(f"'tensorrt.{name}' object has no attribute '{member}'")
        signatures = str(module.surface[name][member])
        if signatures.startswith("property"):
            return module.answers.get(f"{name}.{member}")
        return lambda *values, **named: self._call(member, signatures, values, named)

    def __setattr__(self, member: str, value: Any) -> None:
        module, name = self._module, self._name
        if module.surface[name].get(member) != "property read-write":
            raise AttributeError(f"'tensorrt.{name}' has no attribute '{member}' to set")
        module.calls.append(f"{name}.{member} = {_text(value)}")
        module.properties[f"{name}.{member}"] = value

    def __bytes__(self) -> bytes:
        assert self._name == "IHostMemory"
        return b"serialized"

    def _call(
        self, member: str, signatures: str, positional: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:
        module, name = self._module, self._name
        overloads = [_Signature.parse(part) for part in signatures.split(" | ")]
        matching = [overload for overload in overloads if overload.fits(positional, named)]
        if not matching:
            raise TypeError(
                f"{name}.{member}: incompatible arguments {positional} {named}; {signatures}"
            )
        arguments = [*map(_text, positional), *(f"{name}={_text(named[name])}" for name in named)]
        module.calls.append(f"{name}.{member}({', '.join(arguments)})")
        if f"{name}.{member}" in module.answers:
            answer = module.answers[f"{name}.{member}"]
            return answer(*positional) if callable(answer) else answer
        returned = matching[0].returned
        plain = {"bool": True, "int": 0, "str": "", "None": None}
        return plain[returned] if returned in plain else _Object(module, returned)


class _Signature:
    def __init__(self, parameters: list[tuple[str, bool]], returned: str) -> None:
        self._parameters, self.returned = parameters, returned

    @classmethod
    def parse(cls, signatures: str) -> "_Signature":
        match = re.search(r"\w+\((.*)\) -> (.+)$", signatures)
        assert match, signatures
        written = re.split(r", (?=\w+: )", match[1])  # a default may have commas, but no names
        parameters = [(parameter.partition(":")[0], " = " in parameter) for parameter in written]
        returned = match[2].replace("nvonnxparser::I", "")  # a type that pybind11 did not know
        return cls([parameter for parameter in parameters if parameter[0] != "self"], returned)

    def fits(self, positional: tuple[Any, ...], named: dict[str, Any]) -> bool:
        rest = self._parameters[len(positional) :]
        needed = {name for name, has_default in rest if not has_default}
        return (
            len(positional) <= len(self._parameters)
            and needed <= named.keys()
            and named.keys() <= {name for name, _ in rest}
        )


def _text(value: Any) -> str:
    if isinstance(value, _EnumEntry):
        return value._text
    if isinstance(value, _Object):
        return f"<{value._name}>"
    if isinstance(value, bytes):
        return f"<{len(value)} bytes>"
    if isinstance(value, int | str | list | tuple | bool):
        return repr(value)
    return f"<{type(value).__name__}>"
