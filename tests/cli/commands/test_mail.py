from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Post
from tests.cli.shell import Shell
from tests.served import Served


def am(shell: Shell, *arguments: str) -> str:
    done = shell.am(*arguments)
    assert (done.code, done.err) == (0, "")
    return done.out


def am_json(shell: Shell, *arguments: str) -> Any:
    return json.loads(am(shell, *arguments, "--json"))


def without_ages(inbox: Any) -> Any:
    """Two looks may lie in two seconds."""
    return {**inbox, "messages": [{**mail, "age_s": None} for mail in inbox["messages"]]}


def unread(shell: Shell, name: str) -> int:
    agents = am_json(shell, "agents", "list")["agents"]
    return next(int(agent["unread_count"]) for agent in agents if agent["name"] == name)


def test_an_inbox_is_the_resource_of_the_same_name(at_post: Shell, post: Post) -> None:
    shown = am_json(at_post, "mail", "inbox", "RedStone")

    with post.server.connect() as connection:
        connection.open_session()
        resource = connection.read(f"resource://inbox/RedStone?project={post.project}&limit=20")
    assert without_ages(shown) == without_ages(resource)
    assert [message["subject"] for message in shown["messages"]][-1] == "Who takes the parser?"


def test_the_inbox_is_humans_unless_another_is_named(at_post: Shell, post: Post) -> None:
    shown = am_json(at_post, "mail", "inbox")

    assert shown["agent"] == "Human"
    assert {post.first_id, post.hostile_id} <= {message["id"] for message in shown["messages"]}


def test_reading_as_a_person_consumes_nothing(at_post: Shell, post: Post) -> None:
    before = unread(at_post, "BlueLake")

    am(at_post, "mail", "inbox", "BlueLake")
    am(at_post, "mail", "read", str(post.first_id))
    am(at_post, "mail", "thread", "parser")
    am(at_post, "mail", "search", "parser")

    assert before >= 1
    assert unread(at_post, "BlueLake") == before


def test_a_piped_inbox_is_one_line_of_cells_per_message(at_post: Shell, post: Post) -> None:
    lines = am(at_post, "mail", "inbox", "RedStone").splitlines()

    oldest = lines[-1].split("\t")
    assert (oldest[0], *oldest[2:]) == (
        str(post.first_id),
        "BlueLake",
        "to",
        "high, ack",
        "parser",
        "Who takes the parser?",
        "",
    )


def test_a_message_is_shown_with_its_head_and_body(at_post: Shell, post: Post) -> None:
    text = am(at_post, "mail", "read", str(post.first_id))

    head, _, body = text.partition("\n\n")
    fields = dict(line.split("\t") for line in head.splitlines())
    assert fields["from"] == "BlueLake"
    assert fields["to"] == "RedStone"
    assert fields["cc"] == "Human"
    assert fields["flags"] == "high, ack"
    assert body == "I have the lexer.\n\nYours?\n"


def test_a_thread_is_shown_oldest_first_with_bodies(at_post: Shell, post: Post) -> None:
    shown = am_json(at_post, "mail", "thread", "parser")

    assert [message["id"] for message in shown["messages"]][:2] == [post.first_id, post.reply_id]
    assert shown["messages"][1]["body_md"] == "Mine, *done* by noon."


def test_a_message_that_began_no_named_thread_is_a_thread_by_its_id(at_post: Shell, post: Post) -> None:
    shown = am_json(at_post, "mail", "thread", str(post.hostile_id))

    assert [message["id"] for message in shown["messages"]] == [post.hostile_id]


def test_search_finds_by_words_and_prints_what_the_tool_answers(at_post: Shell, post: Post) -> None:
    shown = am_json(at_post, "mail", "search", "lexer")

    with post.server.connect() as connection:
        answer = connection.call("search_messages", project_key=post.project, query="lexer")
    assert shown == answer
    assert [found["id"] for found in shown["result"]] == [post.first_id]


def test_human_writes_to_agents(at_post: Shell) -> None:
    sent = am_json(
        at_post, "mail", "send", "--to", "RedStone", "--subject", "Freeze", "--importance", "urgent", "Stop."
    )

    payload = sent["deliveries"][0]["payload"]
    read = am_json(at_post, "mail", "read", str(payload["id"]))
    assert (payload["from"], payload["to"], payload["importance"]) == ("Human", ["RedStone"], "urgent")
    assert sent["verified_sender"] is True
    assert read["body_md"] == "Stop."


def test_a_body_is_read_from_standard_input(at_post: Shell, post: Post, tmp_path: Path) -> None:
    note = tmp_path / "note.md"
    note.write_text("# The freeze\n\nuntil noon\n")
    command = ("mail", "send", "--to", "RedStone", "-", "--json", "--project", post.project)

    with note.open() as stdin:
        done = run_with_stdin(post.server, stdin, *command)

    sent = json.loads(done.stdout)["deliveries"][0]["payload"]
    assert sent["subject"] == "The freeze"
    assert am_json(at_post, "mail", "read", str(sent["id"]))["body_md"] == "# The freeze\n\nuntil noon\n"


def run_with_stdin(server: Served, stdin: Any, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mcp_agent_mail", *arguments],
        stdin=stdin,
        capture_output=True,
        text=True,
        check=True,
        cwd=server.root.parent,
        env=server.environment(),
        timeout=60,
    )


def test_the_project_is_the_git_top_level_when_none_is_named(post: Post) -> None:
    inner = Path(post.project) / "src" / "deep"
    inner.mkdir(parents=True, exist_ok=True)
    (Path(post.project) / ".git").mkdir(exist_ok=True)

    done = run_in(post.server, inner, "mail", "inbox", "RedStone", "--json")

    assert json.loads(done.stdout)["project"] == post.project


def run_in(server: Served, cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mcp_agent_mail", *arguments],
        capture_output=True,
        text=True,
        check=True,
        cwd=cwd,
        env=server.environment(),
        timeout=60,
    )


def test_words_of_peers_cannot_drive_a_terminal(at_post: Shell, post: Post) -> None:
    shown = am(at_post, "mail", "inbox") + am(at_post, "mail", "read", str(post.hostile_id))

    assert r"[bold]\u202eknil" in shown
    assert r"\x1b[31mred\x1b[0m \u202eknil\x07" in shown
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)


def test_json_keeps_words_of_peers_exact_without_driving_a_terminal(at_post: Shell, post: Post) -> None:
    document = am(at_post, "mail", "read", str(post.hostile_id), "--json")

    assert json.loads(document)["body_md"] == "\x1b[31mred\x1b[0m \u202eknil\x07\r\nnext line"
    assert not {"\x1b", "\x07", "\u202e"} & set(document)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("mail", "inbox", "BlueLak"), "NOT_FOUND"),
        (("mail", "read", "999999"), "NOT_FOUND"),
        (("mail", "inbox", "--since", "yesterday"), "INVALID_INPUT"),
        (("mail", "send", "--to", "Nobody", "-s", "x", "y"), "RECIPIENT_NOT_FOUND"),
        (("mail", "send", "--to", "RedStone", "--from", "System", "-s", "x", "y"), "PERMISSION_DENIED"),
        (("mail", "send", "--to", "RedStone", ""), "INVALID_INPUT"),
    ],
)
def test_a_refusal_is_told_as_fact_then_hint(at_post: Shell, arguments: tuple[str, ...], code: str) -> None:
    done = at_post.am(*arguments)

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"Error ({code}): ")


def test_without_a_server_mail_is_read_from_the_store(at_stopped: Shell, stopped_post: Post) -> None:
    shown = am_json(at_stopped, "mail", "inbox", "RedStone")

    assert [message["id"] for message in shown["messages"]] == [stopped_post.first_id]


def test_without_a_server_mail_is_sent_and_is_in_git_at_once(at_stopped: Shell, stopped_post: Post) -> None:
    sent = am_json(at_stopped, "mail", "send", "--to", "RedStone", "-s", "Offline", "No server, no problem.")

    (archive,) = stopped_post.server.archives()
    (copy,) = archive.glob(f"agents/RedStone/inbox/*/*/*/*__{sent['deliveries'][0]['payload']['id']}.md")
    status = subprocess.run(
        ["git", "-C", str(archive), "status", "--porcelain"], capture_output=True, text=True, check=True
    )
    assert copy.read_text().endswith("No server, no problem.\n")
    assert status.stdout == ""


def test_held_mail_is_seen_from_both_sides_without_its_body(at_leases: Shell) -> None:
    waiting = at_leases.am("mail", "held", "RedStone", "--json")

    assert [(mail["from"], mail["to"], mail["subject"]) for mail in waiting.json()] == [
        ("GrayFox", "RedStone", "May I?")
    ]
    assert at_leases.am("mail", "held", "--json").out == waiting.out
    assert at_leases.am("mail", "held", "GrayFox", "--sent", "--json").out == waiting.out
    assert at_leases.am("mail", "held", "GrayFox", "--json").json() == []
    assert "Secret" not in waiting.out


def test_mail_alone_is_the_inbox_of_the_person(at_post: Shell) -> None:
    assert am(at_post, "mail") == am(at_post, "mail", "inbox")
    assert without_ages(am_json(at_post, "mail")) == without_ages(am_json(at_post, "mail", "inbox"))
    assert at_post.am("mail", "--help").out.startswith("Usage: am mail [OPTIONS] COMMAND")
    assert at_post.am("mail", "nonsense").code == 2


def test_an_answer_goes_to_the_sender_wherever_one_stands(at_post: Shell, post: Post) -> None:
    at_post.unset("AGENT_MAIL_PROJECT")

    (first,) = am_json(at_post, "mail", "send", "--reply-to", str(post.first_id), "Yes.")["deliveries"]
    (second,) = am_json(at_post, "mail", "send", "--reply-to", str(first["payload"]["id"]), "And no.")["deliveries"]
    (third,) = am_json(at_post, "mail", "send", "--reply-to", str(post.first_id), "-s", "Parser", "x")["deliveries"]

    assert first["project"] == post.project
    assert (first["payload"]["to"], first["payload"]["subject"]) == (["BlueLake"], "Re: Who takes the parser?")
    assert (second["payload"]["to"], second["payload"]["subject"]) == (["BlueLake"], "Re: Who takes the parser?")
    assert third["payload"]["subject"] == "Parser"
    assert {first["payload"]["thread_id"], second["payload"]["thread_id"]} == {"parser"}


def test_mail_to_nobody_is_a_mistake_of_the_command_line(at_post: Shell) -> None:
    done = at_post.am("mail", "send", "x")

    assert done.code == 2
    assert "--reply-to ID to answer a message" in done.err


def test_a_send_may_expire_and_replace_what_was_sent(at_post: Shell) -> None:
    first = am_json(at_post, "mail", "send", "--to", "RedStone", "-s", "Plan A", "x")["deliveries"][0]["payload"]["id"]

    second = am_json(
        at_post,
        *("mail", "send", "--to", "RedStone", "-s", "Plan B", "x"),
        *("--valid-until", "2999-01-01", "--supersedes", str(first)),
    )["deliveries"][0]["payload"]["id"]

    assert am_json(at_post, "mail", "status", str(first))["counts"] == {"withdrawn": 1}
    listed = {mail["id"] for mail in am_json(at_post, "mail", "inbox", "RedStone", "--limit", "1000")["messages"]}
    assert (first in listed, second in listed) == (False, True)


def test_a_time_without_an_offset_is_utc_and_told_as_the_instant_that_it_is(at_post: Shell) -> None:
    at_post.set(TZ="America/New_York")
    send = ("mail", "send", "--to", "RedStone", "-s", "Freeze", "x", "--valid-until")

    told = [at_post.am(*send, time).out for time in ("2999-01-01T12:00", "2999-01-01", "2999-01-01T12:00-05:00")]

    for shown, instant in zip(told, ("2999-01-01T12:00", "2999-01-01T00:00", "2999-01-01T17:00"), strict=True):
        assert f"valid until\t{instant}:00.000000+00:00\n" in shown


def test_what_was_withdrawn_after_reading_is_marked_in_lists_and_alone(at_post: Shell) -> None:
    sent = am_json(at_post, "mail", "send", "--to", "RedStone", "-s", "Stop", "x")["deliveries"][0]["payload"]
    number = str(sent["id"])
    am_json(at_post, "mail", "send", "--from", "RedStone", "--reply-to", number, "y")
    am_json(at_post, "mail", "withdraw", number, "--reason", "Too early")

    row = next(r for r in at_post.am("mail", "inbox", "RedStone").out.splitlines() if r.startswith(f"{number}\t"))
    alone = at_post.am("mail", "read", number).out

    assert "withdrawn" in row.split("\t")[4]
    assert "flags\twithdrawn\n" in alone
    assert "reason\tToo early\n" in alone


def test_a_time_that_has_passed_is_told_in_words_of_the_command_line(at_post: Shell) -> None:
    done = at_post.am("mail", "send", "--to", "RedStone", "-s", "x", "y", "--valid-until", "2001-01-01")

    assert done.err.startswith("Error (INVALID_INPUT): ")
    assert "leave --valid-until out" in done.err


def test_status_and_withdrawal_are_found_wherever_one_stands(at_post: Shell, post: Post) -> None:
    at_post.unset("AGENT_MAIL_PROJECT")
    sent = am_json(at_post, "mail", "send", "--to", "RedStone", "-p", post.project, "-s", "Stop", "x")
    number = str(sent["deliveries"][0]["payload"]["id"])

    before = at_post.am("mail", "status", number).lines()
    told = dict(at_post.am("mail", "withdraw", number, "--reason", "Too early").lines())
    after = at_post.am("mail", "status", number).lines()

    assert [line[:3] for line in before] == [["RedStone", "to", "delivered"]]
    assert (told["id"], told["taken back from"]) == (number, "RedStone")
    assert [line[:3] for line in after] == [["RedStone", "to", "withdrawn"]]
    assert after[0][3] == told["withdrawn"]


def test_only_its_sender_withdraws_a_message(at_post: Shell, post: Post) -> None:
    done = at_post.am("mail", "withdraw", str(post.first_id))

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("Error (PERMISSION_DENIED): Human did not send message")
    assert "am mail reply ID" in done.err
