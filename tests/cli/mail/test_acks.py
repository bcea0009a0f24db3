from __future__ import annotations

import pytest

from tests.cli.shell import Shell


@pytest.fixture
def asked(either: Shell) -> tuple[Shell, int]:
    """A project of its own, where BlueLake asked RedStone and Human for an acknowledgement."""
    project = "/code/acknowledging"
    either.set(AGENT_MAIL_PROJECT=project)
    either.call("ensure_project", human_key=project)
    for name in ("BlueLake", "RedStone"):
        either.call("register_agent", project_key=project, program="p", model="m", name=name)
    answer = either.call(
        "send_message",
        project_key=project,
        sender_name="BlueLake",
        to=["RedStone", "Human"],
        subject="Agreed?",
        body_md="Say so.",
        ack_required=True,
    )
    return either, int(answer["deliveries"][0]["payload"]["id"])


def owed_by(lines: list[list[str]], message_id: int) -> list[str]:
    return [line[1] for line in lines if line[0] == str(message_id)]


def test_what_is_pending_is_listed_with_whose_it_is(asked: tuple[Shell, int]) -> None:
    shell, message_id = asked

    of_all = shell.am("acks", "pending")
    of_one = shell.am("acks", "pending", "RedStone", "--json").json()

    assert (of_all.code, owed_by(of_all.lines(), message_id)) == (0, ["RedStone", "Human"])
    assert of_one["owed"][-1]["message_id"] == message_id
    assert {one["agent"] for one in of_one["owed"]} == {"RedStone"}


def test_what_is_acknowledged_is_no_longer_pending(asked: tuple[Shell, int]) -> None:
    shell, message_id = asked

    shell.am("mail", "ack", str(message_id))

    assert owed_by(shell.am("acks", "pending").lines(), message_id) == ["RedStone"]


def test_overdue_is_what_is_older_than_was_said(asked: tuple[Shell, int]) -> None:
    shell, message_id = asked

    by_the_settings = shell.am("acks", "overdue", "--json").json()
    at_once = shell.am("acks", "overdue", "--minutes", "0").lines()

    assert (by_the_settings["owed"], by_the_settings["min_age_seconds"]) == ([], 1_800)
    assert owed_by(at_once, message_id) == ["RedStone", "Human"]


def test_who_is_late_is_reminded_once(asked: tuple[Shell, int]) -> None:
    shell, message_id = asked

    too_early = shell.am("acks", "remind")
    first = shell.am("acks", "remind", "--minutes", "0", "--json").json()
    again = shell.am("acks", "remind", "--minutes", "0")

    mine = [one for one in first["reminded"] if one["message_id"] == message_id]
    assert (too_early.code, too_early.out) == (0, "")
    assert [one["agent"] for one in mine] == ["RedStone"]
    assert (again.code, again.out) == (0, "")
    mail = shell.am("mail", "read", str(mine[0]["reminder_id"]), "--json").json()
    assert (mail["from"], mail["to"], mail["subject"]) == ("System", ["RedStone"], "Please acknowledge: Agreed?")
    (reminded,) = [line[5] for line in shell.am("acks", "pending", "RedStone").lines() if line[0] == str(message_id)]
    assert reminded != ""


def test_one_agent_alone_is_reminded_by_its_name(asked: tuple[Shell, int]) -> None:
    shell, message_id = asked

    of_human = shell.am("acks", "remind", "Human", "--minutes", "0").lines()

    assert owed_by(of_human, message_id) == ["Human"]


@pytest.mark.parametrize("command", ["pending", "overdue", "remind"])
def test_an_agent_that_nobody_knows_is_refused(asked: tuple[Shell, int], command: str) -> None:
    shell, _ = asked

    done = shell.am("acks", command, "NobodyHere")

    assert (done.code, done.err.startswith("Error (NOT_FOUND)")) == (1, True)
