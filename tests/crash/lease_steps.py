"""Steps of leases: files and build slots, each held by one client, prolonged and given back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_agent_mail.core.clock import Micros, iso
from tests.crash.actor import Actor, Step
from tests.crash.evidence import Evidence, Look
from tests.crash.record import ANYTHING, Cell, Value
from tests.served import Connection

HELD, GIVEN_BACK = "held", "given back"
OF_THE_TIME = ("lease", "lease end")
"""Cells that do not outlast a clock that goes on by months."""


def reserve(actor: Actor, connection: Connection) -> None:
    path = f"src/{actor.unique()}.py"
    cell = ("lease", actor.project, path)
    result = actor.change(connection, "file_reservation_paths", cell, HELD, agent_name=actor.me, paths=[path])
    if result is not None:
        (grant,) = result["granted"]
        actor.record.settle(("lease end", actor.project, path), grant["expires_ts"])
        actor.held.append(path)


def release(actor: Actor, connection: Connection) -> None:
    if actor.held:
        path = actor.held.pop()
        cell = ("lease", actor.project, path)
        actor.record.begin(("lease end", actor.project, path), ANYTHING)
        actor.change(connection, "release_file_reservations", cell, GIVEN_BACK, agent_name=actor.me, paths=[path])


def renew(actor: Actor, connection: Connection) -> None:
    if actor.held:
        path = actor.chance.choice(actor.held)
        cell = ("lease end", actor.project, path)
        actor.record.begin(cell, ANYTHING)
        result = actor.ask(connection, "renew_file_reservations", agent_name=actor.me, paths=[path])
        if result is not None:
            actor.record.settle(cell, result["file_reservations"][0]["new_expires_ts"])


def acquire(actor: Actor, connection: Connection) -> None:
    slot = f"slot-{actor.unique()}"
    cell = ("lease", actor.project, slot)
    if actor.change(connection, "acquire_build_slot", cell, HELD, agent_name=actor.me, slot=slot) is not None:
        actor.slots.append(slot)


def prolong(actor: Actor, connection: Connection) -> None:
    if actor.slots:
        slot = actor.chance.choice(actor.slots)
        actor.ask(connection, "renew_build_slot", agent_name=actor.me, slot=slot)


def give_back(actor: Actor, connection: Connection) -> None:
    if actor.slots:
        slot = actor.slots.pop()
        cell = ("lease", actor.project, slot)
        actor.change(connection, "release_build_slot", cell, GIVEN_BACK, agent_name=actor.me, slot=slot)


STEPS = (
    Step(("file_reservation_paths",), 6, reserve),
    Step(("release_file_reservations",), 4, release),
    Step(("renew_file_reservations",), 2, renew),
    Step(("acquire_build_slot",), 3, acquire),
    Step(("renew_build_slot",), 1, prolong),
    Step(("release_build_slot",), 2, give_back),
)


def _leases_in_store(evidence: Evidence) -> Mapping[Cell, Value]:
    return {("lease", *place): HELD if released is None else GIVEN_BACK for *place, _, released in _rows(evidence)}


def _ends_in_store(evidence: Evidence) -> Mapping[Cell, Value]:
    return {("lease end", *place): iso(Micros(expires)) for *place, expires, _ in _rows(evidence)}


def _rows(evidence: Evidence) -> list[Any]:
    return evidence.rows(
        "SELECT p.human_key, l.path_pattern, l.expires_ts, l.released_ts "
        "FROM leases l JOIN projects p ON p.id = l.project_id"
    )


def _leases_in_git(evidence: Evidence) -> Mapping[Cell, Value]:
    """By where the file lies, and there once: of a lease that has ended none may be left among the live ones."""
    found: dict[Cell, Value] = {}
    for (project, path), lease in evidence.documents(r"(file_reservations|build_slots)/.+\.json").items():
        cell = ("lease", project, lease.get("path_pattern") or lease["slot"])
        found[cell] = "there twice" if cell in found else GIVEN_BACK if "/released/" in path else HELD
    return found


LOOKS = (
    Look("lease", "SQLite", _leases_in_store),
    Look("lease", "Git", _leases_in_git),
    Look("lease end", "SQLite", _ends_in_store),
)
