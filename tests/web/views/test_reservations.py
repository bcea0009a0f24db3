from __future__ import annotations

from dataclasses import replace

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import LeaseId
from mcp_agent_mail.domain.leases import EndedBy
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
