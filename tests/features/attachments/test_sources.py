"""Whose files are lent, and which images of a body are of this machine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.features.attachments.requests import AttachmentRequest
from mcp_agent_mail.features.attachments.sources import RemotePath, is_kept, is_url
from mcp_agent_mail.workspace.lent_files import LentFile, LentFileNotFound, NotLent
from tests.features.attachments.workplace import FROM_AFAR, OPERATOR, Workplace, open_workplace


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Workplace]:
    async with open_workplace(tmp_path) as place:
        for folder in (place.code, place.elsewhere, place.archive):
            (folder / f"{folder.name}.txt").write_text(folder.parent.name)
            (folder / "each.txt").write_text(str(folder))
        yield place


async def lent(place: Workplace, path: str, request: AttachmentRequest, *, may_be_anywhere: bool = False) -> Path:
    directories = await place.look(request.project, request.project_key)
    found = place.lender(may_be_anywhere=may_be_anywhere).open(path, request, directories)
    assert isinstance(found, LentFile)
    with found as file:
        return file.path


async def test_relative_paths_are_of_the_directory_the_call_names_then_the_projects_then_the_archive(
    place: Workplace,
) -> None:
    request = place.request(project_key=f" {place.elsewhere} ")

    assert await lent(place, "each.txt", request) == place.elsewhere / "each.txt"
    assert await lent(place, "code.txt", request) == place.code / "code.txt"
    (place.archive / "noted.txt").touch()
    assert await lent(place, "noted.txt", request) == place.archive / "noted.txt"
    with pytest.raises(LentFileNotFound):
        await lent(place, "elsewhere.txt", place.request(project_key="code"))


async def test_files_elsewhere_are_the_operators_or_everybodys_where_that_is_set(place: Workplace) -> None:
    path = str(place.elsewhere / "each.txt")

    with pytest.raises(NotLent):
        await lent(place, path, place.request())
    assert await lent(place, path, place.request(caller=OPERATOR)) == Path(path)
    assert await lent(place, path, place.request(), may_be_anywhere=True) == Path(path)


async def test_a_caller_on_another_machine_is_lent_nothing_but_may_send_contents(place: Workplace) -> None:
    with pytest.raises(RemotePath):
        await place.prepare("each.txt", caller=FROM_AFAR)

    prepared = await place.prepare("data:,x", body="![a](each.txt)", caller=FROM_AFAR)

    assert len(prepared.items) == 1
    assert [left.reason.value for left in prepared.images_left] == ["forbidden"]


@pytest.mark.parametrize("target", ["https://x/a.png", "//x/a.png", "file:///a.png", "mailto:a@b", "C:\\a.png"])
def test_what_has_a_scheme_or_a_host_lies_somewhere_else(target: str) -> None:
    assert is_url(target)


@pytest.mark.parametrize("target", ["a.png", "/a:b.png", "./a:b", "data:,x", "DATA:,x", "#a"])
def test_paths_and_contents_are_of_this_machine(target: str) -> None:
    assert not is_url(target)


def test_an_image_that_is_an_attachment_already_is_known_by_its_address() -> None:
    assert is_kept(f"/attachments/ab/ab{'1' * 62}.webp")
    assert not is_kept(f"/attachments/ab/ac{'1' * 62}.webp")
    assert not is_kept(f"x/attachments/ab/ab{'1' * 62}.webp")
