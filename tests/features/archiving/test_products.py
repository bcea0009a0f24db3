"""Products in the archives of their projects: written once, verified, written again when an archive is lost."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.domain.archive_format.products import product_snapshot
from mcp_agent_mail.domain.events import EventKind
from mcp_agent_mail.domain.products import Product, ProductLink
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.renew import _queue_anew
from tests.archive_room import ArchiveRoom, git, open_archive_room

UID = "0123456789abcdef"


@dataclass
class Linked:
    room: ArchiveRoom
    app: Project
    lib: Project

    def product(self, uid: str, name: str) -> Product:
        with self.room.together():
            return self.room.tx.products.add(uid=uid, name=name, now=self.room.clock())

    def link(self, product: Product, project: Project) -> None:
        now = self.room.clock()
        link = ProductLink(product=product, project_id=project.id, linked_ts=now)
        with self.room.together():
            self.room.tx.products.link(product, project.id, now)
        self.room._event(project, EventKind.PRODUCT, product_snapshot(link, None))

    def files(self, project: Project) -> list[str]:
        listed = git(self.room.path(project), "ls-tree", "-r", "--name-only", "main", "products")
        return listed.splitlines()


@pytest.fixture
def linked(tmp_path: Path) -> Iterator[Linked]:
    with open_archive_room(tmp_path) as room:
        yield Linked(room, room.add_project("/code/app"), room.add_project("/code/lib"))


def test_the_archive_of_each_linked_project_holds_the_product(linked: Linked) -> None:
    product = linked.product(UID, "storefront")
    linked.link(product, linked.app)
    linked.room.archive()

    content = json.loads((linked.room.path(linked.app) / f"products/{UID}.json").read_text())
    assert content == {
        "id": product.id,
        "product_uid": UID,
        "name": "storefront",
        "created_at": iso(linked.room.clock()),
        "project_id": linked.app.id,
        "linked_at": iso(linked.room.clock()),
    }
    assert linked.files(linked.lib) == []
    assert linked.room.verify().findings == ()


def test_a_link_that_git_has_yet_to_learn_of_is_no_finding(linked: Linked) -> None:
    linked.room.archive()
    linked.link(linked.product(UID, "storefront"), linked.app)

    assert linked.room.verify().findings == ()


def test_a_link_that_git_has_and_the_database_has_not_is_found_and_the_other_way_round(linked: Linked) -> None:
    product = linked.product(UID, "storefront")
    linked.link(product, linked.app)
    linked.room.archive()
    with linked.room.together():
        linked.room.connection.execute("UPDATE product_projects SET project_id = ?", (linked.lib.id,))

    findings = {(found.project, found.problem, found.path) for found in linked.room.verify().findings}

    path = f"products/{UID}.json"
    assert findings == {(linked.app.slug, "unexpected", path), (linked.lib.slug, "missing", path)}


@pytest.mark.parametrize("has_older_copy", [True, False])
def test_an_archive_that_is_renewed_has_its_products(linked: Linked, tmp_path: Path, has_older_copy: bool) -> None:
    path = linked.room.path(linked.app)
    linked.link(linked.product(UID, "storefront"), linked.app)
    linked.room.archive()
    shutil.copytree(path, tmp_path / "older")
    linked.link(linked.product("ff" * 8, "tools"), linked.app)
    linked.room.archive()

    shutil.rmtree(path)
    if has_older_copy:
        shutil.copytree(tmp_path / "older", path)
    with linked.room.together():
        _queue_anew(linked.room.tx, linked.app)
    linked.room.archive()

    assert linked.room.failures == []
    assert linked.files(linked.app) == [f"products/{UID}.json", f"products/{'ff' * 8}.json"]
    assert linked.room.verify().findings == ()
