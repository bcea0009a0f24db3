"""What a look at a file finds to differ from what we wish for."""

from __future__ import annotations

from mcp_agent_mail.core.lazy.dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """`line` counts from 1; None: it is not there at all. `is_reworded`: a hook of ours in other words than ours, which
    a setup leaves alone.
    """

    what: str
    line: int | None
    is_reworded: bool = False
