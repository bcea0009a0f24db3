"""One setting as data. Standard library only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mcp_agent_mail.core.settings.kinds import Kind

Values = Mapping[str, object]
"""The values of the rows before, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One setting. `default` is its text, empty for none; `computed` makes a default out of earlier rows' values,
    and `default` then only describes it. `client` rows are read by what runs in other people's repositories too.
    """

    name: str
    kind: Kind
    default: str
    does: str
    group: str
    client: bool = False
    computed: Callable[[Values], object] | None = None

    @property
    def attribute(self) -> str:
        return self.name.lower()
