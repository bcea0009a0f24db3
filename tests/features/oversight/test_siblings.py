from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.concurrency.looks import Looks
from mcp_agent_mail.core.errors import InvalidInput, PermissionDenied
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.products import MAX_NAME_LENGTH, ProductNameTaken, UnfitProductName, UnknownProduct
from mcp_agent_mail.domain.project_identity import IdentityMode
from mcp_agent_mail.domain.projects import UnknownProject
from mcp_agent_mail.domain.store_limits import StoreLimits
from mcp_agent_mail.features.health.store_size import StoreSizeWorker
from mcp_agent_mail.features.oversight import siblings
from mcp_agent_mail.features.oversight.siblings import NoPair, SiblingService
from mcp_agent_mail.features.projects.identities import Identities
from mcp_agent_mail.store.engine.growth_limit import StoreTooLarge
from mcp_agent_mail.workspace.identity import WorkspaceIdentities
from tests.seeded_store import SeededStore, add_project, open_seeded_store
from tests.workspace.code_repository import begin, git

OPERATOR = Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.OPEN)
ANYBODY = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)
UNPROVEN = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.STRICT)
REMOTE = "https://me:secret@example.org/team/wares.git"


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path / "store") as opened:
        yield opened


class Watch:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def service(seeded: SeededStore, watch: Watch | None = None, *, within_s: float = 60.0) -> SiblingService:
    workspace = WorkspaceIdentities(elapsed=watch or Watch(), keep_s=0)
    identities = Identities(workspace, IdentityMode.DIR, looks=Looks(within_s=60.0))
    return SiblingService(seeded.store, identities, within_s=within_s, elapsed=watch or Watch())


async def add(seeded: SeededStore, path: Path | str) -> ProjectId:
    return (await seeded.store.write(lambda tx: add_project(tx, str(path)))).id


def clone(path: Path, remote: str = REMOTE) -> Path:
    begin(path)
    git(path, "remote", "add", "origin", remote)
    return path


async def found(service: SiblingService, caller: Caller = OPERATOR) -> list[tuple[int, int, str | None, str | None]]:
    suggested = [one.suggestion for one in (await service.suggested(caller)).choices]
    return [(one.first.id, one.second.id, one.remote, one.folder) for one in suggested]


async def test_directories_with_the_same_remote_are_suggested_however_it_is_written(
    seeded: SeededStore, tmp_path: Path
) -> None:
    one = await add(seeded, clone(tmp_path / "here" / "wares"))
    other = await add(seeded, clone(tmp_path / "there" / "copy", "git@Example.org:team/wares"))
    await add(seeded, clone(tmp_path / "elsewhere" / "x", "https://example.org/team/another"))

    assert await found(service(seeded)) == [(one, other, "example.org/team/wares", None)]


async def test_names_alike_in_one_folder_are_suggested_also_where_no_directory_is(seeded: SeededStore) -> None:
    one, other = await add(seeded, "/nowhere/here/store-web"), await add(seeded, "/nowhere/here/store-api")

    assert await found(service(seeded)) == [(one, other, None, "/nowhere/here")]


async def test_a_home_that_is_a_repository_makes_no_siblings_of_what_lies_there(
    seeded: SeededStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(clone(tmp_path / "home")))
    for name in ("notes", "wares"):
        (tmp_path / "home" / name).mkdir()
        await add(seeded, tmp_path / "home" / name)

    assert await found(service(seeded)) == []


async def test_a_planted_git_directory_that_is_no_ordinary_file_is_no_remote(
    seeded: SeededStore, tmp_path: Path
) -> None:
    clone(tmp_path / "a" / "one")
    (tmp_path / "b" / "two").mkdir(parents=True)
    (tmp_path / "b" / "two" / ".git").mkdir()
    os.mkfifo(tmp_path / "b" / "two" / ".git" / "config")
    (tmp_path / "b" / "two" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    for name in ("objects", "refs"):
        (tmp_path / "b" / "two" / ".git" / name).mkdir()
    for path in ("a/one", "b/two"):
        await add(seeded, tmp_path / path)

    suggested = await service(seeded).suggested(OPERATOR)

    assert (suggested.choices, suggested.is_whole) == ([], True)


async def test_under_strict_nobody_unproven_learns_what_git_says(seeded: SeededStore, tmp_path: Path) -> None:
    for place in ("here", "there"):
        await add(seeded, clone(tmp_path / place / "wares"))

    assert await found(service(seeded), UNPROVEN) == []
    assert len(await found(service(seeded), ANYBODY)) == 1


async def test_what_was_seen_counts_for_a_while(seeded: SeededStore, tmp_path: Path) -> None:
    watch = Watch()
    asked = service(seeded, watch)
    for place in ("here", "there"):
        await add(seeded, clone(tmp_path / place / "wares"))
    await found(asked)
    git(tmp_path / "here" / "wares", "remote", "remove", "origin")

    watch.now += siblings.REMEMBERED_S - 1
    before = await found(asked)
    watch.now += 2
    after = await found(asked)

    assert (len(before), after) == (1, [])


async def test_a_directory_that_does_not_answer_holds_nobody_up_and_is_said(
    seeded: SeededStore, tmp_path: Path
) -> None:
    released = threading.Event()

    class Hanging(WorkspaceIdentities):
        def remote(self, path: str) -> str | None:
            released.wait()
            return path

    await add(seeded, tmp_path / "store")
    await add(seeded, tmp_path / "store2")
    looks = Looks(within_s=60.0)
    asked = SiblingService(seeded.store, Identities(Hanging(), IdentityMode.DIR, looks=looks), within_s=0.01)
    try:
        suggested = await asked.suggested(OPERATOR)
    finally:
        released.set()

    assert (len(suggested.choices), suggested.is_whole) == (1, False)


async def test_projects_that_are_set_aside_or_were_made_long_ago_are_not_looked_at(
    seeded: SeededStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [await add(seeded, f"/src/store{number}") for number in range(4)]
    await seeded.store.write(lambda tx: tx.projects.set_archived(ids[3], tx.now))
    monkeypatch.setattr(siblings, "MOST_PROJECTS", 2)

    assert [pair[:2] for pair in await found(service(seeded))] == [(ids[1], ids[2])]


async def test_the_operator_is_offered_products_of_either_and_a_name_that_nothing_has(
    seeded: SeededStore, tmp_path: Path
) -> None:
    one = await add(seeded, clone(tmp_path / "here" / "wares"))
    await add(seeded, clone(tmp_path / "there" / "copy"))
    for name in ("Wares", "Unrelated"):
        await seeded.store.write(lambda tx, name=name: tx.products.add(uid=name.lower(), name=name, now=tx.now))  # type: ignore[misc]
    product = await seeded.store.read(lambda view: view.products.find_by_name("Unrelated"))
    assert product is not None
    await seeded.store.write(lambda tx: tx.products.link(product, one, tx.now))

    (choice,) = (await service(seeded).suggested(OPERATOR)).choices
    (of_anybody,) = (await service(seeded).suggested(ANYBODY)).choices

    assert [(offered.product.name, offered.projects) for offered in choice.products] == [("Unrelated", 1)]
    assert choice.name == "wares 2"
    assert (of_anybody.products, of_anybody.name) == ((), "")


async def test_a_dismissed_pair_stays_away(seeded: SeededStore) -> None:
    one, other = await add(seeded, "/src/store"), await add(seeded, "/src/store2")
    asked = service(seeded)

    await asked.dismiss(OPERATOR, other, one)

    assert await found(asked) == []
    assert await found(service(seeded)) == []


async def test_only_the_operator_decides_and_of_two_that_there_are(seeded: SeededStore) -> None:
    one, other = await add(seeded, "/src/store"), await add(seeded, "/src/store2")
    asked = service(seeded)

    with pytest.raises(PermissionDenied):
        await asked.dismiss(ANYBODY, one, other)
    with pytest.raises(PermissionDenied):
        await asked.joining(ANYBODY, (one, other), product_uid="", name="Shop")
    with pytest.raises(NoPair):
        await asked.joining(OPERATOR, (one, one), product_uid="", name="Shop")
    with pytest.raises(UnknownProject):
        await asked.dismiss(OPERATOR, one, ProjectId(999))
    joining = await asked.joining(OPERATOR, (other, one), product_uid="", name="Shop")
    assert (joining.first.id, joining.second.id) == (one, other)
    assert len(await found(asked)) == 1


async def test_a_new_product_has_a_name_of_its_own(seeded: SeededStore) -> None:
    one, other = await add(seeded, "/src/store"), await add(seeded, "/src/store2")
    asked = service(seeded)
    await seeded.store.write(lambda tx: tx.products.add(uid="abc", name="Taken", now=tx.now))

    async def name_of(name: str) -> str:
        return (await asked.joining(OPERATOR, (one, other), product_uid="", name=name)).name

    assert await name_of("  Free ") == "Free"
    with pytest.raises(ProductNameTaken):
        await name_of("TAKEN")
    with pytest.raises(UnfitProductName):
        await name_of("a\nb")
    for name in ("", " ", "x" * (MAX_NAME_LENGTH + 1)):
        with pytest.raises(InvalidInput, match="characters"):
            await name_of(name)


async def test_who_is_in_the_product_already_is_told(seeded: SeededStore) -> None:
    one, other, third = [await add(seeded, f"/src/{name}") for name in ("store", "store2", "bills")]
    product = await seeded.store.write(lambda tx: tx.products.add(uid="abc", name="Shop", now=tx.now))
    for id_ in (one, third):
        await seeded.store.write(lambda tx, id_=id_: tx.products.link(product, id_, tx.now))  # type: ignore[misc]
    asked = service(seeded)

    joining = await asked.joining(OPERATOR, (one, other), product_uid="abc", name="unused")

    assert (joining.product, joining.name, [found.id for found in joining.others]) == (product, "Shop", [third])
    with pytest.raises(UnknownProduct):
        await asked.joining(OPERATOR, (one, other), product_uid="def", name="unused")


async def test_where_the_store_has_no_room_nothing_is_dismissed(seeded: SeededStore, tmp_path: Path) -> None:
    first, second = [await add(seeded, f"/code/store-{one}") for one in ("web", "api")]
    looked_after = StoreSizeWorker(seeded.store, StoreLimits(max_used=1, min_free=0), tmp_path)
    await looked_after.look()

    with pytest.raises(StoreTooLarge):
        await service(seeded).dismiss(OPERATOR, first, second)

    assert (first, second) in [one[:2] for one in await found(service(seeded))]


async def test_no_more_directories_are_remembered_than_twice_those_that_are_looked_at(
    seeded: SeededStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(siblings, "MOST_PROJECTS", 1)
    looking = service(seeded)
    for name in ("one", "two", "three"):
        await add(seeded, clone(tmp_path / name))
        await found(looking)

    assert [Path(one).name for one in looking._remotes] == ["two", "three"]
