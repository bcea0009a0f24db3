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
from tests.archive_harness import ArchiveHarness, git, open_archive_harness

UID = "0123456789abcdef"


@dataclass
class Linked:
    harness: ArchiveHarness
    app: Project
    lib: Project

    def product(self, uid: str, name: str) -> Product:
        with self.harness.together():
            return self.harness.tx.products.add(uid=uid, name=name, now=self.harness.clock())

    def link(self, product: Product, project: Project) -> None:
        now = self.harness.clock()
        link = ProductLink(product=product, project_id=project.id, linked_ts=now)
        with self.harness.together():
            self.harness.tx.products.link(product, project.id, now)
        self.harness._event(project, EventKind.PRODUCT, product_snapshot(link, None))

    def files(self, project: Project) -> list[str]:
        listed = git(self.harness.path(project), "ls-tree", "-r", "--name-only", "main", "products")
        return listed.splitlines()


@pytest.fixture
def linked(tmp_path: Path) -> Iterator[Linked]:
    with open_archive_harness(tmp_path) as harness:
        yield Linked(harness, harness.add_project("/code/app"), harness.add_project("/code/lib"))


def test_the_archive_of_each_linked_project_holds_the_product(linked: Linked) -> None:
    product = linked.product(UID, "storefront")
    linked.link(product, linked.app)
    linked.harness.archive()

    content = json.loads((linked.harness.path(linked.app) / f"products/{UID}.json").read_text())
    assert content == {
        "id": product.id,
        "product_uid": UID,
        "name": "storefront",
        "created_at": iso(linked.harness.clock()),
        "project_id": linked.app.id,
        "linked_at": iso(linked.harness.clock()),
    }
    assert linked.files(linked.lib) == []
    assert linked.harness.verify().findings == ()


def test_a_link_that_git_has_yet_to_learn_of_is_no_finding(linked: Linked) -> None:
    linked.harness.archive()
    linked.link(linked.product(UID, "storefront"), linked.app)

    assert linked.harness.verify().findings == ()


def test_a_link_that_git_has_and_the_database_has_not_is_found_and_the_other_way_round(linked: Linked) -> None:
    product = linked.product(UID, "storefront")
    linked.link(product, linked.app)
    linked.harness.archive()
    with linked.harness.together():
        linked.harness.connection.execute("UPDATE product_projects SET project_id = ?", (linked.lib.id,))

    findings = {(found.project, found.problem, found.path) for found in linked.harness.verify().findings}

    path = f"products/{UID}.json"
    assert findings == {(linked.app.slug, "unexpected", path), (linked.lib.slug, "missing", path)}


@pytest.mark.parametrize("has_older_copy", [True, False])
def test_an_archive_that_is_renewed_has_its_products(linked: Linked, tmp_path: Path, has_older_copy: bool) -> None:
    path = linked.harness.path(linked.app)
    linked.link(linked.product(UID, "storefront"), linked.app)
    linked.harness.archive()
    shutil.copytree(path, tmp_path / "older")
    linked.link(linked.product("ff" * 8, "tools"), linked.app)
    linked.harness.archive()

    shutil.rmtree(path)
    if has_older_copy:
        shutil.copytree(tmp_path / "older", path)
    with linked.harness.together():
        _queue_anew(linked.harness.tx, linked.app)
    linked.harness.archive()

    assert linked.harness.failures == []
    assert linked.files(linked.app) == [f"products/{UID}.json", f"products/{'ff' * 8}.json"]
    assert linked.harness.verify().findings == ()
