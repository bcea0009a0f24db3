"""Slices know of each other what each of them offers, and no more."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.architecture.slices import SliceRules, judge, list_crossings, read_rules
from tests.architecture.trees import PACKAGE, ROOT, add

_HOUSE = "mcp_agent_mail.features"
_RULES = SliceRules(
    kinds=frozenset({"service", "shapes"}),
    published={"identity.actor": "who acts"},
)


def test_the_repository_crosses_slices_only_where_it_may() -> None:
    assert judge(list_crossings(ROOT), read_rules(ROOT)) == []


def _tree(root: Path) -> Path:
    (root / PACKAGE).mkdir(parents=True)
    add(root, "features/identity/actor.py", "class Actor: ...")
    add(root, "features/identity/tools.py", "NAME = 1")
    add(root, "features/identity/schemas.py", "def show(): ...")
    add(root, "features/messaging/send.py", f"from {_HOUSE}.identity.actor import Actor")
    add(root, "features/identity/shapes.py", "def show(): ...")
    add(root, "features/macros/schemas.py", f"from {_HOUSE}.identity.shapes import show")
    return root


def test_what_every_slice_offers_and_what_is_published_may_be_imported(tmp_path: Path) -> None:
    assert judge(list_crossings(_tree(tmp_path)), _RULES) == []


@pytest.mark.parametrize(
    ("module", "line", "fault"),
    [
        ("messaging/tools.py", "from {0}.identity.tools import NAME", "messaging.tools -> identity.tools"),
        ("messaging/tools.py", "from {0}.identity import tools", "messaging.tools -> identity.tools"),
        ("messaging/tools.py", "import {0}.identity.tools", "messaging.tools -> identity.tools"),
        ("macros/tools.py", "from {0}.identity.schemas import show", "macros.tools -> identity.schemas"),
        ("products/schemas.py", "from {0}.identity.schemas import show", "products.schemas -> identity.schemas"),
        ("macros/tools.py", "def f():\n    from {0}.messaging.send import Actor", "macros.tools -> messaging.send"),
    ],
)
def test_an_import_of_anything_else_is_refused(module: str, line: str, fault: str, tmp_path: Path) -> None:
    root = _tree(tmp_path)
    add(root, f"features/{module}", line.format(_HOUSE))

    assert judge(list_crossings(root), _RULES) == [f"{fault}: no module for other slices"]


def test_what_is_let_and_not_needed_is_refused(tmp_path: Path) -> None:
    rules = replace(_RULES, published={**_RULES.published, "identity.windows": "it was needed once"})

    assert judge(list_crossings(_tree(tmp_path)), rules) == ["identity.windows: no longer needed"]


def test_what_is_let_without_a_reason_is_refused(tmp_path: Path) -> None:
    rules = replace(_RULES, published={"identity.actor": " "})

    assert judge(list_crossings(_tree(tmp_path)), rules) == ["identity.actor: no reason is given"]


def test_tools_and_schemas_cannot_be_published(tmp_path: Path) -> None:
    root = _tree(tmp_path)
    add(root, "features/messaging/tools.py", f"from {_HOUSE}.identity.tools import NAME")
    published = {**_RULES.published, "identity.tools": "it is handy"}

    assert judge(list_crossings(root), replace(_RULES, published=published)) == [
        "identity.tools: no other slice's to import"
    ]
