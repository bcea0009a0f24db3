"""Addresses: how a recipient is written, and how a name is shown to another project.

`Name` is an agent of the sender's project, `Name@key` and `project:key#Name` are agents of the
project with that key (path or slug).
"""

from __future__ import annotations

import re

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass

FORMS = ["Name", "Name@slug", "Name@/path", "project:slug#Name", "project:/path#Name"]

_PREFIX = "project:"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


class UnreadableAddress(InvalidInput):
    """The text is none of the forms of an address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """`project_key` is None for the sender's own project."""

    name: str
    project_key: str | None


def parse_address(text: str) -> Address:
    """Neither form is ambiguous: no name holds `@`, `#` or `:`, so the name is the part up to the first `@` or
    after the last `#`.
    """
    cleaned = text.strip()
    if cleaned[: len(_PREFIX)].lower() == _PREFIX:
        key, hash_sign, name = cleaned[len(_PREFIX) :].rpartition("#")
        if not hash_sign:
            raise _unreadable(text)
    elif "@" in cleaned:
        name, _, key = cleaned.partition("@")
    else:
        return Address(name=cleaned, project_key=None)
    if not name.strip() or not key.strip():
        raise _unreadable(text)
    return Address(name=name.strip(), project_key=key.strip())


def _unreadable(text: str) -> UnreadableAddress:
    name = text.strip().removeprefix("@")
    without_sign = f"A name stands without @: {name}. " if _NAME.fullmatch(name) and "@" in text else ""
    hint = f"{without_sign}Accepted: {', '.join(FORMS)}."
    return UnreadableAddress(f"{text!r:.100} is no address.", hint=hint, data={"accepted": FORMS})


def shown_name(name: str, project_id: ProjectId, project_slug: str, seen_from: ProjectId) -> str:
    """`Name` within its own project, `Name@slug` elsewhere: what one may write back to."""
    return name if project_id == seen_from else f"{name}@{project_slug}"
