from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import LeaseId
from mcp_agent_mail.domain.identity.names import HUMAN
from mcp_agent_mail.domain.leases import EndedBy
from mcp_agent_mail.domain.staleness import (
    NEVER,
    UNKNOWN,
    Evidence,
    Missing,
    Sighting,
    StalenessRules,
    WorkspaceActivity,
    judge,
)
from mcp_agent_mail.web.views.reservations import MOST_DEPTH, LeaseView, PathNode, lease_state, path_tree
from tests.domain.leases_made import make_lease


def row(number: int, path: str) -> LeaseView:
    return LeaseView(
        id=LeaseId(number),
        agent="BlueLake",
        path_pattern=path,
        exclusive=True,
        reason="",
        branch="",
        created_ts=Micros(0),
        expires_ts=Micros(1),
        ended_ts=None,
        state="live",
        is_abandoned=False,
        reasons=(),
        evidence=(),
        fencing=1,
    )


def drawn(nodes: list[PathNode]) -> list[object]:
    return [(node.label, [one.id for one in node.leases], drawn(list(node.nodes))) for node in nodes]


def test_paths_are_a_tree_in_which_a_lone_folder_stands_in_one_line_with_what_is_in_it() -> None:
    tree = path_tree([row(1, "src/web/pages/a.py"), row(2, "src/web/pages/b.py"), row(3, "src/web"), row(4, "docs/**")])

    assert drawn(tree) == [
        ("docs/**", [4], []),
        ("src/web", [3], [("pages", [], [("a.py", [1], []), ("b.py", [2], [])])]),
    ]


def test_a_path_that_is_too_deep_ends_in_one_node() -> None:
    deep = "/".join("abcdefghijklmnopqrstuvwxyz")

    (node,) = path_tree([row(1, deep), row(2, "a")])

    assert node.leases[0].id == 2
    (below,) = node.nodes
    assert below.label == deep.removeprefix("a/")
    assert below.label.count("/") > MOST_DEPTH


@pytest.mark.parametrize(
    ("now", "ended_by", "state"), [(0, None, "live"), (1 << 60, None, "expired"), (0, EndedBy.FORCE, "force")]
)
def test_a_reservation_is_live_expired_or_ended_in_its_way(now: int, ended_by: EndedBy | None, state: str) -> None:
    lease = make_lease("a.py")
    ended = replace(lease, ended_by=ended_by, released_ts=None if ended_by is None else Micros(1))

    assert lease_state(ended, Micros(now)) == state


RULES = StalenessRules(inactivity_s=1_800, grace_s=900)
NOW, LATELY, LONG_AGO = Micros(10_000 * SECOND), Micros(9_999 * SECOND), Micros(1 * SECOND)
OF_WORK = {Missing.AGENT_ACTIVE, Missing.MAIL_RECENT, Missing.FILES_RECENT, Missing.GIT_RECENT}


def test_each_reason_of_a_judgement_has_words_and_a_release_is_refused_while_one_tells_of_work() -> None:
    seen = [Sighting(last_ts=LATELY), Sighting(last_ts=LONG_AGO), NEVER, UNKNOWN]
    for agent_ts, mail_ts, files, commits, is_matched in product(
        (LATELY, LONG_AGO), (LATELY, LONG_AGO, None), seen, seen, (True, False)
    ):
        workspace = WorkspaceActivity(filesystem=files, git=commits, is_matched=is_matched)
        found = Evidence(agent_ts=agent_ts, watched_since=LONG_AGO, mail_ts=mail_ts, workspace=workspace)
        judgement = judge(found, RULES, NOW)
        shown = replace(row(1, "a"), reasons=judgement.reasons)

        assert len(shown.told) == len(judgement.reasons)
        assert all(one.endswith(".") and "_" not in one and "{" not in one for one in shown.told)
        assert shown.is_in_use is not OF_WORK.isdisjoint(judgement.missing)


def test_what_tells_of_work_is_said_first_and_a_person_is_never_idle() -> None:
    found = replace(row(1, "a"), reasons=("agent_inactive>1800s", "mail_activity_recent"))

    assert found.told == ["Its holder sent or read mail lately.", "Its holder made no call for 30 minutes."]
    assert not row(1, "a").is_in_use
    assert replace(row(1, "a"), agent=HUMAN).is_in_use
