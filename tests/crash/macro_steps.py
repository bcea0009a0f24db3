"""Steps of macros: what one call does together is there together, or not at all."""

from __future__ import annotations

from tests.crash.actor import Actor, Step
from tests.crash.contact_steps import link_of
from tests.crash.identity_steps import PROGRAM, note_registered
from tests.crash.lease_steps import GIVEN_BACK, HELD
from tests.served import Connection


def start_session(actor: Actor, connection: Connection) -> None:
    path = f"session/{actor.unique()}.py"
    cell = ("lease", actor.project, path)
    session = {"human_key": actor.project, "agent_name": f"Late{actor.unique()}", **PROGRAM}
    result = actor.change(connection, "macro_start_session", cell, HELD, **session, file_reservation_paths=[path])
    if result is not None:
        note_registered(actor.record, actor.project, result["agent"])


def join(actor: Actor, connection: Connection) -> None:
    """Registers, like a start."""
    name = f"Late{actor.unique()}"
    joined = actor.ask(connection, "macro_prepare_thread", thread_id="crash", agent_name=name, **PROGRAM)
    if joined is not None:
        note_registered(actor.record, actor.project, joined["agent"])


def hold_for_a_moment(actor: Actor, connection: Connection) -> None:
    path = f"moment/{actor.unique()}.py"
    cell = ("lease", actor.project, path)
    moment = {"agent_name": actor.me, "paths": [path], "auto_release": True}
    actor.change(connection, "macro_file_reservation_cycle", cell, GIVEN_BACK, **moment)


def shake_hands(actor: Actor, connection: Connection) -> None:
    cell, other = link_of(actor)
    pair = {"requester": actor.me, "target": other, "auto_accept": True}
    actor.change(connection, "macro_contact_handshake", cell, "approved", **pair)


STEPS = (
    Step(("macro_start_session",), 1, start_session),
    Step(("macro_prepare_thread",), 1, join),
    Step(("macro_file_reservation_cycle",), 1, hold_for_a_moment),
    Step(("macro_contact_handshake",), 1, shake_hands),
)
