"""Concurrent agents at work until the server dies under them. What they do is a table: see STEPS."""

from __future__ import annotations

import http.client
import threading

from tests.crash import (
    contact_steps,
    identity_steps,
    lease_steps,
    macro_steps,
    mail_steps,
    product_steps,
    project_steps,
    window_steps,
    withdrawal_steps,
)
from tests.crash.actor import NAMES, PROJECTS, Actor
from tests.crash.record import Record
from tests.served import Connection, Served

CLIENTS = 8

STEPS = (
    *mail_steps.STEPS,
    *withdrawal_steps.STEPS,
    *identity_steps.STEPS,
    *project_steps.STEPS,
    *contact_steps.STEPS,
    *lease_steps.STEPS,
    *product_steps.STEPS,
    *window_steps.STEPS,
    *macro_steps.STEPS,
)
"""Everything that clients do. A slice with a new writing tool adds its steps here and its LOOKS below."""

LOOKS = (
    *withdrawal_steps.LOOKS,
    *identity_steps.LOOKS,
    *project_steps.LOOKS,
    *contact_steps.LOOKS,
    *lease_steps.LOOKS,
    *product_steps.LOOKS,
    *window_steps.LOOKS,
)
"""Where what they were told is looked for after a restart."""

_WEIGHTS = [step.weight for step in STEPS]


def set_up(server: Served, record: Record) -> None:
    with server.connect() as connection:
        for project in (*PROJECTS, *project_steps.PUT_ASIDE):
            made = connection.call("ensure_project", human_key=project)
            record.settle(("project", project), made["id"])
        for project in PROJECTS:
            for name in NAMES:
                _register(connection, record, project, name)
        for number in range(CLIENTS):
            _register(connection, record, PROJECTS[number % len(PROJECTS)], f"Side{number}")


def _register(connection: Connection, record: Record, project: str, name: str) -> None:
    agent = connection.call("register_agent", project_key=project, name=name, **identity_steps.PROGRAM)
    identity_steps.note_registered(record, project, agent)


class Agent(threading.Thread):
    """Takes one step after another; notes only what was answered with success."""

    def __init__(self, server: Served, record: Record, number: int, seed: int) -> None:
        super().__init__(daemon=True)
        self._server = server
        self._actor = Actor(record, server.root, number, seed)
        self._leave = threading.Event()

    def leave(self) -> None:
        self._leave.set()

    def run(self) -> None:
        try:
            with self._server.connect() as connection:
                while not self._leave.is_set():
                    (step,) = self._actor.chance.choices(STEPS, _WEIGHTS)
                    step.act(self._actor, connection)
        except (OSError, http.client.HTTPException):
            return  # killed under us, which is the point
        except Exception as unexpected:  # noqa: BLE001  # Whatever else it is, the round must say so.
            self._actor.record.add_unexpected(repr(unexpected))
