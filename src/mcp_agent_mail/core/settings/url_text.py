"""URLs as people may see them where all behind the host may be a secret. Standard library only."""

from __future__ import annotations

import re

from mcp_agent_mail.core.settings.kinds import MASK, Secret


class SecretAddress(Secret):
    """A URL that shows itself as scheme and host alone; `reveal` gives it away."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"SecretAddress({self})"

    def __str__(self) -> str:
        return mask_url_paths(self.reveal())


def mask_url_paths(text: str) -> str:
    """Of URLs with commas between them hide all but scheme and host: a path may be a secret."""
    return ",".join(map(_mask_path, text.split(",")))


def _mask_path(url: str) -> str:
    found = re.fullmatch(r"(\s*[A-Za-z][A-Za-z0-9+.-]*://)([^/?#@\s\\]*)(.*)", url, re.DOTALL)
    if found is None:
        return MASK if url.strip() else url
    scheme, host, rest = found.groups()
    if "@" in rest:
        return f"{scheme}{MASK}"
    return f"{scheme}{host}{rest if rest in ('', '/') else f'/{MASK}'}"
