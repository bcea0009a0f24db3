"""The terms of a message in its archive: how long it is of use, what it replaces, when and why it was withdrawn.

Most messages have none, and their files say nothing of it. How each copy ends follows from these and from receipts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.domain.messages import Terms


def terms_record(terms: Terms) -> dict[str, Any]:
    """Those of the terms that there are, times as integers, by their names in the archive."""
    named = {
        "valid_until": terms.valid_until,
        "supersedes": terms.supersedes,
        "withdrawn": terms.withdrawn_ts,
        "withdrawn_reason": terms.withdrawn_reason,
    }
    return {name: value for name, value in named.items() if value is not None}


def terms_front(snapshot: Mapping[str, Any]) -> dict[str, Any]:
    """What front matter says of them."""
    return {key: shown(snapshot[key]) for key, shown in _SHOWN.items() if key in snapshot}


def _as_it_is(value: object) -> object:
    return value


_SHOWN: Mapping[str, Callable[[Any], object]] = MappingProxyType(
    {"supersedes": _as_it_is, "valid_until": iso, "withdrawn": iso, "withdrawn_reason": _as_it_is}
)
