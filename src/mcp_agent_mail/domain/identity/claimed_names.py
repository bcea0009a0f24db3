"""Agents as a JWT names them: `Name@project`, or a bare name."""

from __future__ import annotations

from typing import Self

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.identity.names import name_key


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedName:
    """`project_key` is a directory or a slug, None of a bare name. Both are without outer blanks and may be of nobody,
    or empty: what a token says is its issuer's.
    """

    name: str
    project_key: str | None

    @classmethod
    def parse(cls, text: str) -> Self:
        name, separator, key = text.partition("@")
        return cls(name=name.strip(), project_key=key.strip() if separator else None)

    def is_name_of(self, name: str) -> bool:
        """Whether an agent of this name is called so; in which project is not asked."""
        return name_key(self.name) == name_key(name)
