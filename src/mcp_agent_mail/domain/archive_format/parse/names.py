"""How agents are called in an archive: `Name`, or `Name@slug` where one is of another project than the archive's."""

from __future__ import annotations

import re

from mcp_agent_mail.domain.archive_format.names import safe_name
from mcp_agent_mail.domain.archive_format.parse.fields import Unfit

_SLUG = re.compile(r"[a-z0-9][a-z0-9._-]{0,199}")


def is_foreign(name: str) -> bool:
    return "@" in name


def split_name(name: str) -> tuple[str, str]:
    """The agent's own name, and its project's slug where that is another than the archive's. Raises ValueError."""
    plain, at, slug = name.partition("@")
    if at and not _SLUG.fullmatch(slug):
        raise Unfit(f"{name!r:.100} is no agent's name")
    return safe_name(plain), slug
