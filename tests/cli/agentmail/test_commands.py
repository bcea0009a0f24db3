"""The commands in windows of a real tmux, against a real server: texts, streams and exit codes to the byte."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from pathlib import Path

import pytest

from mcp_agent_mail.cli.agentmail import commands
from mcp_agent_mail.cli.agentmail.refusals import Failure
from mcp_agent_mail.cli.agentmail.words import ONBOARD
from tests.cli.agentmail.tmux_session import AgentMailHome, Done, TmuxSession, command, needs_tmux
from tests.served import Served

SENT = re.compile(r"Message #([0-9A-Za-z]{8}) sent\n")
Said = tuple[str, str, int]


def sent(done: Said) -> str:
    """The id that a send has printed."""
    found = SENT.fullmatch(done[0])
    assert found is not None, done
    assert done[1:] == ("", 0)
    return found[1]


def said(done: Done) -> Said:
    return done.stdout, done.stderr, done.returncode


def given(sender: str, number: str, body: str) -> Said:
    return f"From: {sender}\nID: {number}\n\n{body}", "", 0


NONE = ("No unread messages\n", "", 0)


@needs_tmux
def test_mail_goes_from_window_to_window_once(session: TmuxSession) -> None:
    number = sent(session.says("a1", "send", "a2", "hi"))

    assert session.says("a2", "receive") == given("a1", number, "hi")
    assert session.says("a2", "receive") == NONE


@needs_tmux
def test_flags_beat_words_and_a_pipe_beats_both(session: TmuxSession) -> None:
    numbers = [
        sent(session.says("a1", "send", "-r", "a2", "-m", "flags")),
        sent(session.says("a1", "send", "--recipient", "a2", "--message", "long", "a3", "words")),
        sent(session.says("a1", "send", "-r", "a2", "one word")),
    ]
    piped = session.run("a1", "send", "a2", "ignored", stdin="x\ny\n")
    numbers.append(sent(said(piped)))

    for number, body in zip(numbers, ["flags", "long", "one word", "x\ny"], strict=True):
        assert session.says("a2", "receive") == given("a1", number, body)
    assert session.says("a3", "receive") == NONE


@needs_tmux
def test_one_newline_at_the_end_is_cut_and_everything_else_stays(session: TmuxSession) -> None:
    body = "  a\r\n\tä € 𝄞 \x07 \\n\n\n"
    piped = session.run("a1", "send", "a2", stdin=body)
    number = sent(said(piped))

    received = subprocess.run(
        command("receive"),
        capture_output=True,
        check=True,
        cwd=session.home.code,
        env=session.home.environment(session.environ("a2")),
        stdin=subprocess.DEVNULL,
    )

    assert received.stdout == f"From: a1\nID: {number}\n\n{body[:-1]}".encode()


@needs_tmux
def test_what_is_missing_is_named(session: TmuxSession) -> None:
    nothing, no_text = session.says("a1", "send"), session.says("a1", "send", "a2")

    assert nothing == ("", "error: missing required arguments: recipient message\n", 1)
    assert no_text == (
        "",
        "error: no message provided\nusage: agentmail send <recipient> <message>\n",
        1,
    )


@needs_tmux
def test_unknown_own_and_ignored_names_are_not_found(session: TmuxSession) -> None:
    (session.home.code / ".agentmailignore").write_text("\n  a3  \n\n")

    refusals = {name: session.says("a1", "send", name, "hi") for name in ("nope", "a1", "A1", "a3")}

    assert set(refusals.values()) == {("", "error: recipient not found\n", 1)}


@needs_tmux
def test_outside_a_repository_there_is_no_mail(session: TmuxSession, tmp_path: Path) -> None:
    for arguments in (["send", "a2", "x"], ["receive"], ["status", "ready"]):
        done = session.run("a1", *arguments, cwd=tmp_path)

        assert (done.stdout, done.returncode) == ("", 1)
        assert done.stderr == "error: not in a git repository: not in a git repository\n"


OUTSIDE = {
    ("send", "a2", "x"): ("", "error: agentmail must run inside a tmux session\n", 2),
    ("receive",): ("", "error: agentmail must run inside a tmux session\n", 2),
    ("recipients",): ("", "error: not running inside a tmux session\n", 2),
    ("status", "bogus"): ("", "", 0),
    ("status", "ready"): ("", "", 0),
    ("receive", "--hook"): ("", "", 0),
    ("onboard",): (ONBOARD, "", 0),
    ("status",): (
        "",
        "error: missing required argument: status\nusage: agentmail status <ready|work|offline>\n",
        1,
    ),
}


@pytest.mark.parametrize("arguments", OUTSIDE)
@pytest.mark.parametrize("place", ["no tmux", "dead socket"])
def test_outside_tmux_each_command_has_its_words(arguments: tuple[str, ...], place: str, home: AgentMailHome) -> None:
    environ = {} if place == "no tmux" else {"TMUX": f"{home.root}/none,1,0", "TMUX_PANE": "%0"}

    done = home.run(*arguments, environ=environ)

    assert (done.stdout, done.stderr, done.returncode) == OUTSIDE[arguments]
    assert not home.store.exists()


@needs_tmux
def test_recipients_are_the_windows_in_their_order_without_those_ignored(session: TmuxSession) -> None:
    session.open("a2")
    session.tmux("move-window", "-s", session.panes["a1"], "-t", "9")
    (session.home.code / ".agentmailignore").write_text("a3\na1\n")

    assert session.says("a1", "recipients") == ("a2\na1 [you]\n", "", 0)


@needs_tmux
def test_a_status_is_presence_here(session: TmuxSession, server: Served) -> None:
    shown = {}
    with server.connect() as connection:
        for word in ("work", "offline", "ready"):
            assert session.says("a1", "status", word) == ("", "", 0)
            (agent,) = connection.call("list_agents", project_key=str(session.home.code))["agents"]
            shown[word] = agent["status"]

    assert shown == {"work": "busy", "offline": "offline", "ready": "ready"}
    assert session.says("a1", "status", "bogus") == ("", "Invalid status: bogus. Valid: ready, work, offline\n", 1)


@needs_tmux
def test_a_pane_that_is_gone_has_no_window(session: TmuxSession) -> None:
    session.tmux("kill-pane", "-t", session.panes["a3"])

    gone = session.panes["a3"]
    assert session.says("a3", "receive") == ("", f"error: current window '{gone}' not found in tmux session\n", 1)


@needs_tmux
def test_outside_tmux_a_name_does_and_writes_to_whom_the_project_knows(session: TmuxSession) -> None:
    home, me = session.home, {"AGENTMAIL_NAME": "outer one"}
    early = home.run("send", "a2", "before a2 has ever been", environ=me)
    session.says("a2", "receive")
    number = sent(said(home.run("send", "a2", "hi", environ=me)))
    answer = sent(session.says("a2", "send", "outer one", "yes?"))

    assert (early.stderr, early.returncode) == ("error: recipient not found\n", 1)
    assert session.says("a2", "receive") == given("outer one", number, "hi")
    listed = home.run("recipients", environ=me).stdout
    assert listed == "outer one [you]\na2\n"
    received = home.run("receive", environ=me)
    assert (received.stdout, received.stderr, received.returncode) == given("a2", answer, "yes?")


@needs_tmux
def test_the_repository_stays_as_it_was(session: TmuxSession) -> None:
    before = sorted(path.name for path in session.home.code.iterdir())

    session.says("a1", "send", "a2", "hi")
    session.says("a2", "receive")
    session.says("a2", "status", "ready")

    assert sorted(path.name for path in session.home.code.iterdir()) == before == [".git"]


@needs_tmux
def test_a_message_that_cannot_be_printed_is_given_again(session: TmuxSession) -> None:
    number = sent(session.says("a1", "send", "a2", "hi"))
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command("receive"),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            cwd=session.home.code,
            env=session.home.environment(session.environ("a2")),
            stdin=subprocess.DEVNULL,
        )

    assert done.returncode == 1
    assert session.says("a2", "receive") == given("a1", number, "hi")


@needs_tmux
def test_a_worktree_has_mail_of_its_own(session: TmuxSession) -> None:
    worktree = session.home.root / "worktree"
    (worktree / "below").mkdir(parents=True)
    (worktree / ".git").write_text("gitdir: elsewhere\n")
    session.says("a1", "send", "a2", "of the main one")

    there = session.run("a2", "receive", cwd=worktree / "below")
    here = session.run("a2", "receive")

    assert there.stdout == "No unread messages\n"
    assert here.stdout.endswith("of the main one")


@needs_tmux
def test_mail_that_waits_for_consent_is_said_to(session: TmuxSession, server: Served) -> None:
    key = str(session.home.code)
    session.says("a1", "status", "ready")
    with server.connect() as connection:
        agent = connection.call("register_agent", project_key=key, name="BlueLake", program="tests", model="none")
        token = {"registration_token": agent["registration_token"]}
        connection.call("set_contact_policy", project_key=key, agent_name="BlueLake", policy="contacts_only", **token)

    out, err, code = session.says("a1", "send", "BlueLake", "may I?")

    assert SENT.fullmatch(out)
    assert (err, code) == ("It is held until BlueLake approves it.\n", 0)


# --- without a tmux ---


def test_a_single_word_beside_the_recipients_flag_is_the_message() -> None:
    assert commands._addressed({"recipient": "a"}, ["m"]) == ("a", "m")
    assert commands._addressed({"recipient": "a"}, ["x", "m"]) == ("a", "m")
    assert commands._addressed({"message": "m"}, ["a"]) == ("a", "m")
    assert commands._addressed({}, ["a"]) == ("a", None)
    assert commands._addressed({}, []) == (None, None)


def test_a_pipe_that_nobody_writes_to_holds_nobody_up_who_gave_a_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read, write = os.pipe()
    monkeypatch.setattr(commands, "_STDIN", read)
    monkeypatch.setattr(commands, "STDIN_BEGINS_WITHIN_S", 0.01)
    try:
        assert commands._piped(has_argument=True) is None
    finally:
        os.close(write)
        os.close(read)


@pytest.mark.parametrize(
    ("content", "text"), [(b"", None), (b"\n", None), (b"a\n", "a"), (b"a\n\n", "a\n"), (b"a\r\n", "a\r")]
)
def test_what_is_piped_loses_one_newline(
    content: bytes, text: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in").write_bytes(content)
    descriptor = os.open(tmp_path / "in", os.O_RDONLY)
    monkeypatch.setattr(commands, "_STDIN", descriptor)
    try:
        assert commands._piped(has_argument=True) == text
    finally:
        os.close(descriptor)


def test_what_is_no_text_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in").write_bytes(b"\xff\xfe")
    descriptor = os.open(tmp_path / "in", os.O_RDONLY)
    monkeypatch.setattr(commands, "_STDIN", descriptor)
    try:
        with pytest.raises(Failure, match="not valid UTF-8"):
            commands._piped(has_argument=False)
    finally:
        os.close(descriptor)


def test_a_server_is_started_where_none_runs_and_its_door_is_open(home: AgentMailHome) -> None:
    me, you = {"AGENTMAIL_NAME": "me"}, {"AGENTMAIL_NAME": "you"}
    try:
        nothing = home.run("receive", environ=me)
        number = sent(said(home.run("send", "me", "hi", environ=you)))
        received = home.run("receive", environ=me)
        owner = json.loads((home.store / "server.json").read_text())
    finally:
        home.stop_server()

    assert (nothing.stdout, nothing.stderr, nothing.returncode) == NONE
    assert (received.stdout, received.stderr, received.returncode) == given("you", number, "hi")
    assert owner["url"].startswith("http://127.0.0.1:")


def test_a_server_without_the_door_is_named_with_the_setting(home: AgentMailHome) -> None:
    with Served(home.store) as server:
        done = home.run("receive", environ={"AGENTMAIL_NAME": "me"})

    url = f"http://127.0.0.1:{server.port}"
    assert (done.stdout, done.returncode) == ("", 1)
    assert done.stderr == (
        f"error: the server at {url} serves no AgentMail: set AGENTMAIL_ENABLED=true for it and start it anew\n"
    )


@needs_tmux
def test_receiving_makes_a_mailbox_that_is_ready(session: TmuxSession, server: Served) -> None:
    session.says("a1", "receive")

    with server.connect() as connection:
        (agent,) = connection.call("list_agents", project_key=str(session.home.code))["agents"]

    assert (agent["name"], agent["status"]) == ("a1", "ready")


def test_what_peers_write_does_not_steer_a_terminal(home: AgentMailHome) -> None:
    me = {"AGENTMAIL_NAME": "me"}
    with Served(home.store, AGENTMAIL_ENABLED="true"):
        home.run("receive", environ=me)
        number = sent(said(home.run("send", "me", "a\x1b[2Jb", environ={"AGENTMAIL_NAME": "you"})))
        controller, device = pty.openpty()
        done = subprocess.run(
            command("receive"),
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=device,
            cwd=home.code,
            env=home.environment(me),
        )
        os.close(device)
        shown = os.read(controller, 10_000).decode().replace("\r\n", "\n")
        os.close(controller)

    assert (shown, done.returncode) == (f"From: you\nID: {number}\n\na\\x1b[2Jb", 0)
