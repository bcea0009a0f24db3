from __future__ import annotations

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import ProductId, ProjectId
from mcp_agent_mail.domain.projects import Project, ProjectPair, pair_of
from mcp_agent_mail.features.oversight.sibling_rules import MOST_SUGGESTED, common_name, is_like, suggest_siblings

REMOTE = "example.org/team/shop"


def project(number: int, path: str) -> Project:
    return Project(id=ProjectId(number), slug=f"p{number}", human_key=path, created_ts=Micros(number), archived_ts=None)


def pairs(
    *paths: str,
    remotes: dict[int, str] | None = None,
    products: tuple[tuple[int, int], ...] = (),
    dismissed: tuple[tuple[int, int], ...] = (),
) -> list[ProjectPair]:
    found = suggest_siblings(
        [project(number, path) for number, path in enumerate(paths, 1)],
        remotes={ProjectId(number): remote for number, remote in (remotes or {}).items()},
        products=[(ProductId(product), ProjectId(number)) for product, number in products],
        dismissed={pair_of(ProjectId(one), ProjectId(other)) for one, other in dismissed},
    )
    return [(one.first.id, one.second.id) for one in found]


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("shop", "shop2"),
        ("shop", "shop-frontend"),
        ("shop-web", "shop-api"),
        ("web_shop", "api_shop"),
        ("Shop", "shops"),
    ],
)
def test_names_that_are_alike(name: str, other: str) -> None:
    assert is_like(name, other)
    assert is_like(other, name)


@pytest.mark.parametrize(
    ("name", "other"), [("shop", "bills"), ("api", "app"), ("demo", "memo"), ("", "shop"), ("-", "_")]
)
def test_names_that_are_not(name: str, other: str) -> None:
    assert not is_like(name, other)


@pytest.mark.parametrize(
    ("name", "other", "common"),
    [
        ("shop-web", "shop-api", "shop"),
        ("Big_Shop.web", "big-shop-api", "Big_Shop"),
        ("web_shop", "api_shop", "shop"),
        ("shop", "shop-frontend", "shop"),
        ("a-web", "a-api", "a-web"),
        ("shop", "shops", "shop"),
        ("-", "_", "-"),
        ("", "shop", ""),
    ],
)
def test_what_is_common_to_two_names(name: str, other: str, common: str) -> None:
    assert common_name(name, other) == common


def test_a_remote_and_a_folder_are_reasons() -> None:
    found = suggest_siblings(
        [project(2, "/src/shop-web"), project(1, "/src/shop-api"), project(3, "/home/me/shop")],
        remotes={ProjectId(1): REMOTE, ProjectId(3): REMOTE},
        products=(),
        dismissed=(),
    )

    assert [(one.first.id, one.second.id, one.remote, one.folder) for one in found] == [
        (1, 3, REMOTE, None),
        (1, 2, None, "/src"),
    ]


def test_the_same_name_in_another_folder_and_other_names_in_one_are_no_reason() -> None:
    assert pairs("/a/shop", "/b/shop", "/a/bills") == []


def test_one_pair_may_have_both_reasons() -> None:
    (found,) = suggest_siblings(
        [project(1, "/shop"), project(2, "/shop2")],
        remotes={ProjectId(1): REMOTE, ProjectId(2): REMOTE},
        products=(),
        dismissed=(),
    )

    assert (found.remote, found.folder) == (REMOTE, "/")


def test_of_many_that_belong_together_no_more_pairs_are_suggested_than_join_them() -> None:
    assert pairs("/a/shop", "/a/shop2", "/a/shop3", "/a/shop4") == [(1, 2), (1, 3), (1, 4)]


def test_what_is_of_one_product_is_not_suggested() -> None:
    assert pairs("/a/shop", "/a/shop2", "/a/shop3", products=((7, 1), (7, 2))) == [(1, 3)]
    assert pairs("/a/shop", "/a/shop2", products=((7, 1), (8, 2))) == [(1, 2)]


def test_a_dismissed_pair_is_not_suggested_and_others_are() -> None:
    assert pairs("/a/shop", "/a/shop2", "/a/shop3", dismissed=((2, 1),)) == [(1, 3), (2, 3)]


def test_what_was_said_of_one_project_of_a_product_holds_for_all_of_them() -> None:
    assert pairs("/a/shop", "/a/shop2", "/a/shop3", products=((7, 1), (7, 2)), dismissed=((1, 3),)) == []


def test_there_are_only_so_many_suggestions_and_remotes_come_first() -> None:
    paths = [f"/a/shop{number}" for number in range(200)] + ["/x/one", "/y/two"]

    found = pairs(*paths, remotes={201: REMOTE, 202: REMOTE})

    assert len(found) == MOST_SUGGESTED
    assert found[0] == (201, 202)
