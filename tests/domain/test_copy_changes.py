"""What a change concerns, by the rules alone."""

from __future__ import annotations

from mcp_agent_mail.core.ids import AgentId, MessageId, ProjectId
from mcp_agent_mail.domain.copy_changes import (
    ChangeReaders,
    CopyChange,
    News,
    Watched,
    WatchedKey,
    WatchedKind,
    audience_of,
    keys_of,
    news_of,
    wider,
)

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


def audience(told: Watched, *changes: CopyChange) -> ChangeReaders | None:
    return audience_of(news_of(told.key, changes), told)


def test_a_blind_copy_concerns_its_own_recipient_alone_and_nobody_who_reads_the_same() -> None:
    blind = change(agent=RED, is_open=False)

    assert audience(INBOX, blind) is ChangeReaders.ALL
    assert [audience(message(reader), blind) for reader in (RED, BLUE, None)] == [ChangeReaders.READER, None, None]
    assert audience(PLAN, blind) is None


def test_an_open_copy_concerns_whoever_reads_the_message_beside_a_blind_one_too() -> None:
    changes = [change(agent=RED, is_open=False), change(agent=BLUE)]

    assert [audience(message(reader), *changes) for reader in (RED, BLUE, None)] == [ChangeReaders.ALL] * 3


def test_mail_of_another_project_does_not_concern_a_thread_of_the_same_name() -> None:
    assert audience(PLAN, change(project=HERE)) is ChangeReaders.ALL
    assert audience(PLAN, change(project=THERE)) is None


def test_whether_a_copy_belongs_to_the_threads_project_is_the_stores_to_know() -> None:
    news = news_of(PLAN.key, [change(agent=RED), change(agent=BLUE, is_open=False), change(project=THERE)])

    assert news == News(projects=frozenset({THERE}), messages=frozenset({MessageId(7)}))


def test_of_two_changes_the_one_counts_that_more_may_know_of() -> None:
    both = [ChangeReaders.ALL, ChangeReaders.READER]

    assert [wider(before, after) for before in (None, *both) for after in both] == [
        *both,
        ChangeReaders.ALL,
        ChangeReaders.ALL,
        ChangeReaders.ALL,
        ChangeReaders.READER,
    ]
