"""An adoption that is cut off, wherever that is, is finished by the next drain or by running it again."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.bootstrap.wiring import archiver_settings
from mcp_agent_mail.cli.gateway.in_process import InProcessGateway
from mcp_agent_mail.core.failpoints import FailPoint, no_fault
from mcp_agent_mail.core.settings.server import Settings, load_settings
from mcp_agent_mail.features.archiving.offline_drain import drain_in_process
from mcp_agent_mail.features.archiving.protocol import ArchiverSettings, Failed
from mcp_agent_mail.features.doctor.verify import verify_archives
from mcp_agent_mail.features.projects.adopt import Draining, adopt
from mcp_agent_mail.store.database import Store

SOURCE, TARGET, NEIGHBOUR = "/code/feature", "/code/app", "/code/lib"


class Death(BaseException):
    """The process ends here."""


def settings_at(folder: Path, **environ: str) -> Settings:
    given = {"STORAGE_ROOT": str(folder / "store"), "HOME": str(folder), **environ}
    return load_settings(given, cwd=folder).settings


@contextmanager
def gateway_to(settings: Settings) -> Iterator[InProcessGateway]:
    gateway = InProcessGateway(settings)
    gateway.open()
    try:
        yield gateway
    finally:
        gateway.close()


def furnish(settings: Settings, *paths: str) -> None:
    """Three projects that write to each other, everything in Git."""
    source, target, neighbour = paths
    with gateway_to(settings) as gateway:
        for path, agent in ((source, "GreenCastle"), (target, "BlueLake"), (neighbour, "QuietFox")):
            gateway.call("ensure_project", {"human_key": path})
            profile = {"program": "tests", "model": "none"}
            gateway.call("register_agent", {"project_key": path, "name": agent, **profile})
            gateway.call("set_contact_policy", {"project_key": path, "agent_name": agent, "policy": "open"})
        for path, sender, to in (
            (source, "GreenCastle", ["Human", f"BlueLake@{target}", f"QuietFox@{neighbour}"]),
            (target, "BlueLake", [f"GreenCastle@{source}"]),
            (neighbour, "QuietFox", [f"GreenCastle@{source}"]),
        ):
            letter = {"sender_name": sender, "to": to, "subject": "Plan", "body_md": "zebra"}
            gateway.call("send_message", {"project_key": path, **letter})


def dying(at: FailPoint, nth: int) -> Draining:
    """Lives through the drains before the rows are moved; in the one after that it dies."""
    drains = count(1)
    reached = count(1)

    def fault_hook(point: FailPoint) -> None:
        if point is at and next(reached) == nth:
            raise Death

    async def drain(store: Store, settings: ArchiverSettings, *, timeout_s: float) -> list[Failed]:
        hook = fault_hook if next(drains) == 3 else no_fault
        return await drain_in_process(store, settings, timeout_s=timeout_s, fault_hook=hook)

    return drain


def _silent(done: int, total: int) -> None:
    """Nobody watches."""


def clean(settings: Settings) -> bool:
    report = verify_archives(settings.storage_root, settings.database_path, progress=_silent)
    assert report.findings == ()
    return report.pending_events == 0


def subjects(settings: Settings, slug: str) -> list[str]:
    archive = settings.storage_root / "projects" / slug
    return subprocess.run(
        ["git", "-C", str(archive), "log", "--first-parent", "--format=%s", "main"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()


@pytest.mark.parametrize("again", [True, False], ids=["by running it again", "by the next drain"])
@pytest.mark.parametrize(
    ("at", "nth"),
    [
        (FailPoint.RESUME, 1),
        (FailPoint.BEFORE_IMPORT, 1),
        (FailPoint.AFTER_IMPORT, 1),
        (FailPoint.BEFORE_MARK, 1),
        (FailPoint.BEFORE_IMPORT, 2),
        (FailPoint.BEFORE_MARK, 2),
    ],
)
def test_an_adoption_that_was_cut_off_is_finished(at: FailPoint, nth: int, again: bool, tmp_path: Path) -> None:
    settings = settings_at(tmp_path)
    furnish(settings, SOURCE, TARGET, NEIGHBOUR)
    archiver = archiver_settings(settings)

    async def cut_off() -> None:
        async with Store(settings.database_path) as store:
            with pytest.raises(Death):
                await adopt(store, archiver, SOURCE, TARGET, drain=dying(at, nth))

    async def go_on() -> str:
        async with Store(settings.database_path) as store:
            if again:
                adopted = await adopt(store, archiver, SOURCE, TARGET)
                assert (adopted.plan, adopted.failed) == (None, [])
            else:
                assert await drain_in_process(store, archiver, timeout_s=60) == []
            target = await store.read(lambda view: view.projects.find_by_human_key(TARGET))
            assert target is not None
            return target.slug

    _run(cut_off())
    slug = _run(go_on())

    assert clean(settings)
    assert len([subject for subject in subjects(settings, slug) if subject.startswith("adopt: ")]) == 1
    assert sorted(path.name for path in (settings.storage_root / "adopted").iterdir()) != []


def test_receipts_of_both_whose_numbers_interleave_are_rendered_as_they_were_written(tmp_path: Path) -> None:
    settings = settings_at(tmp_path)
    furnish(settings, SOURCE, TARGET, NEIGHBOUR)
    with gateway_to(settings) as gateway:
        for path, name, unread in ((SOURCE, "GreenCastle", 2), (TARGET, "BlueLake", 1)):
            inbox = gateway.call("fetch_inbox", {"project_key": path, "agent_name": name})
            assert len(inbox) == unread
        for path, name, message_id in ((SOURCE, "GreenCastle", 2), (TARGET, "BlueLake", 1), (SOURCE, "GreenCastle", 3)):
            reader = {"project_key": path, "agent_name": name, "message_id": message_id}
            gateway.call("mark_message_read", reader)

    async def join() -> None:
        async with Store(settings.database_path) as store:
            assert (await adopt(store, archiver_settings(settings), SOURCE, TARGET)).failed == []

    _run(join())

    assert clean(settings)


def test_an_adopted_archive_in_its_workspace_stays_there_and_is_joined(tmp_path: Path) -> None:
    places = [str(tmp_path / name) for name in ("feature", "app", "lib")]
    for place in places:
        Path(place).mkdir()
    settings = settings_at(tmp_path, ARCHIVE_LOCATION="workspace")
    furnish(settings, *places)

    async def join() -> None:
        async with Store(settings.database_path) as store:
            assert (await adopt(store, archiver_settings(settings), places[0], places[1])).failed == []

    _run(join())

    assert clean(settings)
    assert (tmp_path / "feature" / ".mcp-mail" / "archive.json").exists()
    (adopted,) = (settings.storage_root / "adopted").iterdir()
    assert (tmp_path / "feature" / ".mcp-mail" / ".git").read_text() == f"gitdir: {adopted}/.git\n"


def _run(work: Any) -> Any:

    return asyncio.run(work)
