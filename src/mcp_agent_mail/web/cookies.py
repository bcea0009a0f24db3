"""The two cookies: of a session, and of the form by which one is opened. Scripts see neither.

Cookies ignore ports, so that the server's own stands behind the name: two servers of one machine keep theirs apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from mcp_agent_mail.web.request import PageRequest

SESSION_COOKIE = "agent_mail_session"
FORM_COOKIE = "agent_mail_form"

MAX_COOKIE = 200
"""Ours are shorter; what is longer is nobody's."""
MOST_OF_A_NAME = 32
"""More than there are paths above a page's own, each of which may have one."""


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


def read_cookies(header: str, name: str) -> Sequence[str]:
    """What cookies of this name say, each once, in the order sent: the one of the longest path is first. At most
    MOST_OF_A_NAME: a page of another port of the same machine may set some, and ours counts among them.
    """
    found: dict[str, None] = {}
    for part in header.split(";"):
        one, is_there, value = part.strip().partition("=")
        if one == name and is_there and len(value) <= MAX_COOKIE and len(found) < MOST_OF_A_NAME:
            found[value] = None
    return list(found)
