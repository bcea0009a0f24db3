from __future__ import annotations

import pytest

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.projects import UnknownProject
from mcp_agent_mail.features.history.message_events import read_message_events
from mcp_agent_mail.features.history.results import MessageEvent
from mcp_agent_mail.features.history.shapes import show_message_history
from mcp_agent_mail.features.messaging.visibility import UnknownMessage
from mcp_agent_mail.store.transaction import View
from tests.archive_harness import git
from tests.features.history.past_store import APP, LIB, PastStore

Told = list[tuple[str, str | None, str]]


def told_of(view: View, past: PastStore, name: str, *, seen_from: str | None = None) -> Told:
    """Event, agent and moment of each event, in order."""
    shown = show_message_history(read_message_events(view, MessageId(past.ids[name]), seen_from, 200))
    moments = {past.iso(moment): moment for moment in past.at}
    return [(one["event"], one["agent"], moments[one["ts"]]) for one in shown["events"]]


def test_a_message_is_told_from_its_sending_to_its_purge(view: View, past: PastStore) -> None:
    assert told_of(view, past, "plan") == [
        ("sent", "BlueLake", "sent"),
        ("delivered", "RedStone", "sent"),
        ("delivered", "Human", "sent"),
        ("read", "RedStone", "read"),
        ("read", "Human", "read"),
        ("acknowledged", "Human", "read"),
        ("acknowledged", "RedStone", "answered"),
        ("purged", None, "purged"),
    ]


def test_a_held_copy_is_delivered_later_or_refused(view: View, past: PastStore) -> None:
    green = f"GreenField@{past.archive_of(LIB).name}"

    assert told_of(view, past, "held") == [
        ("sent", "BlueLake", "sent"),
        ("held", "ShyOwl", "sent"),
        ("held", green, "sent"),
        ("delivered", "RedStone", "sent"),
        ("delivered", "ShyOwl", "answered"),
        ("delivered", green, "answered"),
    ]
    assert told_of(view, past, "refused") == [
        ("sent", "BlueLake", "sent"),
        ("held", "GrayFox", "sent"),
        ("refused", "GrayFox", "answered"),
    ]


@pytest.mark.parametrize("name", ["plan", "held", "refused", "late"])
def test_each_event_names_a_commit_that_has_it(view: View, past: PastStore, name: str) -> None:
    history = read_message_events(view, MessageId(past.ids[name]), None, 200)

    by_commit: dict[str, set[int]] = {}
    for one in history.events:
        assert one.hexsha is not None
        assert one.archive is not None
        by_commit.setdefault(one.hexsha, set()).add(one.ts)
        paths = git(past.root / "projects" / one.archive, "show", "--format=", "--name-only", one.hexsha).split()
        is_receipt = one.event in (MessageEvent.READ, MessageEvent.ACKNOWLEDGED)
        assert any("receipts/" in path if is_receipt else path.endswith(f"__{past.ids[name]}.md") for path in paths)
    # Each moment of this past is a commit of its own.
    assert [len(times) for times in by_commit.values()] == [1] * len(by_commit)


def test_what_git_has_yet_to_get_names_no_commit(own_past: PastStore) -> None:
    own_past.execute("UPDATE outbox SET commit_id = NULL, snapshot = '{}' WHERE kind = 'receipt'")

    with own_past.view() as view:
        history = read_message_events(view, MessageId(own_past.ids["plan"]), None, 200)

    assert [
        (one.event.value, one.hexsha is None, one.archive is None) for one in history.events if one.hexsha is None
    ] == [
        ("read", True, True),
        ("read", True, True),
        ("acknowledged", True, True),
        ("acknowledged", True, True),
    ]


def test_no_more_events_are_told_than_were_asked_for(view: View, past: PastStore) -> None:
    history = read_message_events(view, MessageId(past.ids["plan"]), None, 2)

    assert ([one.event.value for one in history.events], history.total) == (["sent", "delivered"], 8)


def test_the_other_projects_view_calls_its_own_agent_by_its_bare_name(view: View, past: PastStore) -> None:
    told = told_of(view, past, "held", seen_from=LIB)

    assert [agent for _, agent, _ in told] == [
        f"BlueLake@{past.archive_of(APP).name}",
        f"ShyOwl@{past.archive_of(APP).name}",
        "GreenField",
        f"RedStone@{past.archive_of(APP).name}",
        f"ShyOwl@{past.archive_of(APP).name}",
        "GreenField",
    ]


@pytest.mark.parametrize(
    ("message", "project", "refusal"),
    [(999, None, UnknownMessage), (1, LIB, UnknownMessage), (1, "/code/nowhere", UnknownProject)],
)
def test_what_is_not_there_is_refused_with_the_next_step(
    view: View, message: int, project: str | None, refusal: type[AgentMailError]
) -> None:
    with pytest.raises(refusal) as refused:
        read_message_events(view, MessageId(message), project, 200)

    assert refused.value.hint
