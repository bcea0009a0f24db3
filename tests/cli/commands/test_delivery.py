from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.cli.commands.delivery import print_status, print_withdrawal
from tests.cli.conftest import Post
from tests.cli.shell import Shell

T1, T2 = "2026-01-01T00:00:00+00:00", "2026-01-01T00:05:00+00:00"


def recipient(name: str, status: str, **steps: str) -> dict[str, Any]:
    return {"name": name, "kind": "to", "status": status, "steps": steps}


def test_each_recipient_is_a_line_with_the_time_of_its_status(capsys: pytest.CaptureFixture[str]) -> None:
    recipients = [recipient("RedStone", "read", delivered=T1, read=T2), recipient("GrayFox", "held", held=T1)]

    print_status({"recipients": recipients, "total": 2, "counts": {}}, exact=True)

    assert capsys.readouterr().out == f"RedStone\tto\tread\t{T2}\nGrayFox\tto\theld\t{T1}\n"


def test_recipients_that_are_only_counted_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    print_status({"recipients": [recipient("RedStone", "read", read=T2)], "total": 1_001, "counts": {}}, exact=False)

    assert capsys.readouterr().out.endswith("1000 more are counted in --json.\n")


def test_a_withdrawal_says_from_whom_it_came_too_late(capsys: pytest.CaptureFixture[str]) -> None:
    recipients = [{"name": "RedStone", "status": "withdrawn"}, {"name": "GrayFox", "status": "acknowledged"}]

    print_withdrawal({"message_id": 7, "withdrawn_at": T1, "recipients": recipients})

    lines = dict(line.split("\t") for line in capsys.readouterr().out.splitlines())
    assert lines == {"id": "7", "withdrawn": T1, "taken back from": "RedStone", "not from": "GrayFox (acknowledged)"}


def test_the_status_is_what_the_tool_answers_the_sender(at_post: Shell, post: Post) -> None:
    told = at_post.am("mail", "status", str(post.first_id), "--json").json()

    given = {"project_key": post.project, "message_id": post.first_id, "agent_name": "BlueLake"}
    assert told == at_post.call("message_status", **given)
    assert {one["name"] for one in told["recipients"]} == {"RedStone", "Human"}


def test_a_blind_copy_is_told_to_its_sender_and_to_no_other(at_post: Shell) -> None:
    sent = at_post.am("mail", "send", "--to", "RedStone", "--bcc", "BlueLake", "-s", "Blind", "x", "--json").json()
    number = str(sent["deliveries"][0]["payload"]["id"])

    as_sender = at_post.am("mail", "status", number).lines()
    as_other = at_post.am("mail", "status", number, "--as", "RedStone").lines()

    assert [line[:2] for line in as_sender] == [["RedStone", "to"], ["BlueLake", "bcc"]]
    assert [line[:2] for line in as_other] == [["RedStone", "to"]]


def test_a_status_as_an_agent_is_refused_where_that_agent_is_told_nothing(at_post: Shell) -> None:
    sent = at_post.am("mail", "send", "--to", "BlueLake", "-s", "Taken back", "x", "--json").json()
    number = str(sent["deliveries"][0]["payload"]["id"])
    at_post.am("mail", "withdraw", number)

    as_sender = at_post.am("mail", "status", number)
    as_other = at_post.am("mail", "status", number, "--as", "RedStone")

    assert [line[:3] for line in as_sender.lines()] == [["BlueLake", "to", "withdrawn"]]
    assert (as_other.code, as_other.out) == (1, "")
    assert as_other.err.startswith("Error (NOT_FOUND): ")


def test_an_agents_message_is_withdrawn_in_its_name(at_post: Shell) -> None:
    sent = at_post.am("mail", "send", "--to", "RedStone", "--from", "BlueLake", "-s", "Mine", "x", "--json").json()
    number = str(sent["deliveries"][0]["payload"]["id"])

    first = at_post.am("mail", "withdraw", number, "--as", "BlueLake", "--json").json()
    again = at_post.am("mail", "withdraw", number, "--from", "BlueLake", "--json").json()

    assert first == again
    assert first["recipients"] == [{"name": "RedStone", "status": "withdrawn"}]


def test_what_is_nowhere_has_no_status(at_post: Shell) -> None:
    for command in ("status", "withdraw"):
        done = at_post.am("mail", command, "999999")

        assert (done.code, done.out) == (1, "")
        assert done.err.startswith("Error (NOT_FOUND): ")


@pytest.fixture
def unproven(at_post: Shell, post: Post) -> Shell:
    """`am` of somebody who proves nothing: the server is reached by its address alone."""
    at_post.unset("STORAGE_ROOT")
    at_post.set(AGENT_MAIL_URL=f"http://127.0.0.1:{post.server.port}/mcp")
    return at_post


def withdrawn_id(shell: Shell) -> str:
    """A message of BlueLake's that nobody has a copy of any more."""
    sent = shell.am("mail", "send", "--to", "RedStone", "--from", "BlueLake", "-s", "Mine", "x", "--json").json()
    number = str(sent["deliveries"][0]["payload"]["id"])
    shell.am("mail", "withdraw", number, "--from", "BlueLake")
    return number


@pytest.mark.parametrize("is_named", [True, False])
def test_what_nobody_has_any_more_is_told_its_sender_also_where_nothing_proves_it(
    unproven: Shell, post: Post, is_named: bool
) -> None:
    number = withdrawn_id(unproven)
    if not is_named:
        unproven.unset("AGENT_MAIL_PROJECT")
        unproven.go_to(Path(post.project))

    again = unproven.am("mail", "withdraw", number, "--from", "BlueLake")
    status = unproven.am("mail", "status", number, "--as", "BlueLake")

    assert (again.code, dict(again.lines())["taken back from"]) == (0, "RedStone")
    assert [line[:3] for line in status.lines()] == [["RedStone", "to", "withdrawn"]]
    for done in (again, status):
        assert done.err.startswith("Hint: Blind and held copies, if there are any,")


def test_whoever_names_too_little_of_what_was_taken_back_is_told_what_to_name(unproven: Shell) -> None:
    number = withdrawn_id(unproven)

    as_nobody = unproven.am("mail", "status", number)
    unproven.unset("AGENT_MAIL_PROJECT")
    elsewhere = [
        unproven.am("mail", command, number, option, "BlueLake")
        for command, option in (("status", "--as"), ("withdraw", "--from"))
    ]

    for refused in (as_nobody, *elsewhere):
        assert (refused.code, refused.out) == (1, "")
        assert refused.err.startswith(f"Error (NOT_FOUND): No message {number} is to be seen here.\n")
        assert "--project" in refused.err
        assert "--as" in refused.err


def test_a_table_says_how_more_may_be_seen(capsys: pytest.CaptureFixture[str]) -> None:
    hint = {"hint": "Send message_status your token."}

    print_status({"recipients": [], "total": 0, "counts": {}, **hint}, exact=False)
    print_withdrawal({"message_id": 7, "withdrawn_at": T1, "recipients": [], **hint})

    told = capsys.readouterr()
    assert told.err == "Hint: Send am mail status your token.\n" * 2
    assert told.out == f"id\t7\nwithdrawn\t{T1}\n"
