"""Requests for pages as the server hands them over, for what is decided without one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.web.request import PageRequest

OWN = "http://127.0.0.1:8765"
SECRET = "ams_secret-of-this-browser"


def a_request(
    *, fields: Mapping[str, str] | None = None, asked: Mapping[str, str] | None = None, **given: Any
) -> PageRequest:
    """GET of `/mail` by a reader, in a browser that has SECRET, unless said otherwise."""
    values: dict[str, Any] = {
        "method": "GET",
        "path": "/mail",
        "role": Role.READER,
        "port": 8765,
        "secret": SECRET,
        "own_origins": frozenset({OWN}),
        "form": {name: (value,) for name, value in (fields or {}).items()},
        "query": {name: (value,) for name, value in (asked or {}).items()},
    }
    return PageRequest(**{**values, **given})
