"""`agentmail cleanup`: what it prints and counts, and that no mail goes."""

from __future__ import annotations

import pytest

from tests.cli.agentmail.test_commands import given, sent
from tests.cli.agentmail.tmux_session import AgentMailHome, TmuxSession, needs_tmux
from tests.served import Served

WARNING = "Warning: not running in tmux session, skipping offline recipient check\n"


def _complete(offline: int, stale: int, messages: int, mailboxes: int) -> str:
    return (
        f"Cleanup complete:\n  Recipients removed: {offline + stale} ({offline} offline, {stale} stale)\n"
        f"  Messages removed: {messages}\n  Mailboxes removed: {mailboxes}\n"
    )


def _preview(offline: int, stale: int, messages: int, mailboxes: int) -> str:
    return (
        f"Cleanup preview (dry-run):\n  Recipients to remove: {offline + stale} ({offline} offline, {stale} stale)\n"
        f"  Messages to remove: {messages}\n  Mailboxes to remove: {mailboxes}\n"
    )


@needs_tmux
def test_windows_that_are_gone_retire_and_read_mail_is_counted_once(session: TmuxSession, server: Served) -> None:
    for body in ("one", "two"):
        session.says("a1", "send", "a2", body)
        session.says("a2", "receive")
    unread = sent(session.says("a2", "send", "a3", "not yet"))
    session.tmux("kill-window", "-t", session.panes.pop("a2"))
    session.tmux("kill-window", "-t", session.panes.pop("a3"))

    young = session.says("a1", "cleanup", "--dry-run")
    preview = session.says("a1", "cleanup", "--delivered-hours", "0", "--dry-run")
    done = session.says("a1", "cleanup", "--delivered-hours=0")
    again = session.says("a1", "cleanup", "--delivered-hours", "0")
    with server.connect() as connection:
        agents = connection.call("list_agents", project_key=str(session.home.code))["agents"]
        found = connection.call("search_messages", project_key=str(session.home.code), query="one OR two")
    for name in ("a2", "a3"):
        session.open(name)
    number = sent(session.says("a1", "send", "a2", "back"))

    assert young == (_preview(1, 0, 0, 0), "", 0)
    assert preview == (_preview(1, 0, 2, 1), "", 0)
    assert done == (_complete(1, 0, 2, 1), "", 0)
    assert again == (_complete(0, 0, 0, 0), "", 0)
    assert {agent["name"] for agent in agents} == {"a1", "a3"}
    assert len(found["result"] if isinstance(found, dict) else found) == 2
    assert session.says("a3", "receive") == given("a2", unread, "not yet")
    assert session.says("a2", "receive") == given("a1", number, "back")


def test_outside_tmux_nobody_counts_as_gone(home: AgentMailHome, server: Served) -> None:
    assert server.port
    home.run("status", "ready", environ={"AGENTMAIL_NAME": "out"})

    done = home.run("cleanup")
    stale = home.run("cleanup", "--stale-hours", "0", "--dry-run")

    assert (done.stdout, done.stderr, done.returncode) == (_complete(0, 0, 0, 0), WARNING, 0)
    assert (stale.stdout, stale.stderr, stale.returncode) == (_preview(0, 1, 0, 0), WARNING, 0)


@pytest.mark.parametrize("hours", ["-1", "x", "1.5", "9999999"])
def test_hours_are_whole_and_bounded(hours: str, home: AgentMailHome) -> None:
    done = home.run("cleanup", f"--stale-hours={hours}")

    assert done.stderr == f'error: invalid value "{hours}" for flag -stale-hours\n'
    assert done.returncode == 1
