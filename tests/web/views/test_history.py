from __future__ import annotations

from mcp_agent_mail.archive.history import HistoryEntry
from mcp_agent_mail.archive.reading.browser import CommitChange, ListedPath, ShownFile, ShownFolder
from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.features.history.results import PastDays
from mcp_agent_mail.store.mail.past_mail import MailPair
from mcp_agent_mail.web.views import history
from mcp_agent_mail.web.views.history import charts, day_rows, diff_view, file_text, folder_links, network_graph

_ENTRY = HistoryEntry(hexsha="a" * 40, authored_ts=Micros(0), author="x", summary="x", agents=(), last_seq=None)
_DIFF = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n+two\n same"


def _change(diff: str) -> CommitChange:
    return CommitChange(entry=_ENTRY, told="x", parents=(), diff=diff)


def test_lines_of_a_change_are_told_apart_and_a_head_is_no_change() -> None:
    view = diff_view(_change(_DIFF))

    assert [(part.kind, part.text) for part in view.parts] == [
        ("file", "diff --git a/x b/x\n--- a/x\n+++ b/x"),
        ("place", "@@ -1 +1 @@"),
        ("removed", "-one"),
        ("added", "+two"),
        ("same", " same"),
    ]
    assert view.is_whole


def test_a_change_of_many_lines_is_cut() -> None:
    view = diff_view(_change("+x\n" * (history.MOST_DIFF_LINES + 1)))

    assert not view.is_whole
    assert sum(part.text.count("+x") for part in view.parts) == history.MOST_DIFF_LINES


def test_a_name_that_no_address_can_hold_has_no_link() -> None:
    listed = tuple(ListedPath(name=name, is_folder=False, size_bytes=1) for name in ("a&b=#?", "\udcff"))

    plain, strange = folder_links("app", ShownFolder(path="messages", listed=listed, has_more=False))

    assert plain.href == "/mail/archive/browser?project=app&path=messages%2Fa%26b%3D%23%3F"
    assert strange.href is None


def test_bytes_are_no_text() -> None:
    assert file_text(ShownFile(path="x", size_bytes=3, content=b"a\0b")) is None
    assert file_text(ShownFile(path="x", size_bytes=3, content=None)) is None
    assert file_text(ShownFile(path="x", size_bytes=3, content="é\n".encode())) == "é\n"


def test_the_highest_day_fills_the_chart_and_an_empty_one_has_no_bar() -> None:
    days = PastDays(first_day=0, messages=(0, 100, 1), commits=(0, 0, 0))

    messages, commits = charts(days)

    assert [bar.height for bar in messages.bars] == [0, messages.height - 4, 2]
    assert messages.bars[1].said == "1970-01-02: 100 messages"
    assert (messages.latest, messages.total, messages.most) == (1, 101, 100)
    assert [bar.height for bar in commits.bars] == [0, 0, 0]
    assert [row.day for row in day_rows(days)] == ["1970-01-03", "1970-01-02"]


def _pair(sender: str, recipient: str, messages: int) -> MailPair:
    return MailPair(sender, "app", recipient, "app", messages, MessageId(1))


def test_both_directions_are_one_line_as_wide_as_both() -> None:
    graph = network_graph([_pair("A", "B", 90), _pair("B", "A", 10), _pair("A", "A", 7)], "app")

    assert [(one.source, one.target, one.weight, one.said) for one in graph.lines] == [("A", "B", 100, "A and B: 100")]
    assert {one.href for one in graph.agents} == {"/mail/app/agents/A", "/mail/app/agents/B"}


def test_agents_of_other_projects_are_called_with_theirs_and_lead_there() -> None:
    graph = network_graph([MailPair("A", "app", "A", "bills", 1, MessageId(1))], "app")

    assert {(one.label, one.name, one.href) for one in graph.agents} == {
        ("A", "A", "/mail/app/agents/A"),
        ("A@bills", "A", "/mail/bills/agents/A"),
    }
