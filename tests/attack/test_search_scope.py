"""Somebody who may search its own mail writes names of code to learn which ones stand in mail that it may not read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attack.served_secrets import APP, LIB
from tests.served import Connection, Json, Served

TRIED = 20
"""Names that a search tries for a part."""
PROFILE = {"program": "tests", "model": "none"}


class Room:
    def __init__(self, server: Served) -> None:
        self._server = server
        self._tokens: dict[str, str] = {}

    def register(self, project: str, name: str) -> None:
        with self._server.connect() as anyone:
            anyone.call("ensure_project", human_key=project)
            made = anyone.call("register_agent", project_key=project, name=name, **PROFILE)
        self._tokens[name] = made["registration_token"]

    def as_agent(self, name: str) -> Connection:
        return self._server.connect(**{"X-Agent-Token": self._tokens[name]})

    def send(self, project: str, name: str, body: str, **to: Json) -> None:
        to = to or {"to": [name]}
        with self.as_agent(name) as connection:
            connection.call("send_message", project_key=project, sender_name=name, subject="x", body_md=body, **to)

    def found(self, project: str, name: str, word: str) -> list[str]:
        with self.as_agent(name) as connection:
            hits = connection.call("search_messages", project_key=project, query=word, limit=50)["result"]
        return [hit["snippet"] for hit in hits]


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    with Served(tmp_path / "store", AGENT_AUTH="strict") as server:
        room = Room(server)
        for name in ("Alice", "Carol"):
            room.register(APP, name)
        room.register(LIB, "Mallory")
        yield room


def fillers(part: str) -> str:
    return " ".join(f"filler{number}_q{part}_z" for number in range(TRIED))


@pytest.mark.parametrize("to", [{"to": ["Alice"]}, {"bcc": ["Carol"]}])
def test_a_guessed_name_is_found_whether_or_not_it_stands_in_mail_of_others(room: Room, to: Json) -> None:
    room.send(APP, "Alice", "the flag is rotateMasterKeyVault", **to)

    room.send(LIB, "Mallory", fillers("terkey"))
    room.send(LIB, "Mallory", "rotateMasterKeyVault guess")

    assert any("guess" in snippet for snippet in room.found(LIB, "Mallory", "terkey"))


def test_own_names_stay_found_whatever_others_write(room: Room) -> None:
    room.send(LIB, "Mallory", "wire_payroll_first")
    room.send(LIB, "Mallory", " ".join(f"filler{number}_payroll_z" for number in range(TRIED - 1)))

    room.send(APP, "Alice", "a new table my_payroll_2027")

    assert any("wire" in snippet for snippet in room.found(LIB, "Mallory", "ayroll"))


def test_held_mail_of_the_same_project_displaces_nothing_until_it_is_delivered(room: Room) -> None:
    with room.as_agent("Carol") as carol:
        carol.call("set_contact_policy", project_key=APP, agent_name="Carol", policy="contacts_only")
    room.register(APP, "Dave")
    room.send(APP, "Alice", "the flag is rotateMasterKeyVault", to=["Carol"])

    room.send(APP, "Dave", fillers("terkey"))
    room.send(APP, "Dave", "rotateMasterKeyVault guess")

    assert any("guess" in snippet for snippet in room.found(APP, "Dave", "terkey"))


def test_parts_of_names_are_found_within_the_project(room: Room) -> None:
    room.send(APP, "Alice", "the flag is rotateMasterKeyVault")

    assert room.found(APP, "Carol", "terkey") == ["the flag is rotateMasterKeyVault"]
    assert room.found(LIB, "Mallory", "terkey") == []
