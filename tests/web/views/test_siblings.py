from __future__ import annotations

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import ProductId, ProjectId
from mcp_agent_mail.domain.products import Product
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.oversight.sibling_rules import SiblingSuggestion
from mcp_agent_mail.features.oversight.siblings import SiblingChoice, SiblingProduct
from mcp_agent_mail.web.views.siblings import SiblingView, sibling_view


def project(number: int, path: str) -> Project:
    return Project(id=ProjectId(number), slug=f"p{number}", human_key=path, created_ts=Micros(number), archived_ts=None)


def view(remote: str | None, folder: str | None) -> SiblingView:
    suggestion = SiblingSuggestion(first=project(1, "/code/shop"), second=project(2, "/"), remote=remote, folder=folder)
    product = Product(id=ProductId(7), uid="abcdef01", name="Store", created_ts=Micros(1))
    offered = SiblingProduct(product=product, projects=3)
    return sibling_view(SiblingChoice(suggestion=suggestion, products=[offered], name="shop"))


def test_both_projects_and_what_they_may_join() -> None:
    shown = view("example.org/shop", None)

    assert (shown.first, shown.second) == ((1, "p1", "shop", "/code/shop"), (2, "p2", "p2", "/"))
    assert (shown.products, shown.name) == ([("abcdef01", "Store", 3)], "shop")


@pytest.mark.parametrize(
    ("remote", "folder", "about"),
    [
        ("example.org/shop", None, ["example.org/shop"]),
        (None, "/", ["/"]),
        ("example.org/a", "/b", ["example.org/a", "/b"]),
    ],
)
def test_every_reason_is_a_sentence_and_what_it_is_about(
    remote: str | None, folder: str | None, about: list[str]
) -> None:
    reasons = view(remote, folder).reasons

    assert [what for _, what in reasons] == about
    assert all(words.startswith("Their ") and words.endswith(":") for words, _ in reasons)
