from __future__ import annotations

from pathlib import Path
from typing import Any

from mcp_agent_mail.cli.mail.answers import _WHY_NOT, _refusal_of
from mcp_agent_mail.features.messaging.receipts import ReceiptRefusal
from tests.cli.conftest import Post
from tests.cli.shell import Shell


def sent_by(shell: Shell, sender: str, to: str, *, ack: bool = False, thread: str | None = None) -> int:
    answer = shell.call(
        "send_message",
        project_key=shell.context().settings.agent_mail_project,
        sender_name=sender,
        to=[to],
        subject="Ready?",
        body_md="Say so.",
        ack_required=ack,
        thread_id=thread,
    )
    return int(answer["deliveries"][0]["payload"]["id"])


def read(shell: Shell, message_id: int) -> Any:
    return shell.am("mail", "read", str(message_id), "--json").json()


def status(shell: Shell, message_id: int) -> str:
    ((line),) = shell.am("mail", "status", str(message_id)).lines()
    return line[2]


def test_an_answer_goes_to_the_sender_in_the_thread(either: Shell) -> None:
    question = sent_by(either, "BlueLake", "Human", thread="readiness")

    done = either.am("mail", "reply", str(question), "Yes, go on.", "--json")

    answer = read(either, done.json()["id"])
    assert done.code == 0
    assert (answer["from"], answer["to"], answer["subject"]) == ("Human", ["BlueLake"], "Re: Ready?")
    assert (answer["thread_id"], answer["reply_to"], answer["body_md"]) == ("readiness", question, "Yes, go on.")
    assert status(either, question) == "answered"


def test_an_answer_may_acknowledge_and_go_elsewhere(either: Shell) -> None:
    question = sent_by(either, "BlueLake", "Human", ack=True)

    told = either.am("mail", "reply", str(question), "Done.", "--to", "RedStone", "--importance", "high", "--ack")
    shown = dict(told.lines())

    assert (told.code, shown["to"]) == (0, "RedStone")
    assert read(either, int(shown["id"]))["importance"] == "high"
    (row,) = either.am("mail", "status", str(question), "--json").json()["recipients"]
    assert row["steps"].keys() >= {"acknowledged", "answered"}


def test_an_answer_can_be_an_agents_and_carry_a_file(either: Shell, tmp_path: Path) -> None:
    question = sent_by(either, "BlueLake", "RedStone")
    note = tmp_path / "note.txt"
    note.write_text("facts")

    answer = either.am(
        "mail", "reply", str(question), "See.", "--from", "RedStone", "--attach", str(note), "--json"
    ).json()

    assert (answer["from"], [one["name"] for one in answer["attachments"]]) == ("RedStone", ["note.txt"])


def test_what_nobody_sent_cannot_be_answered(either: Shell) -> None:
    done = either.am("mail", "reply", "999999", "Yes.")

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("Error (NOT_FOUND)")


def test_an_answer_finds_its_project_from_anywhere(either: Shell) -> None:
    question = sent_by(either, "BlueLake", "Human")
    either.unset("AGENT_MAIL_PROJECT")

    assert either.am("mail", "reply", str(question), "Yes.").code == 0


def test_mail_is_acknowledged_as_human_and_a_repeat_changes_nothing(either: Shell) -> None:
    ids = [sent_by(either, "BlueLake", "Human", ack=True) for _ in range(2)]

    first = either.am("mail", "ack", *map(str, ids), "--json")
    again = either.am("mail", "ack", str(ids[0]), "--json")

    results = first.json()["results"]
    assert (first.code, [one["message_id"] for one in results]) == (0, ids)
    assert all(one["acknowledged"] for one in results)
    assert again.json()["results"] == results[:1]
    assert {status(either, one) for one in ids} == {"acknowledged"}


def test_what_did_not_come_to_human_is_told_and_ends_with_1(either: Shell) -> None:
    theirs, mine = sent_by(either, "BlueLake", "RedStone", ack=True), sent_by(either, "BlueLake", "Human", ack=True)

    done = either.am("mail", "ack", str(theirs), str(mine))

    assert done.code == 1
    assert [(line[0], line[1] != "", line[3]) for line in done.lines()] == [
        (str(theirs), False, "not_a_recipient"),
        (str(mine), True, ""),
    ]
    assert done.err == (
        f"Error (CONFLICT): Not acknowledged: {theirs} (it did not come to Human).\n"
        "Hint: am mail inbox lists what came to you.\n"
    )
    assert status(either, theirs) == "delivered"


def test_the_servers_hints_are_the_next_step_each_once() -> None:
    refused = [
        {"message_id": 7, "reason": "held", "hint": "Wait."},
        {"message_id": 8, "reason": "held", "hint": "Wait."},
        {"message_id": 9, "reason": "expired", "hint": "Ask anew."},
        {"message_id": 10, "reason": "expired", "hint": None},
    ]

    assert _refusal_of(refused).hint == "Wait. Ask anew."
    assert _refusal_of(refused[3:]).hint == "am mail inbox lists what came to you."


def test_every_reason_of_the_server_has_words() -> None:
    assert set(_WHY_NOT) == {one.value for one in ReceiptRefusal}


def test_each_that_is_not_acknowledged_is_told_beside_the_json(either: Shell) -> None:
    theirs = sent_by(either, "BlueLake", "RedStone", ack=True)

    done = either.am("mail", "ack", str(theirs), "999999", "--json")

    assert (done.code, [one["reason"] for one in done.json()["results"]]) == (1, ["not_a_recipient", "no_such_message"])
    assert f"{theirs} (it did not come to Human), 999999 (there is no such message)." in done.err


def test_outside_a_project_mail_is_acknowledged_in_its_own(either: Shell) -> None:
    message_id = sent_by(either, "BlueLake", "Human", ack=True)
    either.unset("AGENT_MAIL_PROJECT")

    done = either.am("mail", "ack", str(message_id))
    unknown = either.am("mail", "ack", "999999")

    assert done.code == 0
    assert (unknown.code, unknown.err.splitlines()[0].startswith("Error (NOT_FOUND)")) == (1, True)


def test_where_one_stands_comes_before_the_senders_project(at_post: Shell, post: Post) -> None:
    """Mail from elsewhere lies in the inbox of Human of this project."""
    at_post.call("ensure_project", human_key="/code/elsewhere")
    at_post.call("register_agent", project_key="/code/elsewhere", program="p", model="m", name="FarOwl")
    sent = at_post.call(
        "send_message",
        project_key="/code/elsewhere",
        sender_name="FarOwl",
        to=[f"Human@{post.project}"],
        subject="From afar",
        body_md="Hello.",
        ack_required=True,
    )
    message_id = sent["deliveries"][0]["payload"]["id"]
    at_post.unset("AGENT_MAIL_PROJECT")
    at_post.go_to(Path(post.project))

    assert at_post.am("mail", "ack", str(message_id)).code == 0


def test_the_id_of_a_message_is_a_number(shell: Shell) -> None:
    assert shell.am("mail", "ack", "seven").code == 2
    assert shell.am("mail", "ack").code == 2
