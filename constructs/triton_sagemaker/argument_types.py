"""Arguments of a wrong type, told by their names before anything is made of them."""

import functools
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

Class = TypeVar("Class", bound=type)


def typed(cls: Class) -> Class:
    """Let a class refuse arguments of wrong types, all in one `TypeError`.

    The CDK's own classes do so where they take one of its classes. Where they take an interface,
    such as `IBucket`, they take any object, which fails inside jsii (aws-cdk-lib, `check_type`).
    """
    init: Callable[..., None] = cls.__init__  # type: ignore[misc]
    signature = inspect.signature(init)
    hints = functools.cache(lambda: get_type_hints(init))  # some name classes further down

    @functools.wraps(init)
    def checked(self: Any, *args: Any, **kwargs: Any) -> None:
        given = signature.bind(self, *args, **kwargs).arguments
        wrong = [
            f"{name}: {_given(value)} given: write {_shown(hint)}{_part_of(value, hint)}"
            for name, hint in hints().items()
            if name in given and not _is(value := given[name], hint)
        ]
        if wrong:
            raise TypeError("\n  ".join([f"{cls.__name__} cannot take these arguments:", *wrong]))
        init(self, *args, **kwargs)

    cls.__init__ = checked  # type: ignore[misc]
    return cls


def _is(value: Any, hint: Any) -> bool:
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, types.UnionType):
        return any(_is(value, it) for it in arguments)
    if origin is Literal:
        return value in arguments
    if origin in (Sequence, list):
        return _is(value, origin) and all(_is(it, arguments[0]) for it in value)
    if origin in (Mapping, dict):
        key, item = arguments
        return isinstance(value, origin) and all(
            _is(name, key) and _is(it, item) for name, it in value.items()
        )
    if hint is Sequence:
        return isinstance(value, Sequence) and not isinstance(value, str)
    if hint in (int, float):
        return isinstance(value, int | hint) and not isinstance(value, bool)
    # What jsii knows by its interfaces alone is one object for each of them.
    faces = getattr(value, "_delegates", [value])
    if getattr(hint, "_is_protocol", False):
        members = {it for it in dir(hint) if not it.startswith("_")}
        return any(members <= {*dir(type(it))} for it in faces)
    return any(isinstance(it, hint) for it in faces)


def _given(value: Any) -> str:
    if isinstance(value, str | int | float | None):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_given, value))}]"
    return _shown(type(value))


def _shown(hint: Any) -> str:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(map(_shown, arguments))
    if origin is Literal:
        return " or ".join(map(repr, arguments))
    if origin:
        return f"{origin.__name__}[{', '.join(map(_shown, arguments))}]"
    if hint in (None, type(None), Any):
        return str(None if hint is type(None) else hint)
    package, _, _ = hint.__module__.partition(".")
    if package in ("builtins", "collections"):
        return str(hint.__name__)
    return f"{hint.__module__ if package == 'aws_cdk' else package}.{hint.__name__}"


def _part_of(value: Any, hint: Any) -> str:
    """Name the attribute of what was given that is wanted: a bucket of a construct."""
    for name, part in getattr(value, "__dict__", {}).items():
        if not name.startswith("_") and part is not None and _is(part, hint):
            return f", such as its .{name}"
    return ""
