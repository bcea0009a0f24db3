from __future__ import annotations

import pytest

from mcp_agent_mail.domain.patterns.syntax import OutsideProject, UnreadablePattern
from mcp_agent_mail.features.history.file_leases import read_leases_of_file
from mcp_agent_mail.features.history.shapes import show_held_lease
from mcp_agent_mail.store.transaction import View
from tests.features.history.past_store import APP, PastStore


def holders(view: View, path: str, limit: int = 10) -> list[tuple[str, str]]:
    project = view.projects.find_by_human_key(APP)
    assert project is not None
    found = read_leases_of_file(view, project, path, limit)
    return [(one.lease.agent, one.lease.path_pattern) for one in found]


BOTH = [("RedStone", "src/app.py"), ("BlueLake", "src/**")]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("src/app.py", BOTH),
        ("./src//app.py", BOTH),
        (f"{APP}/src/app.py", BOTH),
        ("src/other.py", BOTH[1:]),
        ("src/", [("GrayFox", "src/late.py"), *BOTH]),
        ("docs/a.md", [("BlueLake", "docs/a.md")]),
        ("docs/b.md", []),
        ("app/[id]/page.tsx", [("GrayFox", "app/[id]/page.tsx")]),
        ("app/i/page.tsx", [("GrayFox", "app/[id]/page.tsx")]),
        ("app/[i]/page.tsx", []),
        ("tool://deploy", [("GrayFox", "tool://deploy")]),
    ],
)
def test_those_who_held_a_path_are_told_newest_first(view: View, path: str, found: list[tuple[str, str]]) -> None:
    assert holders(view, path) == found


def test_no_more_than_were_asked_for(view: View) -> None:
    assert holders(view, "src/app.py", limit=1) == BOTH[:1]


@pytest.mark.parametrize("path", ["", "/elsewhere/app.py", "../app.py"])
def test_what_is_no_path_of_the_project_is_refused(view: View, path: str) -> None:
    with pytest.raises((UnreadablePattern, OutsideProject)):
        holders(view, path)


def test_how_a_lease_ended_is_told_and_of_a_live_one_when_its_holder_called(view: View, past: PastStore) -> None:
    project = view.projects.find_by_human_key(APP)
    assert project is not None
    view.now = past.at["purged"]

    live, ended = map(show_held_lease, read_leases_of_file(view, project, "src/late.py", 10))

    assert (live["live"], live["ended_by"], live["released_ts"]) == (True, None, None)
    assert (ended["live"], ended["ended_by"], ended["released_ts"]) == (False, "release", past.iso("opened"))
    assert live["last_agent_activity_ts"] is not None
    assert ended["last_agent_activity_ts"] is None
    assert (live["reason"], ended["reason"]) == ("three", "one")
