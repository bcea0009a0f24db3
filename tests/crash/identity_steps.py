"""Steps of identity: every client also changes an agent that is its own, and now and then makes a new one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from tests.crash.actor import Actor, Step
from tests.crash.evidence import Evidence, Look
from tests.crash.record import ANYTHING, Cell, Last, Record, Value
from tests.served import Connection

_REVOKED = 0.5
STATUSES = ("ready", "busy", "do_not_disturb")
PROGRAM = {"program": "tests", "model": "none"}


def note_registered(record: Record, project: str, agent: dict[str, Any]) -> None:
    record.settle(("agent", project, agent["name"]), agent["id"])
    record.settle(("task", project, agent["name"]), agent["task_description"])
    if "registration_token" in agent:
        record.settle(("token", project, agent["name"]), _hash(agent["registration_token"]))


def register(actor: Actor, connection: Connection) -> None:
    result = actor.ask(connection, "register_agent", name=f"Late{actor.unique()}", **PROGRAM)
    if result is not None:
        note_registered(actor.record, actor.project, result)


def create(actor: Actor, connection: Connection) -> None:
    result = actor.ask(connection, "create_agent_identity", task_description=actor.unique(), **PROGRAM)
    if result is not None:
        note_registered(actor.record, actor.project, result)


def describe(actor: Actor, connection: Connection) -> None:
    """Registering again changes the profile, and brings a retired agent back."""
    task = f"task {actor.unique()}"
    cell, retired = ("task", actor.project, actor.mine), ("retired", actor.project, actor.mine)
    actor.record.begin(retired, False)  # a value like any other
    result = actor.change(connection, "register_agent", cell, task, name=actor.mine, task_description=task, **PROGRAM)
    if result is not None:
        actor.record.settle(retired, False)


def set_status(actor: Actor, connection: Connection) -> None:
    status, note = actor.chance.choice(STATUSES), actor.unique()
    cell = ("status", actor.project, actor.mine)
    actor.change(connection, "set_status", cell, f"{status} {note}", agent_name=actor.mine, status=status, note=note)


def retire(actor: Actor, connection: Connection) -> None:
    _retire(actor, connection, is_retired=True)


def come_back(actor: Actor, connection: Connection) -> None:
    _retire(actor, connection, is_retired=False)


def _retire(actor: Actor, connection: Connection, *, is_retired: bool) -> None:
    tool = "deregister_agent" if is_retired else "unretire_agent"
    actor.change(connection, tool, ("retired", actor.project, actor.mine), is_retired, agent_name=actor.mine)


def replace_token(actor: Actor, connection: Connection) -> None:
    cell = ("token", actor.project, actor.mine)
    actor.record.begin(cell, ANYTHING)
    result = actor.ask_as_operator(connection, "reissue_token", agent_name=actor.mine)
    if result is not None:
        actor.record.settle(cell, _hash(result["registration_token"]))


def come_in(actor: Actor, connection: Connection) -> None:
    """By a code, which is used up with the name or not at all."""
    invited = actor.ask_as_operator(connection, "create_join_code")
    if invited is None:
        return
    cell = ("code", actor.project, str(invited["id"]))
    actor.record.settle(cell, "")
    name = f"Guest{actor.unique()}"
    actor.record.begin(cell, name)
    token = {"registration_token": invited["join_code"]}
    result = actor.ask(connection, "register_agent", name=name, **token, **PROGRAM)
    if result is not None:
        note_registered(actor.record, actor.project, result)
        actor.record.settle(cell, name)


def take_back(actor: Actor, connection: Connection) -> None:
    invited = actor.ask_as_operator(connection, "create_join_code")
    if invited is not None:
        actor.ask_as_operator(connection, "revoke_join_code", join_code_id=invited["id"])


def issue(actor: Actor, connection: Connection) -> None:
    """A token, and every other time its end: what was answered to both is what the store has."""
    issued = actor.ask_as_operator(connection, "create_issued_token", agent_name=actor.mine)
    if issued is None:
        return
    cell = ("issued", actor.project, str(issued["id"]))
    actor.record.settle(cell, _cell(issued["token"], is_revoked=False))
    if actor.chance.random() < _REVOKED:
        actor.record.begin(cell, _cell(issued["token"], is_revoked=True))
        if actor.ask_of_store(connection, "revoke_issued_token", issued_token_id=issued["id"]) is not None:
            actor.record.settle(cell, _cell(issued["token"], is_revoked=True))


def is_revoked_long_ago(cell: Cell, last: Last) -> bool:
    """Of a record made months ago: the store forgets a token some time after its end, and no other."""
    return cell[0] == "issued" and any(str(value).endswith(" 1") for value in last.may_be)


def _cell(token: str, *, is_revoked: bool) -> str:
    return f"{_hash(token)} {int(is_revoked)}"


STEPS = (
    Step(("create_issued_token", "revoke_issued_token"), 1, issue),
    Step(("create_join_code", "register_agent"), 1, come_in),
    Step(("revoke_join_code",), 1, take_back),
    Step(("register_agent",), 1, register),
    Step(("create_agent_identity",), 1, create),
    Step(("register_agent",), 3, describe),
    Step(("set_status",), 3, set_status),
    Step(("deregister_agent",), 2, retire),
    Step(("unretire_agent",), 2, come_back),
    Step(("reissue_token",), 1, replace_token),
)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _in_store(kind: str, column: str) -> Look:
    def find(evidence: Evidence) -> Mapping[Cell, Value]:
        query = f"SELECT p.human_key, a.name, {column} FROM agents a JOIN projects p ON p.id = a.project_id"
        return {(kind, project, name): value for project, name, value in evidence.rows(query)}

    return Look(kind, "SQLite", find)


def _in_git(kind: str, key: str) -> Look:
    def find(evidence: Evidence) -> Mapping[Cell, Value]:
        profiles = evidence.documents(r"agents/[^/]+/profile\.json")
        return {
            (kind, project, profile["name"]): profile[key] is not None if kind == "retired" else profile[key]
            for (project, _), profile in profiles.items()
        }

    return Look(kind, "Git", find)


def _codes(evidence: Evidence) -> Mapping[Cell, Value]:
    query = """
        SELECT p.human_key, c.id, coalesce(a.name, '') FROM join_codes c
        JOIN projects p ON p.id = c.project_id LEFT JOIN agents a ON a.id = c.agent_id
    """
    return {("code", project, str(number)): name for project, number, name in evidence.rows(query)}


def _issued(evidence: Evidence) -> Mapping[Cell, Value]:
    query = """
        SELECT p.human_key, t.id, lower(hex(t.token_hash)) || ' ' || (t.revoked_ts IS NOT NULL) FROM issued_tokens t
        JOIN agents a ON a.id = t.agent_id JOIN projects p ON p.id = a.project_id
    """
    return {("issued", project, str(number)): value for project, number, value in evidence.rows(query)}


LOOKS = (
    Look("issued", "SQLite", _issued),
    Look("code", "SQLite", _codes),
    _in_store("agent", "a.id"),
    _in_git("agent", "id"),
    _in_store("task", "a.task_description"),
    _in_git("task", "task_description"),
    _in_store("retired", "a.retired_ts IS NOT NULL"),
    _in_git("retired", "retired_ts"),
    _in_store("status", "a.status || ' ' || a.status_note"),
    _in_store("token", "lower(hex(a.token_hash))"),
)
