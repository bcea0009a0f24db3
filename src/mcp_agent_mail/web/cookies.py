"""The two cookies: of a session, and of the form by which one is opened. Scripts see neither.

Cookies ignore ports, so that the server's own stands behind the name: two servers of one machine keep theirs apart.
"""

from __future__ import annotations

from collections.abc import Mapping

from mcp_agent_mail.web.request import PageRequest

SESSION_COOKIE = "agent_mail_session"
FORM_COOKIE = "agent_mail_form"

MAX_COOKIE = 200
"""Ours are shorter; what is longer is nobody's."""


def set_cookie(
    request: PageRequest, name: str, value: str, *, path: str, lasts_s: int | None = None
) -> tuple[str, str]:
    """A header. Without `lasts_s` the cookie ends with the browser."""
    age = "" if lasts_s is None else f"; Max-Age={lasts_s}"
    secure = "; Secure" if request.is_secure else ""
    full = cookie_name(name, request.port)
    return "set-cookie", f"{full}={value}; Path={path}; HttpOnly; SameSite=Strict{secure}{age}"


def forget_cookie(request: PageRequest, name: str, *, path: str) -> tuple[str, str]:
    return set_cookie(request, name, "", path=path, lasts_s=0)


def cookie_name(name: str, port: int) -> str:
    return f"{name}_{port}"


def read_cookies(header: str) -> Mapping[str, str]:
    """Of a repeated name the first counts, as browsers send the one of the longest path first."""
    found: dict[str, str] = {}
    for part in header.split(";"):
        name, is_there, value = part.strip().partition("=")
        if is_there and len(value) <= MAX_COOKIE:
            found.setdefault(name, value)
    return found
