"""`dataclass` of the standard library whose methods are made when a class is first used.

The standard library compiles up to seven methods for each class when its module is imported, about a millisecond for a
class: of what our own modules took to import that was half, and most of those classes are not used by a first request.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, field, fields
from dataclasses import dataclass as dataclass_at_once
from typing import TYPE_CHECKING, Any, NoReturn

_FIELD_OPTIONS = ("default", "default_factory", "init", "repr", "compare", "kw_only")
_MADE_BY = {"__init__": "init", "__repr__": "repr", "__eq__": "eq", "__hash__": "unsafe_hash"}
"""The option of the standard library that makes the method."""
_NONE = dict.fromkeys(_MADE_BY.values(), False)
_NOT_GIVEN = object()


def _lazy_dataclass(
    *, frozen: bool = False, slots: bool = False, kw_only: bool = False, eq: bool = True
) -> Callable[[type[Any]], type[Any]]:
    """As `dataclasses.dataclass` with the same arguments: fields, `replace`, `asdict`, equality, hash and errors are
    the same. Of a frozen one no attribute at all can be set, not by subclasses either. A method's signature shows once
    it has been called; `__dataclass_params__` tells of what the standard library made itself.
    """

    def decorate(cls: type[Any]) -> type[Any]:
        if not frozen and any(base.__dict__.get("__setattr__") is _refuse_set for base in cls.__mro__):
            raise TypeError("cannot inherit non-frozen dataclass from a frozen one")
        own = {name for name in _MADE_BY if cls.__dict__.get(name) is not None}
        is_documented = cls.__doc__ is not None
        # Else the standard library would write a signature there, which costs as much as a method.
        cls.__doc__ = cls.__doc__ or cls.__name__
        made = dataclass_at_once(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
        if not is_documented:
            made.__doc__ = None
        wanted = {"__init__", "__repr__", *(["__eq__"] if eq else []), *(["__hash__"] if eq and frozen else [])}
        for name in wanted - own:
            setattr(made, name, _promise(made, name, is_frozen=frozen))
        if eq and not frozen and "__hash__" not in own:
            made.__hash__ = None  # type: ignore[assignment]  # as Python itself says that there is none
        if frozen:
            made.__setattr__ = _refuse_set  # type: ignore[assignment]  # it never returns
            made.__delattr__ = _refuse_delete  # type: ignore[assignment]  # it never returns
            if slots and "__setstate__" not in cls.__dict__:
                setattr(made, "__setstate__", _set_state)  # noqa: B010  # no class has it by itself
        return made

    return decorate


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414  # it is handed on
else:
    dataclass = _lazy_dataclass


def _promise(made: type[Any], name: str, *, is_frozen: bool) -> Callable[..., Any]:
    """A method that its first call replaces by the real one."""

    def promised(self: object, *given: object, **named: object) -> object:
        if made.__dict__[name] is promised:
            setattr(made, name, _method(made, name, is_frozen=is_frozen))
        return getattr(made, name)(self, *given, **named)

    return promised


def _method(made: type[Any], name: str, *, is_frozen: bool) -> Callable[..., Any]:
    """The method that the standard library makes for a class with the same fields, or would: `__init__` is ours."""
    if name == "__init__":
        return _init(made, is_frozen=is_frozen)
    body: dict[str, Any] = {"__module__": made.__module__, "__qualname__": made.__qualname__, "__annotations__": {}}
    # Else a signature would be made, as above.
    body["__doc__"] = made.__name__
    for one in fields(made):
        body["__annotations__"][one.name] = one.type
        body[one.name] = field(**{option: getattr(one, option) for option in _FIELD_OPTIONS})
    twin: type[Any] = dataclass_at_once(**{**_NONE, _MADE_BY[name]: True})(type(made.__name__, (), body))
    method: Callable[..., Any] = twin.__dict__[name]
    return method


def _init(made: type[Any], *, is_frozen: bool) -> Callable[..., Any]:
    """As the standard library's. That one compiles two methods more for each frozen class, which are not wanted here:
    it was half of what a start spent on methods.
    """
    known: dict[str, Any] = {"_set": object.__setattr__, "_given": _NOT_GIVEN}
    parameters: dict[bool, list[str]] = {False: [], True: []}
    lines = []
    for one in fields(made):
        value = one.name
        if one.default_factory is not MISSING:
            known[f"_make_{one.name}"] = one.default_factory
            value = f"_make_{one.name}()"
            if one.init:
                parameters[bool(one.kw_only)].append(f"{one.name}=_given")
                value = f"{value} if {one.name} is _given else {one.name}"
        elif one.default is not MISSING:
            known[f"_default_{one.name}"] = one.default
            if one.init:
                parameters[bool(one.kw_only)].append(f"{one.name}=_default_{one.name}")
            elif "__slots__" not in made.__dict__:
                continue  # The class has it.
            else:
                value = f"_default_{one.name}"
        elif one.init:
            parameters[bool(one.kw_only)].append(one.name)
        else:
            continue
        lines.append(f"_set(self, {one.name!r}, {value})" if is_frozen else f"self.{one.name} = {value}")
    if hasattr(made, "__post_init__"):
        lines.append("self.__post_init__()")
    taken = ["self", *parameters[False], *(["*", *parameters[True]] if parameters[True] else [])]
    exec(f"def __init__({', '.join(taken)}):\n " + "\n ".join(lines or ["pass"]), known)  # noqa: S102  # names of fields
    method: Callable[..., Any] = known["__init__"]
    method.__qualname__ = f"{made.__qualname__}.__init__"
    method.__annotations__ = {one.name: one.type for one in fields(made) if one.init} | {"return": None}
    return method


def _refuse_set(_self: object, name: str, _value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_delete(_self: object, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _set_state(self: object, state: tuple[object, dict[str, object]]) -> None:
    """A copy is filled past what refuses changes."""
    for name, value in state[1].items():
        object.__setattr__(self, name, value)
