"""What a person had before their eyes who answers a contact request on a page. It is compared where the answer is
written: whoever else answers meanwhile, by whatever way, comes before it or after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.domain.contacts import Contact, LinkStatus

_seen: ContextVar[str] = ContextVar("link_as_seen", default="")


class LinkChanged(Conflict):
    """The link is not what it was when it was shown. Nothing was changed."""


def seen_of(contact: Contact | None) -> str:
    """A request stays what it was while it waits, however often it is made; all else changes with each answer."""
    if contact is None:
        return "none"
    if contact.status is LinkStatus.PENDING:
        return str(contact.status)
    return f"{contact.status}-{contact.updated_ts}"


@contextmanager
def answering_as_seen(seen: str) -> Iterator[None]:
    """Answers that are given inside count where the link is still what was shown; `seen` "" asks nothing."""
    token = _seen.set(seen)
    try:
        yield
    finally:
        _seen.reset(token)


def expected_link() -> str:
    """What the answer that is given now takes the link for; "" where that does not matter."""
    return _seen.get()


def require_as_seen(contact: Contact | None, expected: str) -> None:
    """Raise LinkChanged unless the link is what was expected."""
    if expected and seen_of(contact) != expected:
        raise LinkChanged("This was answered or changed meanwhile.", hint="Look again, then answer.")
