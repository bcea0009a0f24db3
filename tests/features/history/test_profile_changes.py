from __future__ import annotations

import shutil

import pytest

from mcp_agent_mail.archive.reading.bounded_reader import ArchiveNotFound
from mcp_agent_mail.domain.agents import ContactPolicy
from mcp_agent_mail.features.history.profile_changes import read_profile_changes
from mcp_agent_mail.features.history.results import AgentHistory
from mcp_agent_mail.store.transaction import View
from tests.archive_harness import git
from tests.features.history.past_store import APP, PastStore


def history_of(view: View, past: PastStore, limit: int = 200) -> AgentHistory:
    agent, project = past.agent(view, "RedStone")
    return read_profile_changes(view, agent, project, past.root, limit)


def told(history: AgentHistory) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.event.value, one.changed) for one in history.changes]


WHOLE = [
    ("returned", ("retired_ts", "retired_by_operator")),
    ("retired", ("retired_ts", "retired_by_operator")),
    ("changed", ("contact_policy",)),
    ("joined", ()),
]


def test_each_change_of_a_profile_is_told_with_its_time_and_its_commit(view: View, past: PastStore) -> None:
    history = history_of(view, past)

    assert told(history) == WHOLE
    assert [one.ts for one in history.changes] == [past.at[name] for name in ("returned", "retired", "opened", "begun")]
    assert [one.profile and one.profile.contact_policy for one in history.changes][2:] == [
        ContactPolicy.OPEN,
        ContactPolicy.AUTO,
    ]
    listed = git(past.archive_of(APP), "log", "--format=%H", "main", "--", "agents/RedStone/profile.json").split()
    assert [one.hexsha for one in history.changes] == listed


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5])
def test_a_shorter_history_is_the_beginning_of_the_whole(view: View, past: PastStore, limit: int) -> None:
    assert told(history_of(view, past, limit)) == WHOLE[:limit]


def test_what_git_has_yet_to_get_comes_first_and_names_no_commit(own_past: PastStore) -> None:
    own_past.execute("UPDATE agents SET model = 'haiku', profiled_ts = profiled_ts + 1 WHERE name = 'RedStone'")

    with own_past.view() as view:
        newest = history_of(view, own_past).changes[0]

    assert (newest.event.value, newest.changed, newest.hexsha) == ("changed", ("model",), None)


def test_a_profile_that_somebody_spoilt_is_told_and_what_it_was_before_still_compared(own_past: PastStore) -> None:
    archive = own_past.archive_of(APP)
    profile = archive / "agents/RedStone/profile.json"
    good = profile.read_text()
    for number, text in enumerate(("{}", good)):
        profile.unlink()
        profile.write_text(text)
        git(archive, "add", "agents/RedStone/profile.json")
        git(archive, "commit", "--quiet", "-m", f"by hand {number}")

    with own_past.view() as view:
        history = history_of(view, own_past)

    assert told(history) == [("changed", ()), ("unreadable", ()), *WHOLE]


def test_without_its_archive_an_agents_past_is_refused(own_past: PastStore) -> None:
    shutil.rmtree(own_past.archive_of(APP))

    with own_past.view() as view, pytest.raises(ArchiveNotFound) as refused:
        history_of(view, own_past)

    assert (refused.value.code, bool(refused.value.hint)) == ("NOT_FOUND", True)
