"""What the archives should hold, by project and path: each file once, and what is pending as such."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_agent_mail.domain.archive_format.versions import FORMAT_VERSION
from mcp_agent_mail.features.doctor.expected_files import Expected, ExpectedFiles
from mcp_agent_mail.store.checks.artifacts import open_artifacts
from tests.archive_harness import ArchiveHarness, open_archive_harness
from tests.features.archiving.carriers import PLAN, Desk, open_desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with open_archive_harness(tmp_path / "store") as harness:
        yield open_desk(harness)


def expected(harness: ArchiveHarness, folder: Path) -> dict[str, list[Expected]]:
    with open_artifacts(harness.database) as artifacts:
        files = ExpectedFiles(
            artifacts, folder, lambda *_: None, version_of=lambda _: FORMAT_VERSION, is_written=lambda *_: True
        )
        return {slug: list(found) for slug, found in files.by_project()}


def test_files_come_once_each_as_git_sorts_them(desk: Desk, tmp_path: Path) -> None:
    desk.send(PLAN)
    desk.send(PLAN)
    desk.harness.archive()
    content = desk.content(PLAN)

    found = expected(desk.harness, tmp_path)[desk.app.slug]

    assert [file.path for file in found] == sorted(file.path for file in found)
    assert len({file.path for file in found}) == len(found)
    assert [file for file in found if file.content is not None] == [
        Expected(path=content.path, blob=None, content=content)
    ]
    assert all(file.is_known for file in found)


def test_what_is_pending_for_one_message_is_pending(desk: Desk, tmp_path: Path) -> None:
    desk.send(PLAN)
    desk.harness.archive()
    desk.send(PLAN)
    content = desk.content(PLAN)

    found = expected(desk.harness, tmp_path)[desk.app.slug]

    (file,) = (file for file in found if file.path == content.path)
    assert file == Expected(path=content.path, blob=None)
    assert not file.is_known


def test_what_is_about_to_be_freed_may_still_be_there(desk: Desk, tmp_path: Path) -> None:
    message = desk.send(PLAN, to=desk.green)
    desk.harness.read(desk.lib, desk.green, message)
    desk.harness.archive()
    desk.purge(message)

    found = expected(desk.harness, tmp_path)

    for project in (desk.app, desk.lib):
        assert Expected(path=desk.content(PLAN).path, blob=None) in found[project.slug]
