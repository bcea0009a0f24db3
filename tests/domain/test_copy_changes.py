"""What a change concerns, by the rules alone."""

from __future__ import annotations

from mcp_agent_mail.core.ids import AgentId, MessageId, ProjectId
from mcp_agent_mail.domain.copy_changes import CopyChange, Watched, WatchedKey, WatchedKind, concerns, keys_of

RED, BLUE = AgentId(1), AgentId(2)
HERE, THERE = ProjectId(10), ProjectId(11)
INBOX = Watched(key=WatchedKey(WatchedKind.MAILBOX, RED))
PLAN = Watched(key=WatchedKey(WatchedKind.THREAD, "plan"), project_id=HERE)


def change(
    *, agent: AgentId | None = None, project: ProjectId | None = None, is_open: bool = True, thread: str | None = "plan"
) -> CopyChange:
    return CopyChange(message_id=MessageId(7), thread_id=thread, agent_id=agent, project_id=project, is_open=is_open)


def message(reader: AgentId | None) -> Watched:
    return Watched(key=WatchedKey(WatchedKind.MESSAGE, 7), reader=reader)


def test_a_change_is_found_by_its_message_its_thread_its_inbox_and_the_thread_that_it_is_the_root_of() -> None:
    assert set(keys_of(change(agent=RED))) == {
        WatchedKey(WatchedKind.MESSAGE, 7),
        WatchedKey(WatchedKind.THREAD, "7"),
        WatchedKey(WatchedKind.THREAD, "plan"),
        WatchedKey(WatchedKind.MAILBOX, RED),
    }
    assert set(keys_of(change(thread=None))) == {
        WatchedKey(WatchedKind.MESSAGE, 7),
        WatchedKey(WatchedKind.THREAD, "7"),
    }


def test_a_blind_copy_concerns_its_own_recipient_alone() -> None:
    blind = change(agent=RED, is_open=False)

    assert concerns(blind, INBOX) is True
    assert [concerns(blind, message(reader)) for reader in (RED, BLUE, None)] == [True, False, False]
    assert concerns(blind, PLAN) is False


def test_an_open_copy_concerns_whoever_reads_the_message() -> None:
    assert [concerns(change(agent=RED), message(reader)) for reader in (RED, BLUE, None)] == [True] * 3


def test_mail_of_another_project_does_not_concern_a_thread_of_the_same_name() -> None:
    assert concerns(change(project=HERE), PLAN) is True
    assert concerns(change(project=THERE), PLAN) is False


def test_whether_a_copy_belongs_to_the_threads_project_is_the_stores_to_know() -> None:
    assert concerns(change(agent=RED), PLAN) is None
