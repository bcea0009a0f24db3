"""The addresses of pages. They are permanent: a slug stays a project's for good, an id a message's."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl, quote, urlencode

HOME = "/mail"
API = "/mail/api"
"""Below it are the same models as JSON."""
SIGN_IN = "/mail/sign-in"
SIGN_OUT = "/mail/sign-out"
MARKS = "/mail/marks"
REMINDERS = "/mail/reminders"


def project_url(slug: str, *rest: str) -> str:
    """A page below a project's: each part is quoted."""
    return "/".join((HOME, *(quote(part, safe="") for part in (slug, *rest))))


def message_url(slug: str, message_id: int) -> str:
    return project_url(slug, "message", str(message_id))


def reply_url(slug: str, message_id: int) -> str:
    return project_url(slug, "message", str(message_id), "reply")


def compose_url(slug: str) -> str:
    return project_url(slug, "overseer", "compose")


def thread_url(slug: str, thread_id: str) -> str:
    return project_url(slug, "thread", thread_id)


def agent_url(slug: str, name: str) -> str:
    return project_url(slug, "agents", name)


def with_query(path: str, asked: Mapping[str, str | int | None]) -> str:
    """`path` with those that have a value."""
    given = {name: value for name, value in asked.items() if value not in (None, "")}
    return f"{path}?{urlencode(given)}" if given else path


def with_more(path: str, asked: Mapping[str, str | int | None]) -> str:
    """`path` with these beside what its own query asks, or in its place."""
    base, _, query = path.partition("?")
    return with_query(base, {**dict(parse_qsl(query)), **asked})


def own_path(text: str, default: str = HOME) -> str:
    """A path of ours to go back to, as a form brings it; anything else is `default`."""
    is_ours = text == HOME or text.startswith((f"{HOME}/", f"{HOME}?"))
    is_plain = text.isascii() and text.isprintable() and "\\" not in text and "//" not in text.partition("?")[0]
    return text if is_ours and is_plain and len(text) <= 2_000 else default
