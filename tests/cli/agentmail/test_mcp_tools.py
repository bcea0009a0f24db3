"""The tools over a door that answers as it is told: what goes in, what comes out."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_agent_mail.cli.agentmail.door import DoorClient
from mcp_agent_mail.cli.agentmail.environment import DoorSettings
from mcp_agent_mail.cli.agentmail.mcp_tools import MessageTooLong, NoSuchTool, call
from mcp_agent_mail.cli.agentmail.place import WindowPlace
from mcp_agent_mail.cli.agentmail.refusals import Failure


class _ToldDoor(DoorClient):
    """Answers what it is told to, and keeps what it was asked."""

    def __init__(self, **answers: dict[str, Any]) -> None:
        super().__init__(DoorSettings({"HOME": "/nowhere"}), starts=False)
        self._answers = answers
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def ask(
        self, what: str, value: dict[str, Any], *, answers: str | None = None, within_s: float | None = None
    ) -> dict[str, Any]:
        assert within_s is None
        assert answers in self._answers[what]
        self.asked.append((what, value))
        return self._answers[what]


PLACE = WindowPlace("/code/app", "me")


def test_a_message_is_sent_by_its_name_and_its_id_is_the_answer() -> None:
    door = _ToldDoor(send={"id": "abcdefgh", "held": False})

    answer = call("send", {"recipient": "you", "message": "hi"}, PLACE, door)

    assert answer.structured == {"message_id": "abcdefgh"}
    assert answer.text == "Message #abcdefgh sent"
    (asked,) = door.asked
    assert asked == (
        "send",
        {"project": "/code/app", "name": "me", "to": "you", "body": "hi", "window": False},
    )


def test_what_is_held_is_said_in_one_more_key() -> None:
    door = _ToldDoor(send={"id": "abcdefgh", "held": True})

    answer = call("send", {"recipient": "you", "message": "hi"}, PLACE, door)

    assert answer.structured == {"message_id": "abcdefgh", "held": True}


def test_a_message_has_a_ticket_and_a_text_with_its_letters_as_they_are() -> None:
    message = {"from": "ö", "id": "abcdefgh", "body": "é\n", "ticket": "t1"}

    answer = call("receive", {}, PLACE, _ToldDoor(pop={"message": message}))

    assert (answer.text, answer.ticket) == ("From: ö\nID: abcdefgh\n\né\n", "t1")
    assert answer.structured == {"from": "ö", "id": "abcdefgh", "message": "é\n"}


def test_bytes_are_counted_before_anything_else() -> None:
    with pytest.raises(MessageTooLong) as long:
        call("send", {"recipient": "", "message": "é" * 32_769}, PLACE, _ToldDoor())

    assert long.value.data == {"limit": 65_536, "size": 65_538}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"message": "hi"}, "recipient not found"),
        ({"recipient": "you"}, "no message provided"),
        ({"recipient": "ME ", "message": "hi"}, "cannot send message to self"),
        ({"recipient": "you", "message": "\ud800"}, "message is not valid UTF-8"),
        ({"recipient": ["you"], "message": "hi"}, "recipient must be a string"),
    ],
)
def test_what_cannot_be_sent_is_refused_before_the_door(arguments: dict[str, Any], words: str) -> None:
    door = _ToldDoor()

    with pytest.raises(Failure) as refused:
        call("send", arguments, PLACE, door)

    assert (str(refused.value), door.asked) == (words, [])


def test_a_tool_that_there_is_not_is_unknown() -> None:
    with pytest.raises(
        NoSuchTool, match=r"^Unknown tool: list_recipients\nThere are: send, receive, status, list-recipients\.$"
    ):
        call("list_recipients", {}, PLACE, _ToldDoor())
