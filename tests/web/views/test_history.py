from __future__ import annotations

from mcp_agent_mail.archive.history import HistoryEntry
from mcp_agent_mail.archive.reading.browser import ChangedFile, CommitChange, ListedPath, ShownFile, ShownFolder
from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.features.history.results import PastDays
from mcp_agent_mail.store.mail.past_mail import MailPair
from mcp_agent_mail.web.views import history
from mcp_agent_mail.web.views.history import (
    charts,
    day_rows,
    diff_view,
    file_text,
    folder_links,
    folder_rest,
    network_graph,
)

_ENTRY = HistoryEntry(hexsha="a" * 40, authored_ts=Micros(0), author="x", summary="x", agents=(), last_seq=None)
_DIFF = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n+two\n same"


def _change_of(diff: str, *files: ChangedFile) -> CommitChange:
    return CommitChange(entry=_ENTRY, told="x", parents=(), files=files, diff=diff)


def _file(path: str, added: int | None = 1, removed: int | None = 1) -> ChangedFile:
    return ChangedFile(path=path, added=added, removed=removed)


def _section(path: str, lines: int) -> str:
    return f"diff --git a/{path} b/{path}\n@@ -0,0 +1,{lines} @@\n" + "+x\n" * lines


def test_lines_of_a_change_are_told_apart_and_a_head_is_no_change() -> None:
    view = diff_view(_change_of(_DIFF, _file("x")))

    (file,) = view.files
    assert [(part.kind, part.text) for part in file.parts] == [
        ("place", "@@ -1 +1 @@"),
        ("removed", "-one"),
        ("added", "+two"),
        ("same", " same"),
    ]
    assert (file.path, file.added, file.removed, file.is_open) == ("x", 1, 1, True)
    assert view.is_whole


def test_each_file_has_its_own_lines_whatever_its_name_is() -> None:
    names = ["a b/c d", "b/x b/b", 'quo"te', "tab\there", "back\\slash", "é"]
    told = {'quo"te': '"%squo\\"te"', "tab\there": '"%stab\\there"', "back\\slash": '"%sback\\\\slash"'}
    heads = [f"diff --git {told.get(one, '%s' + one) % 'a/'} {told.get(one, '%s' + one) % 'b/'}" for one in names]
    diff = "".join(f"{head}\n@@ -1 +1 @@\n-{number}\n" for number, head in enumerate(heads))

    view = diff_view(_change_of(diff, *(_file(name) for name in names)))

    assert [one.path for one in view.files] == names
    assert [f"-{number}" in [part.text.strip() for part in one.parts] for number, one in enumerate(view.files)] == (
        [True] * len(names)
    )


def test_a_line_that_looks_like_a_head_is_a_line_of_its_file() -> None:
    view = diff_view(_change_of("diff --git a/x b/x\n@@ -1 +1 @@\n+diff --git a/y b/y\n", _file("x")))

    assert [one.path for one in view.files] == ["x"]


def test_a_file_is_unfolded_where_it_is_the_only_one() -> None:
    one = diff_view(_change_of(_section("a", 3)))
    two = diff_view(_change_of(_section("a", 3) + _section("b", 7)))

    assert [file.is_open for file in one.files] == [True]
    assert [file.is_open for file in two.files] == [False, False]
    assert [(file.added, file.removed) for file in two.files] == [(3, 0), (7, 0)]


def test_what_the_name_of_a_file_says_is_not_said_again() -> None:
    told = (
        "diff --git a/x b/x\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+--- a\n+index 1"
    )
    (file,) = diff_view(_change_of(told, _file("x"))).files

    assert [(part.kind, part.text) for part in file.parts] == [
        ("file", "new file mode 100644"),
        ("place", "@@ -0,0 +1 @@"),
        ("added", "+--- a\n+index 1"),
    ]


def test_a_change_of_many_lines_is_cut_and_files_beyond_are_named_alone() -> None:
    view = diff_view(_change_of(_section("a", history.MOST_DIFF_LINES), _file("a", 9_000), _file("z", None, None)))

    first, last = view.files
    assert not view.is_whole
    assert sum(part.text.count("+x") for part in first.parts) == history.MOST_DIFF_LINES - 2
    assert first.added == 9_000
    assert (last.path, last.added, last.parts, last.is_open) == ("z", None, [], False)


def test_a_file_that_became_a_link_has_both_of_its_pieces() -> None:
    view = diff_view(_change_of(_DIFF + "\ndiff --git a/x b/x\nnew file mode 120000\n@@ -0,0 +1 @@\n+y", _file("x")))

    (file,) = view.files
    assert [part.text for part in file.parts if part.kind == "added"] == ["+two", "+y"]


def test_a_name_that_no_address_can_hold_has_no_link() -> None:
    listed = tuple(ListedPath(name=name, is_folder=False, size_bytes=1) for name in ("a&b=#?", "\udcff"))

    plain, strange = folder_links("app", ShownFolder(path="messages", listed=listed, has_more=False))

    assert plain.href == "/mail/archive/browser?project=app&path=messages%2Fa%26b%3D%23%3F"
    assert strange.href is None


def test_a_folder_goes_on_behind_what_was_listed() -> None:
    listed = (ListedPath(name="a", is_folder=False, size_bytes=1),)

    more = folder_rest("app", ShownFolder(path="a/b", listed=listed, has_more=True, skipped=1_000))

    assert more == "/mail/archive/browser?project=app&path=a%2Fb&skip=1001"
    assert folder_rest("app", ShownFolder(path="a/b", listed=listed, has_more=False)) is None


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
