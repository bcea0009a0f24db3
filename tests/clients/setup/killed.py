"""`am setup` and its undo as a process of their own, which ends itself at a named instant. Run as
`python -P killed.py HOME ACTION CLIENT[,CLIENT] [POINT NTH]`; the way in belongs to the tests alone.
"""

from __future__ import annotations

import sys
from pathlib import Path

# A script's own folder is not on the path with -P, and the tests' root is not there at all.
sys.path.insert(0, str(Path(__file__).parents[3]))

from mcp_agent_mail.clients.setup.journal import Journal
from mcp_agent_mail.clients.setup.plan import carry_out, make_plan
from mcp_agent_mail.clients.setup.undo import make_undo_plan, take_back
from mcp_agent_mail.core.failpoints import FailPoint, FaultHook, Kill, reach_that_kills
from tests.clients.setup.homes import wishes


def main(arguments: list[str]) -> int:
    home, action, clients, *doom = arguments
    kill = Kill(point=FailPoint(doom[0]), nth=int(doom[1])) if doom else None
    reach = reach_that_kills(kill)
    journal = Journal(Path(home), reach)
    if action == "undo":
        return _undo(journal, reach)
    wanted = [wish for client in clients.split(",") for wish in wishes(Path(home), client)]
    plan = make_plan(wanted, project=None)
    with journal.held():
        carry_out(plan, journal, reach)
    return len(plan.left_alone)


def _undo(journal: Journal, reach: FaultHook) -> int:
    """As the command does it."""
    journal.read()
    back = make_undo_plan(journal, clients=[], project=None)
    if back.changes or back.idle or journal.has_traces():
        with journal.held():
            back = make_undo_plan(journal, clients=[], project=None)
            take_back(back, journal, reach)
    return len(back.left_alone)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
