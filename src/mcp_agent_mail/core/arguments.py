"""Arguments of a call: what a signature declares, what a caller gave, and what is wrong with it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

from mcp_agent_mail.core.errors import InvalidInput, listed
from mcp_agent_mail.core.likeness import COMPARED, most_like
from mcp_agent_mail.core.params import ParamType

TOKEN_ARGUMENTS = ("registration_token", "sender_token")
"""Accepted by every tool, listed only where a tool says so (`token_argument`)."""

TOKEN_ARGUMENT = TOKEN_ARGUMENTS[0]
"""The one that texts name."""

_TOKEN_WORDS = re.compile(
    r"token(?!s)|auth(?!ors?$|or_)|bearer|secret|password|credential|api.?key|(join|invit\w*).?code", re.IGNORECASE
)
"""In the names by which callers send what proves them, join codes among it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Param:
    name: str
    rule: ParamType
    required: bool
    default: Any = None


def params_of(handler: Callable[..., Any]) -> dict[str, Param]:
    """The parameters that the signature of a tool or a resource declares, in its order."""
    hints = get_type_hints(handler, include_extras=True)
    params = {}
    for name, declared in inspect.signature(handler).parameters.items():
        rules = getattr(hints[name], "__metadata__", ())
        assert rules, f"{handler.__name__}: parameter {name} declares no rule"
        required = declared.default is inspect.Parameter.empty
        params[name] = Param(
            name=name, rule=rules[0], required=required, default=None if required else declared.default
        )
    return params


def bind(
    params: Mapping[str, Param], given: Mapping[str, Any], *, what: str, taken_out: Iterable[str] = ()
) -> dict[str, Any]:
    """The validated keyword arguments of a call. Raises InvalidInput naming the parameter at fault.

    `taken_out` are accepted arguments that were taken out of `given` before.
    """
    unknown = next((name for name in given if name not in params), None)
    if unknown is not None:
        raise _unknown_argument(unknown, list(dict.fromkeys([*params, *taken_out])), what)
    bound: dict[str, Any] = {}
    for name, param in params.items():
        value = given.get(name)
        if value is None or (not param.required and isinstance(value, str) and not value.strip()):
            if param.required:
                raise _missing_argument(name, params, what)
            bound[name] = param.default
        else:
            bound[name] = param.rule.convert(name, value)
    return bound


def _missing_argument(name: str, params: Mapping[str, Param], what: str) -> InvalidInput:
    required = [param.name for param in params.values() if param.required]
    return InvalidInput(
        f"{what} needs {name}.",
        hint=f"Required: {', '.join(required)}.",
        data={"parameter": name, "required": required},
    )


def _unknown_argument(name: str, accepted: list[str], what: str) -> InvalidInput:
    is_token = TOKEN_ARGUMENT in accepted and _TOKEN_WORDS.search(name[:COMPARED])
    nearest = [TOKEN_ARGUMENT] if is_token else most_like(name, accepted)
    did_you_mean = f"Did you mean {listed(nearest)}? " if nearest else ""
    return InvalidInput(
        f"{what} has no argument {name[:COMPARED]!r}.",
        hint=f"{did_you_mean}Accepted: {', '.join(accepted) or 'none'}.",
        data={"parameter": name[:COMPARED], "accepted": accepted, "nearest": nearest},
    )
