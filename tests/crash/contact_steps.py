"""Steps of contacts: each client asks for one link, grants it, and changes a policy of its own agent."""

from __future__ import annotations

from collections.abc import Mapping

from tests.crash.actor import NAMES, Actor, Step
from tests.crash.evidence import Evidence, Look
from tests.crash.record import ANYTHING, Cell, Value
from tests.served import Connection

POLICIES = ("open", "auto")
"""Those that hold no mail: what was sent must be in the inboxes."""


def set_policy(actor: Actor, connection: Connection) -> None:
    policy = actor.chance.choice(POLICIES)
    cell = ("policy", actor.project, actor.mine)
    actor.change(connection, "set_contact_policy", cell, policy, agent_name=actor.mine, policy=policy)


def request(actor: Actor, connection: Connection) -> None:
    cell, other = link_of(actor)
    actor.record.begin(cell, ANYTHING)
    result = actor.ask(connection, "request_contact", from_agent=actor.me, to_agent=other)
    if result is not None:
        actor.record.settle(cell, result["status"])


def approve(actor: Actor, connection: Connection) -> None:
    cell, other = link_of(actor)
    actor.change(connection, "respond_contact", cell, "approved", to_agent=other, from_agent=actor.me, accept=True)


STEPS = (
    Step(("set_contact_policy",), 2, set_policy),
    Step(("request_contact",), 2, request),
    Step(("respond_contact",), 2, approve),
)


def link_of(actor: Actor) -> tuple[Cell, str]:
    other = NAMES[(NAMES.index(actor.me) + 1) % len(NAMES)]
    return ("contact", actor.project, actor.me, other), other


def _policies_in_store(evidence: Evidence) -> Mapping[Cell, Value]:
    query = "SELECT p.human_key, a.name, a.contact_policy FROM agents a JOIN projects p ON p.id = a.project_id"
    return {("policy", project, name): policy for project, name, policy in evidence.rows(query)}


def _policies_in_git(evidence: Evidence) -> Mapping[Cell, Value]:
    profiles = evidence.documents(r"agents/[^/]+/profile\.json").items()
    return {("policy", project, profile["name"]): profile["contact_policy"] for (project, _), profile in profiles}


def _links_in_store(evidence: Evidence) -> Mapping[Cell, Value]:
    query = (
        "SELECT p.human_key, s.name, t.name, c.status FROM contacts c JOIN agents s ON s.id = c.source_id "
        "JOIN agents t ON t.id = c.target_id JOIN projects p ON p.id = s.project_id"
    )
    return {("contact", project, source, target): status for project, source, target, status in evidence.rows(query)}


def _links_in_git(evidence: Evidence) -> Mapping[Cell, Value]:
    links = evidence.documents(r"contacts/.+\.json").values()
    return {("contact", link["from_project"], link["from"], link["to"]): link["status"] for link in links}


LOOKS = (
    Look("policy", "SQLite", _policies_in_store),
    Look("policy", "Git", _policies_in_git),
    Look("contact", "SQLite", _links_in_store),
    Look("contact", "Git", _links_in_git),
)
