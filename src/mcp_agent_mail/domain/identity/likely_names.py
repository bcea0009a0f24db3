"""What callers mean who name no agent: everyone, their user, or several at once. For hints only, nothing is guessed."""

from __future__ import annotations

import re

from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.domain.identity.names import bare_name

_EVERYONE = frozenset(
    "* agents all allagents any anyone broadcast channel everybody everyone group here team theteam".split()
)
_PERSON = frozenset(
    """
    admin administrator humans me myself operator overseer owner person thehuman theoverseer theuser user users
    """.split()
)
_NAME_OR_ADDRESS = lazy_pattern(r"@?[A-Za-z][A-Za-z0-9_-]{0,63}(@\S{1,1100})?")
_LONGEST_LIST = 4_000
"""Characters; an item of a list has no more than a quarter of it."""


def means_everyone(text: str) -> bool:
    return bare_name(text) in _EVERYONE


def means_person(text: str) -> bool:
    """Its user: on a server that is `Human`."""
    return bare_name(text) in _PERSON


def names_in(text: str) -> list[str]:
    """The names or addresses in a text that may be a list of them (`A, B`, `A; B`, `A and B`, `A B`); nothing where it
    can be none. Whether there are such agents is not asked.
    """
    if len(text) > _LONGEST_LIST:
        return []
    separated = re.split(r"[,;\n]|\s(?:and|&|\+)\s", text.strip("[](){} "))
    parts = [bare for part in separated if (bare := part.strip(" '\""))]
    if len(parts) == 1:
        parts = text.split()
    is_list = len(parts) > 1 and all(_NAME_OR_ADDRESS.fullmatch(part) for part in parts)
    return list(dict.fromkeys(part.removeprefix("@") for part in parts)) if is_list else []
