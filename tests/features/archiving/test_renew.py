"""An archive that was lost, or lacks what it held, is written again from the database."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mcp_agent_mail.archive.git_folder import ArchiveRefused
from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.domain.archive_format.products import product_snapshot
from mcp_agent_mail.domain.events import EventKind
from mcp_agent_mail.domain.leases import LeaseKind
from mcp_agent_mail.domain.products import ProductLink
from mcp_agent_mail.features.archiving.adopt import adoption_snapshot
from mcp_agent_mail.features.archiving.renew import NothingToRenew, _queue_anew, renew_archive
from mcp_agent_mail.features.contacts.links import LinkRequest, ask
from mcp_agent_mail.features.identity.actor import Actor
from mcp_agent_mail.store.database import Store
from tests.archive_harness import ArchiveHarness, fill, git, sealed_seqs
from tests.features.archiving.leases import Held
from tests.workspace.code_repository import begin, commit, write


def drop_the_last_but_one(harness: ArchiveHarness, path: Path) -> None:
    """As an archiver of an earlier version left it: the newest commit stands on what was before the one below it."""
    was = git(path, "rev-parse", "main").strip()
    git(path, "rebase", "--quiet", "--onto", "main~2", "main~1", "main")
    now = git(path, "rev-parse", "main").strip()
    harness.connection.execute("UPDATE commits SET hexsha = ? WHERE hexsha = ?", (now, was))


async def test_a_history_that_lacks_an_earlier_commit_is_renewed(harness: ArchiveHarness) -> None:
    project = harness.add_project("/code/app")
    blue, red = (harness.add_agent(project, name) for name in ("BlueLake", "RedStone"))
    path = harness.path(project)
    harness.archive()
    important = harness.send(blue, [red], subject="Important")
    harness.read(project, red, important)
    harness.archive()
    harness.send(blue, [red], subject="Later")
    harness.archive()
    harness.send(blue, [red], subject="Not in Git yet")
    drop_the_last_but_one(harness, path)
    kept = git(path, "rev-parse", "main").strip()
    found = harness.verify().findings

    async with Store(harness.database) as store:
        renewed = await renew_archive(store, harness.settings, project)
        with pytest.raises(NothingToRenew):
            await renew_archive(store, harness.settings, project)
    harness.send(blue, [red], subject="After it")

    assert {finding.problem for finding in found} == {"missing"}
    assert renewed.failed == []
    assert harness.archive() == 0
    assert harness.verify().findings == ()
    assert git(path, "merge-base", "--is-ancestor", kept, "main") == ""
    assert sealed_seqs(path) == sorted(sealed_seqs(path))


async def test_what_was_set_back_besides_is_renewed_too(harness: ArchiveHarness) -> None:
    project = harness.add_project("/code/app")
    blue, red = (harness.add_agent(project, name) for name in ("BlueLake", "RedStone"))
    path = harness.path(project)
    for subject in ("First", "Dropped", "Second", "Set back"):
        harness.send(blue, [red], subject=subject)
        harness.archive()
    git(path, "reset", "--quiet", "--hard", "main~1")
    drop_the_last_but_one(harness, path)

    async with Store(harness.database) as store:
        renewed = await renew_archive(store, harness.settings, project)

    assert renewed.failed == []
    assert harness.archive() == 0
    assert harness.verify().findings == ()


@pytest.mark.parametrize("has_older_copy", [True, False])
def test_an_archive_that_is_renewed_has_the_newest_state_of_each_lease(
    held: Held, tmp_path: Path, has_older_copy: bool
) -> None:
    """In an older copy the commits are found to be ours, whatever has become of their leases since."""
    path = held.harness.path(held.project)
    leases = [held.hold("a"), held.hold("b"), held.hold("c"), held.hold("slot", LeaseKind.SLOT)]
    held.harness.archive()
    held.end(leases[0])
    held.harness.archive()
    shutil.copytree(path, tmp_path / "older")
    for lease in leases[1:3]:
        held.end(lease)
    held.harness.archive()
    held.revive(leases[2])
    held.harness.archive()

    shutil.rmtree(path)
    if has_older_copy:
        shutil.copytree(tmp_path / "older", path)
    with held.harness.together():
        _queue_anew(held.harness.tx, held.project)
    held.harness.archive()

    assert held.harness.failures == []
    assert held.harness.verify().findings == ()


async def test_an_archive_that_holds_all_it_should_is_not_written_again(harness: ArchiveHarness) -> None:
    project = fill(harness, Path("/code/app"))
    harness.archive()

    async with Store(harness.database) as store:
        with pytest.raises(NothingToRenew, match="there is nothing to renew"):
            await renew_archive(store, harness.settings, project)


async def test_an_archive_that_was_never_begun_has_nothing_to_renew(harness: ArchiveHarness) -> None:
    project = fill(harness, Path("/code/app"))

    async with Store(harness.database) as store:
        with pytest.raises(NothingToRenew):
            await renew_archive(store, harness.settings, project)


async def test_a_repository_of_somebody_else_is_refused(harness: ArchiveHarness) -> None:
    project = fill(harness, Path("/code/app"))
    harness.archive()
    shutil.rmtree(harness.path(project))
    begin(harness.path(project))
    write(harness.path(project), "notes.md")
    commit(harness.path(project))

    async with Store(harness.database) as store:
        with pytest.raises(ArchiveRefused):
            await renew_archive(store, harness.settings, project)


async def test_a_lost_archive_is_written_again_with_every_kind_of_file(harness: ArchiveHarness) -> None:
    held = Held(harness)
    project, blue = held.project, held.agent
    red, green = (harness.add_agent(project, name) for name in ("RedStone", "GreenField"))
    message = harness.send(blue, [red], bcc=[green])
    harness.read(project, red, message)
    harness.read(project, green, message)
    harness.describe(project, red, "Reads")
    held.end(held.hold("a"))
    held.hold("slot", LeaseKind.SLOT)
    product = harness.tx.products.add(uid="0123456789abcdef", name="shop", now=harness.clock())
    link = ProductLink(product=product, project_id=project.id, linked_ts=harness.clock())
    harness.tx.products.link(product, project.id, harness.clock())
    harness._event(project, EventKind.PRODUCT, product_snapshot(link, None))
    request = LinkRequest(reason="the parser", ttl=Micros(86_400 * SECOND))
    with harness.together():
        ask(harness.tx, Actor(agent=red, project=project), Actor(agent=green, project=project), request)
    harness.archive()
    before = files_of(harness.path(project))
    shutil.rmtree(harness.path(project))

    async with Store(harness.database) as store:
        renewed = await renew_archive(store, harness.settings, project)

    assert renewed.failed == []
    assert renewed.events > len(before)
    assert files_of(harness.path(project)) == before
    assert harness.verify().findings == ()


async def test_an_archive_in_which_names_were_changed_once_is_written_with_the_new_names_at_once(
    harness: ArchiveHarness,
) -> None:
    project = fill(harness, Path("/code/app"))
    harness.archive()
    harness._event(project, EventKind.ADOPTION, adoption_snapshot(None))
    harness.archive()
    before = files_of(harness.path(project))
    shutil.rmtree(harness.path(project))

    async with Store(harness.database) as store:
        renewed = await renew_archive(store, harness.settings, project)

    assert renewed.failed == []
    assert files_of(harness.path(project)) == before
    assert harness.verify().findings == ()


def files_of(path: Path) -> dict[str, str]:
    """What the branch holds: each file's blob by its path. Receipts and dates of commits have new numbers."""
    listed = git(path, "ls-tree", "-r", "main").splitlines()
    facts = [line.split(maxsplit=3) for line in listed]
    return {name: blob for _, _, blob, name in facts if not name.split("/")[-1].endswith(".jsonl")}
