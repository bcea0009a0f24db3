"""Starts the server with its decision moved out of the unit of work: looked up before, believed inside.

The way in belongs to the tests alone. Run as `python -P contest_entry.py serve --host H --port P`.
"""

from __future__ import annotations

import sys
from contextvars import ContextVar
from pathlib import Path
from typing import Any

# A script's own folder is not on the path with -P, and the tests' root is not there at all.
sys.path.insert(0, str(Path(__file__).parents[2]))

from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.features.identity.actor import Actor
from mcp_agent_mail.features.reservations import grant, reserve
from mcp_agent_mail.features.reservations.conflicts import find_holders, others_leases


def decide_outside() -> None:
    """As a program without a unit of work would: look, then write."""
    seen: ContextVar[Any] = ContextVar("seen")
    decide = reserve.Reserver._decide

    async def look_first(
        self: reserve.Reserver, caller: Caller, holder: Actor, asked: grant.GrantRequest, **how: Any
    ) -> Any:
        others = others_leases(holder.project.id, holder.agent.id, exclusive=asked.request.exclusive)
        seen.set(await self._store.read(lambda view: find_holders(view, others, asked.wanted, self._patterns)))
        return await decide(self, caller, holder, asked, **how)

    reserve.Reserver._decide = look_first  # type: ignore[method-assign]
    setattr(grant, "find_holders", lambda *_: seen.get())  # noqa: B010  # mypy knows of no such export


if __name__ == "__main__":
    decide_outside()
    sys.argv[0] = "am"
    from mcp_agent_mail.__main__ import main

    main()
