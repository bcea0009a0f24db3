"""Steps of windows: every client has one of its own, which it names and forgets."""

from __future__ import annotations

from collections.abc import Mapping

from tests.crash.actor import Actor, Step
from tests.crash.evidence import Evidence, Look
from tests.crash.identity_steps import PROGRAM, note_registered
from tests.crash.record import ANYTHING, Cell, Value
from tests.served import Connection

ENDED = "(ended)"


def use(actor: Actor, connection: Connection) -> None:
    """Begin the window if there is none, name it, and now and then forget it."""
    window = f"00000000-0000-4000-8000-{actor.number:012d}"
    cell = ("window", actor.project, window)
    actor.record.begin(cell, ANYTHING)
    agent = actor.ask_from(window, connection, "register_agent", name=f"Win{actor.unique()}", **PROGRAM)
    if agent is None:
        return
    note_registered(actor.record, actor.project, agent)
    actor.record.settle(cell, agent["window_display_name"])
    name = f"Named{actor.unique()}"
    renamed = actor.change(connection, "rename_window", cell, name, window_uuid=window, new_display_name=name)
    if renamed is not None and actor.chance.random() < 0.5:
        actor.change(connection, "expire_window", cell, ENDED, window_uuid=window)


STEPS = (Step(("register_agent", "rename_window", "expire_window"), 1, use),)


def _in_store(evidence: Evidence) -> Mapping[Cell, Value]:
    query = (
        "SELECT p.human_key, w.window_uuid, iif(w.expired_ts IS NULL, w.display_name, ?) "
        "FROM windows w JOIN projects p ON p.id = w.project_id"
    ).replace("?", f"'{ENDED}'")
    return {("window", project, uuid): name for project, uuid, name in evidence.rows(query)}


LOOKS = (Look("window", "SQLite", _in_store),)
