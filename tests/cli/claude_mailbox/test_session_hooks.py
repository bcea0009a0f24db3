"""A session's start and end by hooks, and the name that it goes by."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mcp_agent_mail.cli.claude_mailbox.session_hooks import announcement, auto_name
from tests.cli.claude_mailbox.mailbox_program import Ended, MailboxProgram
from tests.facades.claude_mailbox.mailbox_server import MailboxServer

SESSION = "1A2b3C4d-58a6-4c8e-9a0a-5d1b6f2a7c11"
NOW_S = 1_800_000_000.0
NOW = "2027-01-15T08:00:00+00:00"
EARLIER = "2027-01-15T06:59:59+00:00"


def seen(name: str, at: str | None = NOW, for_you: int = 0) -> dict[str, object]:
    return {"name": name, "lastSeenAt": at, "pending": 0, "pendingForYou": for_you}


def test_a_session_is_told_its_name_then_the_arguments_then_who_was_seen_lately() -> None:
    text = announcement(
        "me", [seen("me"), seen("bob", for_you=2), seen("old", EARLIER), seen("bbo", None)], now_s=NOW_S + 90
    )

    assert text.splitlines() == [
        "[Claude-Mailbox] Your mailbox is 'me'.",
        'Send with from="me": mcp__mailbox__send(from="me", to="<mailbox>", body="…").',
        'Read with name="me": mcp__mailbox__check_inbox(name="me").',
        "Mailboxes seen within the last 60 minutes, by the names that they gave themselves:",
        "> bob (1 min ago, 2 for you)",
    ]


def test_with_nobody_about_it_says_how_many_there_are() -> None:
    text = announcement("me", [seen("me"), seen("old", EARLIER)], now_s=NOW_S)

    assert text.splitlines()[-1] == "No other mailboxes seen within the last 60 minutes (2 total registered)."


def test_of_many_the_first_are_named() -> None:
    text = announcement("me", [seen(f"m{number}") for number in range(30)], now_s=NOW_S)

    assert len(text.splitlines()) == 4 + 20 + 1
    assert text.splitlines()[-1] == '- and 10 more: mcp__mailbox__list_mailboxes(name="me")'


def test_a_name_is_of_the_repository_or_the_folder_and_the_session(tmp_path: Path) -> None:
    repository = tmp_path / "my repo!"
    (repository / "src" / "deep").mkdir(parents=True)
    (repository / ".git").mkdir()
    plain = tmp_path / "plain.dir"
    plain.mkdir()

    assert auto_name(str(repository / "src" / "deep"), SESSION) == "my-repo-1a2b3c4d"
    assert auto_name(str(plain), SESSION) == "plain-dir-1a2b3c4d"
    assert auto_name("", SESSION) == "claude-1a2b3c4d"
    assert auto_name("relative", SESSION) == "claude-1a2b3c4d"
    assert auto_name("/名前", SESSION) == "claude-1a2b3c4d"
    assert auto_name("/" + "x" * 300, SESSION) == "x" * 60 + "-1a2b3c4d"


def test_a_session_is_announced_gets_its_mail_and_ends(
    server: MailboxServer, program: MailboxProgram, tmp_path: Path
) -> None:
    code = tmp_path / "shop"
    code.mkdir()
    payload = {"session_id": SESSION, "cwd": str(code), "hook_event_name": "SessionStart"}
    server.ask("GET", "/v1/list", name="s-peer")

    start = program.run("session-announce", said=payload)
    server.send("s-peer", "shop-1a2b3c4d", "welcome")
    prompt = program.run("check", "--hook", said=payload)
    during = server.names()
    end = program.run("session-end", said=payload)
    after = server.names()

    assert start.code == 0
    assert "[Claude-Mailbox] Your mailbox is 'shop-1a2b3c4d'." in start.out
    assert "> s-peer (0 min ago)" in start.out
    assert "> [s-peer] welcome" in prompt.out
    assert "shop-1a2b3c4d" in during
    assert end == Ended(0, "", "")
    assert "shop-1a2b3c4d" not in after


def test_a_session_that_took_another_name_still_gets_its_mail_by_its_hooks(
    server: MailboxServer, program: MailboxProgram, tmp_path: Path
) -> None:
    code = tmp_path / "forge"
    code.mkdir()
    payload = {"session_id": SESSION, "cwd": str(code)}
    program.run("session-announce", said=payload)
    server.ask("POST", "/v1/rename", name="forge-1a2b3c4d", body={"to": "smith"})
    server.send("s-peer", "smith", "to the new name")
    server.send("s-peer", "forge-1a2b3c4d", "to the former one")

    prompt = program.run("check", "--hook", said=payload)
    again = program.run("check", "--hook", said=payload)
    program.run("session-end", said=payload)

    assert prompt.out.splitlines()[1:] == ["> [s-peer] to the new name", "> [s-peer] to the former one"]
    assert again == Ended(0, "", "")
    assert not {"smith", "forge-1a2b3c4d"} & set(server.names())


def test_a_session_that_has_mail_stays_there(server: MailboxServer, program: MailboxProgram) -> None:
    server.send("s-alice", "s-kept", "unread")

    ended = program.run("session-end", "--name", "s-kept")

    assert ended == Ended(0, "", "")
    assert server.pending("s-kept") == 1
    assert "s-kept" in server.names()


@pytest.mark.parametrize("command", ["session-announce", "session-end"])
@pytest.mark.parametrize("said", [b"", b"{", b"[]", {"cwd": "/x"}, {"session_id": 7}, {"session_id": SESSION}])
def test_a_hook_is_silent_where_no_server_or_no_session_is(alone: MailboxProgram, command: str, said: object) -> None:
    assert alone.run(command, said=said) == Ended(0, "", "")


@pytest.mark.parametrize("arguments", [("check", "--hook"), ("session-announce",), ("session-end",)])
def test_a_client_that_leaves_the_input_open_is_not_waited_for(
    program: MailboxProgram, arguments: tuple[str, ...]
) -> None:
    hook = program.started(*arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        code = hook.wait(30)
        assert hook.stdout is not None
        assert hook.stderr is not None
        said = hook.stdout.read() + hook.stderr.read()
    finally:
        for stream in (hook.stdin, hook.stdout, hook.stderr):
            assert stream is not None
            stream.close()

    assert (code, said) == (0, b"")
