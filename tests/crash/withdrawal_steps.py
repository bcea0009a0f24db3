"""Steps of taking mail back: each client sends a message of its own, and withdraws it."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping

from tests.crash.actor import NAMES, Actor, Step
from tests.crash.evidence import Evidence, Look
from tests.crash.mail_steps import OF_CLIENTS, SOON_WITHDRAWN
from tests.crash.record import Cell, Value
from tests.served import Connection

_FRONT_MATTER = r'^\s*"?withdrawn"?:'


def send_and_withdraw(actor: Actor, connection: Connection) -> None:
    body = f"{OF_CLIENTS}{actor.unique()}, soon withdrawn"
    given = {"to": actor.chance.sample(NAMES, 2), "subject": SOON_WITHDRAWN, "body_md": body}
    sent = actor.ask(connection, "send_message", sender_name=actor.me, **given)
    if sent is not None:
        message_id = sent["deliveries"][0]["payload"]["id"]
        cell = ("withdrawn", actor.project, str(message_id))
        given = {"sender_name": actor.me, "message_id": message_id}
        actor.change(connection, "withdraw_message", cell, True, **given)


STEPS = (Step(("send_message", "withdraw_message"), 2, send_and_withdraw),)


def _in_store(evidence: Evidence) -> Mapping[Cell, Value]:
    """Of the message, and of no copy that nobody had read."""
    query = (
        "SELECT p.human_key, m.id, NOT EXISTS (SELECT 1 FROM recipients r WHERE r.message_id = m.id "
        "AND r.read_ts IS NULL AND r.withdrawn_ts IS NULL) "
        "FROM messages m JOIN message_terms t ON t.message_id = m.id JOIN projects p ON p.id = m.project_id "
        "WHERE t.withdrawn_ts IS NOT NULL"
    )
    return {("withdrawn", project, str(number)): bool(wholly) for project, number, wholly in evidence.rows(query)}


def _in_git(evidence: Evidence) -> Mapping[Cell, Value]:
    found: dict[Cell, Value] = {}
    for project, repository in evidence.archives.items():
        asked = ["git", "-C", str(repository), "grep", "-lE", _FRONT_MATTER, "HEAD", "--", "messages"]
        listed = subprocess.run(asked, capture_output=True, text=True, check=False).stdout
        numbers = [path.rpartition("__")[2].removesuffix(".md") for path in listed.splitlines()]
        found |= {("withdrawn", project, number): True for number in numbers}
    return found


LOOKS = (
    Look("withdrawn", "SQLite", _in_store),
    Look("withdrawn", "Git", _in_git),
)
